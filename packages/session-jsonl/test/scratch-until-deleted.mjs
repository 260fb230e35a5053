// Writes files of a scratchpad, one after the other, until the session is gone. Prints the name of each, then the code
// that the last one was refused with.
import { openScratchpad } from '@loci/session-jsonl'

const [projectDir, sessionId] = process.argv.slice(2)
const scratchpad = openScratchpad({ projectDir, sessionId, waitMs: 60_000 })
try {
  for (let n = 0; ; n += 1) {
    const name = `folder-${n % 3}/${process.pid}-${n}.txt`
    await scratchpad.write(name, String(n))
    process.stdout.write(`${name}\n`)
  }
} catch (error) {
  process.stdout.write(`${error.code ?? error}\n`)
}
