// On the index argv[2], rewinds to argv[3] (or, with `make`, makes the checkpoint m2 of the files argv[5…]) and is
// killed (SIGKILL) at its file operation argv[4]. A write is cut short first: one byte of it arrives. Prints how many
// there were.
import { setFaultHook } from '@loci/disk/testing'
import { makeCheckpoint, rewindToCheckpoint } from '@loci/file-history'

const [, , file, what, number, ...paths] = process.argv
const nth = Number(number)
let count = 0
let isCut = false
setFaultHook((operation) => {
  if (isCut) process.kill(process.pid, 'SIGKILL')
  count += 1
  if (count < nth) return undefined
  if (operation !== 'write') process.kill(process.pid, 'SIGKILL')
  isCut = true
  return { shortWriteBytes: 1 }
})
if (what === 'make') await makeCheckpoint('m2', paths, { file })
else await rewindToCheckpoint(what, { file })
setFaultHook(undefined)
process.stdout.write(String(count))
