// `node --import die-at.mjs`: ends the process by SIGKILL before a file operation. DIE_AT is JSON:
// `operation` and `path` are patterns of the operation, `file` (default: `path`'s file) holds `text` at least `times`
// times by then. With `tear`, only so many bytes of that operation, a write, are done first.
import { readFileSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'

const { operation, path, file, text, times = 1, tear } = JSON.parse(process.env.DIE_AT)

function holds(name) {
  try {
    return readFileSync(name, 'utf8').split(text).length > times
  } catch {
    return false
  }
}

let isTorn = false
setFaultHook((name, target) => {
  if (!new RegExp(operation).test(name) || !new RegExp(path).test(target)) return undefined
  if (!isTorn && !holds(file ?? target)) return undefined
  if (isTorn || tear === undefined) process.kill(process.pid, 'SIGKILL')
  isTorn = true
  return { shortWriteBytes: tear }
})
