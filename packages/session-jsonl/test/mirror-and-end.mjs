// Mirrors a session into a store that refuses its first calls, and ends: at once, or having waited for the store.
import { createSession, memorySessionStore, mirrorSession } from '@loci/session-jsonl'

const [projectDir, refusals, how] = process.argv.slice(2)
const kept = memorySessionStore()
let left = Number(refusals)
const store = {
  load: (key) => kept.load(key),
  append: (key, entries) => {
    left -= 1
    return left < 0 ? kept.append(key, entries) : Promise.reject(new Error('refused'))
  },
}
const session = await createSession({ projectDir })
const mirror = mirrorSession(session, store, { firstRetryMs: 1, mostRetryMs: 1 })
await session.append({ type: 'user', message: { role: 'user', content: 'x' } })
if (how === 'flush') await mirror.flush()
await session.close()
process.stdout.write(`lag ${mirror.lag > 0 ? 'some' : 'none'}\n`)
