// Appends to a session and prints each uuid once its append resolved. Killed from outside.
import { createSession, openSession } from '@loci/session-jsonl'

const [projectDir, sessionId, mode, count = '1000000', sizeBytes = '100'] = process.argv.slice(2)
const session =
  mode === 'create'
    ? await createSession({ projectDir, sessionId })
    : await openSession({ projectDir, sessionId })
const content = 'x'.repeat(Number(sizeBytes))
for (let n = 0; n < Number(count); n += 1) {
  const type = n % 2 === 0 ? 'user' : 'assistant'
  const { uuid } = await session.append({ type, message: { role: type, content } })
  // Straight to the pipe, so that what was printed was acknowledged and what was acknowledged is printed.
  process.stdout.write(`${uuid}\n`)
}
await session.close()
