// Holds a session open for writing: says when it does, and appends a turn for each line of standard input.
import { createInterface } from 'node:readline'
import { openSession } from '@loci/session-jsonl'

const [projectDir, sessionId] = process.argv.slice(2)
const session = await openSession({ projectDir, sessionId })
console.log(session.tip)
for await (const said of createInterface({ input: process.stdin })) {
  await session.append({ type: 'user', message: { role: 'user', content: said } })
  const { uuid } = await session.append({
    type: 'assistant',
    message: { role: 'assistant', content: `to ${said}` },
  })
  console.log(uuid)
}
await session.close()
