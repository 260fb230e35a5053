// Appends batches to a store in files and prints each batch's number once its append resolved. Killed by itself in the
// middle of the write that `killInWrite` counts to, after that many bytes of it.
import { setFaultHook } from '@loci/disk/testing'
import { fileSessionStore } from '@loci/session-jsonl'

const [projectsDir, projectKey, sessionId, batches, killInWrite, killAfterBytes] = process.argv.slice(2)
const store = fileSessionStore({ projectsDir })

let writes = 0
setFaultHook((operation, path) => {
  if (operation !== 'write' || !path.endsWith('.jsonl')) return undefined
  writes += 1
  if (writes === Number(killInWrite)) return { shortWriteBytes: Number(killAfterBytes) }
  if (writes > Number(killInWrite)) process.kill(process.pid, 'SIGKILL')
  return undefined
})

for (const [n, batch] of JSON.parse(batches).entries()) {
  await store.append({ projectKey, sessionId }, batch)
  process.stdout.write(`${n}\n`)
}
