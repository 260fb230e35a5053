// Adds one to the counter `count.txt` of a scratchpad, so many times, and prints each number once it is acknowledged.
// With DIE_AT it ends itself by SIGKILL before that file operation, counted from the first update on.
import { setFaultHook } from '@loci/disk/testing'
import { openScratchpad } from '@loci/session-jsonl'

const [projectDir, sessionId, count] = process.argv.slice(2)
const scratchpad = openScratchpad({ projectDir, sessionId, waitMs: 60_000 })

const dieAt = Number(process.env.DIE_AT ?? Infinity)
let operations = 0
setFaultHook(() => {
  operations += 1
  if (operations === dieAt) process.kill(process.pid, 'SIGKILL')
  return undefined
})

for (let n = 0; n < Number(count); n += 1) {
  let next = 0
  await scratchpad.update('count.txt', (previous) => {
    next = Number(Buffer.from(previous ?? '0').toString()) + 1
    return String(next)
  })
  process.stdout.write(`${next}\n`)
}
