import { createSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { LONG_ENOUGH, often, project, SID } from './lines.ts'

/** A call; `at` counts the entries that were asked for before it, from the last one backward. */
type Call =
  | { do: 'append'; size: number }
  | { do: 'append at' | 'move' | 'last prompt'; at: number }
  | { do: 'begin again' }
  | { do: 'title'; title: string }
  | { do: 'look' }

const at = fc.nat({ max: 5 })
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      size: fc.constantFrom(1, 10, 500, 20_000),
    }),
  },
  fc.record({ do: fc.constantFrom('append at' as const, 'move' as const, 'last prompt' as const), at }),
  fc.record({ do: fc.constant('begin again' as const) }),
  fc.record({ do: fc.constant('title' as const), title: fc.constantFrom('Plans', 'Other plans') }),
  fc.record({ do: fc.constant('look' as const) }),
)

/** Makes the calls one after the other, waiting for each or for none, and gives what came of them. */
async function outcomesOf(
  session: Session,
  calls: readonly Call[],
  waits: 'each' | 'none',
): Promise<unknown[]> {
  const uuids: string[] = ['nowhere']
  const uuidAt = (back: number): string => uuids.at(-1 - back) ?? uuids[0] ?? ''
  const make = (one: Call): Promise<unknown> => {
    const message = { role: 'user', content: `${uuids.length} ${'x'.repeat('size' in one ? one.size : 1)}` }
    switch (one.do) {
      case 'append':
      case 'append at': {
        const uuid = `e${uuids.length}`
        const parent = one.do === 'append' ? {} : { parentUuid: uuidAt(one.at) }
        uuids.push(uuid)
        return session.append({ type: 'user', message, uuid, ...parent })
      }
      case 'move':
        return session.moveTip(uuidAt(one.at))
      case 'begin again':
        return session.moveTip(null)
      case 'last prompt':
        return session.record({ type: 'last-prompt', lastPrompt: 'x', leafUuid: uuidAt(one.at) })
      case 'title':
        return session.record({ type: 'custom-title', customTitle: one.title })
      default:
        return session.chain()
    }
  }
  const outcomes: Promise<unknown>[] = []
  for (const one of calls) {
    const outcome = make(one).then(
      (value) => ({ value }),
      (error: unknown) => ({ code: error instanceof Error && 'code' in error ? error.code : String(error) }),
    )
    outcomes.push(outcome)
    if (waits === 'each') await outcome
  }
  return Promise.all(outcomes)
}

test(
  'calls that are not waited for do what they do when each is: the same answers, the same tip, the same bytes',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 16 }), async (calls) => {
        const seen: unknown[] = []
        for (const waits of ['each', 'none'] as const) {
          const made = await project(undefined)
          const where = { projectDir: made.projectDir, sessionId: SID, clock: () => new Date(0) }
          const session = await createSession(where)
          const outcomes = await outcomesOf(session, calls, waits)
          const { tip } = session
          await session.close()
          const bytes = await made.read(`p/${SID}.jsonl`).catch(() => undefined)
          seen.push({ outcomes, tip, bytes })
          await made.remove()
        }
        expect(seen[1]).toEqual(seen[0])
      }),
      { numRuns: often(3_000, 60) },
    )
  },
  LONG_ENOUGH,
)

test('a tip that is moved to what was only just asked for names the prompt there', async () => {
  const made = await project(undefined)
  const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
  await Promise.all([
    session.append({ type: 'user', uuid: 'u', message: { role: 'user', content: 'hello' } }),
    session.append({ type: 'assistant', uuid: 'a', message: { role: 'assistant', content: 'ho' } }),
    session.moveTip('u'),
  ])
  expect(await session.records('last-prompt')).toMatchObject([
    { leafUuid: 'u', lastPrompt: 'hello', explicit: true },
  ])
  await session.close()
  await made.remove()
})

test('others have their turn while many appends are made one after the other', async () => {
  const made = await project(undefined)
  const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
  await session.append({ type: 'user', message: { role: 'user', content: 'first' } })
  let turns = 0
  const count = (): void => {
    turns += 1
    if (turns < 1_000) setImmediate(count)
  }
  setImmediate(count)
  for (let n = 0; n < 320; n += 1)
    await session.append({ type: 'user', message: { role: 'user', content: `say ${n}` } })
  expect(turns).toBeGreaterThanOrEqual(9)
  await session.close()
  await made.remove()
})
