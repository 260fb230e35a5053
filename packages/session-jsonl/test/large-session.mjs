// What people do with a session, for a process whose memory is bounded from outside. Prints what it saw as JSON.
import { forkSession, listSessions, openSession, verifySession } from '@loci/session-jsonl'

const [projectsDir, projectDir, sessionId, sendTo] = process.argv.slice(2)
const [info] = await listSessions({ projectsDir })
const session = await openSession({ projectDir, sessionId })
const tips = await session.tips()
const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
const { length } = await session.chain()
const sent = (await session.conversation(sendTo === undefined ? {} : { tip: sendTo })).length
await session.close()
const fork = await forkSession({ projectDir, sessionId })
const again = await openSession({ projectDir, sessionId: fork.sessionId, mode: 'read' })
const forked = (await again.chain()).length
await again.close()
const damage = await verifySession(fork.path)
const isLast = again.tip === uuid
console.log(
  JSON.stringify({ firstPrompt: info.firstPrompt, tips: tips.length, length, sent, forked, isLast, damage }),
)
