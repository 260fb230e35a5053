// Uses a large session as argv[2] (JSON) says, in a process whose memory is bounded from outside. Prints what it saw,
// and how much memory it took at most.
import { listSessions, openSession } from '@loci/session-jsonl'

const { projectsDir, projectDir, sessionId, mode = 'write', asks } = JSON.parse(process.argv[2])
const seen = {}
const took = {}
const timed = async (what, work) => {
  const began = performance.now()
  seen[what] = await work()
  took[what] = Math.round(performance.now() - began)
}
let session
await timed('tip', async () => {
  session = await openSession({ projectDir, sessionId, mode })
  return session.tip
})
const ways = {
  chain: async () => (await session.chain()).length,
  append: async () => {
    const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
    return uuid === session.tip
  },
  again: async () => (await session.chain()).length,
  conversation: async () => (await session.conversation()).length,
  list: async () => (await listSessions({ projectsDir })).map((info) => info.firstPrompt),
  tips: async () => (await session.tips()).length,
}
for (const ask of asks) await timed(ask, ways[ask])
await session.close()
const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024)
console.log(JSON.stringify({ seen, took, peakMiB }))
