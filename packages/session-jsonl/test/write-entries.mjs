// Appends to a session and prints each uuid once its append resolved. Killed from outside, or by itself in the middle
// of the write that `killInWrite` counts to, after that many bytes of it.
import { setFaultHook } from '@loci/disk/testing'
import { createSession, openSession } from '@loci/session-jsonl'

const [projectDir, sessionId, mode, count = '1000000', sizeBytes = '100', killInWrite, killAfterBytes] =
  process.argv.slice(2)
const session =
  mode === 'create'
    ? await createSession({ projectDir, sessionId })
    : await openSession({ projectDir, sessionId })

if (killInWrite !== undefined) {
  let writes = 0
  setFaultHook((operation, path) => {
    if (operation !== 'write' || !path.endsWith('.jsonl')) return undefined
    writes += 1
    if (writes === Number(killInWrite)) return { shortWriteBytes: Number(killAfterBytes) }
    if (writes > Number(killInWrite)) process.kill(process.pid, 'SIGKILL')
    return undefined
  })
}

const content = 'x'.repeat(Number(sizeBytes))
for (let n = 0; n < Number(count); n += 1) {
  const type = n % 2 === 0 ? 'user' : 'assistant'
  const { uuid } = await session.append({ type, message: { role: type, content } })
  // Straight to the pipe, so that what was printed was acknowledged and what was acknowledged is printed.
  process.stdout.write(`${uuid}\n`)
}
await session.close()
