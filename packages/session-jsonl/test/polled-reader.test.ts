import { appendFile, writeFile } from 'node:fs/promises'
import { createSession, openSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonl, LONG_ENOUGH, often, project, SID, straight, user } from './lines.ts'
import { writing } from './writing-process.ts'

/** What somebody who looks on sees of a session. */
interface Seen {
  chain: string[]
  records: unknown[]
  sent: number
}

async function look(session: Session): Promise<Seen> {
  const chain = (await session.chain()).map(({ uuid }) => uuid)
  expect(session.tip).toBe(chain.at(-1) ?? null)
  const records = (await session.records('x-note')).map(({ number }) => number)
  return { chain, records, sent: (await session.conversation()).length }
}

/** Whether what was seen earlier is the beginning of what was seen later. */
function expectGrown(earlier: Seen, later: Seen): void {
  expect(later.chain.slice(0, earlier.chain.length)).toEqual(earlier.chain)
  expect(new Set(later.chain).size).toBe(later.chain.length)
  expect(later.records.slice(0, earlier.records.length)).toEqual(earlier.records)
  expect(new Set(later.records).size).toBe(later.records.length)
  expect(later.sent).toBeGreaterThanOrEqual(earlier.sent)
}

test(
  'R2: a session that is looked at while another process appends in bursts: never an error, never a line twice, all in the end',
  async () => {
    for (const sizeBytes of [200, 5_000, 300_000]) {
      const made = await project(jsonl(...straight(2)))
      const where = { projectDir: made.projectDir, sessionId: SID }
      const rounds = often(200, 12)
      const writer = writing({ ...where, rounds, burst: 5, records: 2, sizeBytes })
      const ended = new AbortController()
      const ending = writer.finally(() => ended.abort())
      const session = await openSession({ ...where, mode: 'read' })
      let seen = await look(session)
      while (!ended.signal.aborted) {
        const now = await look(session)
        expectGrown(seen, now)
        seen = now
      }
      const { said, failed } = await ending
      expect(failed).toBe('')
      const last = await look(session)
      expectGrown(seen, last)
      expect(last.chain).toEqual(['m1', 'm2', ...said.filter((one) => !one.includes(' '))])
      expect(last.records).toEqual(Array.from({ length: rounds * 2 }, (_, n) => n))
      expect(await session.damage()).toEqual([])
      await session.close()
      await made.remove()
    }
  },
  LONG_ENOUGH,
)

test(
  'R2: cut anywhere: whoever looks on sees at each moment what the file holds, and in the end all',
  async () => {
    const source = await project(undefined)
    const writer = await createSession({ projectDir: source.projectDir, sessionId: SID })
    for (let turn = 0; turn < 12; turn += 1) {
      await Promise.all([
        writer.append({ type: 'user', message: { role: 'user', content: `é ${'x'.repeat(turn * 40)} 😀` } }),
        writer.record({ type: 'x-note', number: turn, said: 'so\u2028so' }),
        writer.append({ type: 'assistant', message: { role: 'assistant', content: `said ${turn}` } }),
      ])
    }
    await writer.close()
    const bytes = Buffer.from(await source.read(`p/${SID}.jsonl`))
    await source.remove()

    const made = await project('')
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat({ max: bytes.length }), { maxLength: 8 }), async (cuts) => {
        await writeFile(made.file, '')
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
        let seen = await look(session)
        let at = 0
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          await appendFile(made.file, bytes.subarray(at, cut))
          at = cut
          const now = await look(session)
          expectGrown(seen, now)
          const fresh = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
          expect(await look(fresh)).toEqual(now)
          await fresh.close()
          seen = now
        }
        expect(seen).toMatchObject({ sent: 24, records: Array.from({ length: 12 }, (_, n) => n) })
        expect(seen.chain).toHaveLength(24)
        expect(await session.damage()).toEqual([])
        await session.close()
      }),
      { numRuns: often(1_000, 30) },
    )
    await made.remove()
  },
  LONG_ENOUGH,
)

test('a writer sees what another program appends in pieces while it has the session open, and says so', async () => {
  const made = await project(jsonl(...straight(2)))
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  const line = Buffer.from(jsonl(user('foreign', 'm2', 'from elsewhere')))
  for (let at = 0; at < line.length; at += 40) {
    await appendFile(made.file, line.subarray(at, at + 40))
    expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2'])
  }
  expect((await session.damage()).map(({ kind }) => kind)).toEqual(['foreign-writer'])
  const { uuid, parentUuid } = await session.append({
    type: 'user',
    message: { role: 'user', content: 'on' },
  })
  expect(parentUuid).toBe('m2')
  expect((await session.tips()).map((tip) => tip.uuid)).toEqual([uuid, 'foreign'])
  await session.close()
  await made.remove()
})
