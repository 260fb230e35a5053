import { writeFile } from 'node:fs/promises'
import { openSession, readTranscript, unlockSession, verifySession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, often, project, SID, straight } from './lines.ts'
import { writing } from './writing-process.ts'
import type { Outcome, Work } from './writing-process.ts'

const TIMEOUT_MS = often(600_000, 60_000)
const LARGE = 600_000

/** The titles and tags that each process gave, in file order, by its pid; each has to be whole. */
async function givenBy(path: string, sizeBytes: number): Promise<Map<number, number[]>> {
  const given = new Map<number, number[]>()
  const pad = 'x'.repeat(sizeBytes)
  for await (const { record, damage } of readTranscript(path)) {
    expect(damage).toBeUndefined()
    const said = record?.['customTitle'] ?? record?.['tag']
    if (typeof said !== 'string') continue
    const [pid, number, rest] = said.split(' ')
    expect(rest === pad).toBe(true)
    const own = given.get(Number(pid)) ?? []
    given.set(Number(pid), own)
    own.push(Number(number))
  }
  return given
}

describe('R2: several processes append at once', () => {
  const kinds = LONG
    ? [
        { processes: 2, sizeBytes: 100, titles: 200, isAwaited: true },
        { processes: 4, sizeBytes: 100, titles: 200, isAwaited: false },
        { processes: 2, sizeBytes: LARGE, titles: 12, isAwaited: true },
        { processes: 4, sizeBytes: LARGE, titles: 12, isAwaited: false },
      ]
    : [
        { processes: 2, sizeBytes: 100, titles: 30, isAwaited: true },
        { processes: 4, sizeBytes: LARGE, titles: 4, isAwaited: false },
      ]

  test.each(kinds)(
    '$processes that give titles and tags of $sizeBytes bytes (awaited: $isAwaited) beside a session that is written: none is torn, none is lost',
    async ({ processes, sizeBytes, titles, isAwaited }) => {
      const made = await project(jsonl(...straight(2)))
      const where = { projectDir: made.projectDir, sessionId: SID, sizeBytes }
      const work: Work = { ...where, mode: 'titles', titles, isAwaited }
      const burst = { ...where, rounds: 3, burst: 4, records: 3 }
      const [writer, ...givers] = await Promise.all([
        writing(burst),
        ...Array.from({ length: processes }, () => writing(work)),
      ])
      expect([writer.failed, ...givers.map(({ failed }) => failed)].join('')).toBe('')
      // The session says the last title and tag again as it grows; that is a copy of one of them.
      const given = await givenBy(made.file, sizeBytes)
      for (const { pid } of givers) {
        const numbers = [...new Set(given.get(pid ?? 0))]
        const all = Array.from({ length: titles }, (_, n) => n)
        expect(isAwaited ? numbers : numbers.toSorted((a, b) => a - b)).toEqual(all)
      }
      expect(await verifySession(made.file)).toEqual([])
      await expectWritten(made, writer)
      await made.remove()
    },
    TIMEOUT_MS,
  )

  test(
    'of several that want to write it at once each writes alone or is told who does, also after the one before was killed',
    async () => {
      for (let round = 0; round < often(20, 1); round += 1) {
        const made = await project(jsonl(...straight(2)))
        const where = { projectDir: made.projectDir, sessionId: SID, sizeBytes: LARGE }
        const dead = await writing({ ...where, rounds: 100, burst: 1 }, { killAfter: 2 })
        const burst = { ...where, rounds: 2, burst: 3, records: 1 }
        const outcomes = await Promise.all(Array.from({ length: often(8, 4) }, () => writing(burst)))
        const pids = outcomes.map(({ pid }) => pid)
        const wrote = outcomes.filter(({ code }) => code === 0)
        expect(wrote.length).toBeGreaterThanOrEqual(1)
        for (const { code, said, failed } of outcomes) {
          if (code === 0) expect(said).toHaveLength(8)
          else {
            expect(said).toEqual([])
            const [errorCode, details] = failed.split(' ')
            expect(errorCode).toBe('SESSION_LOCKED')
            const named: unknown = JSON.parse(details ?? '')
            expect(named).toMatchObject({ sessionId: SID, path: made.file, decidable: true })
            expect(pids).toContain(named !== null && typeof named === 'object' && 'pid' in named && named.pid)
          }
        }
        // One after the other, so that there is one end.
        await expectWritten(made, dead, ...wrote)
        await made.remove()
      }
    },
    TIMEOUT_MS,
  )
})

/** Each acknowledged entry of each is there, in order, in one conversation without branches. */
async function expectWritten(made: { projectDir: string }, ...outcomes: readonly Outcome[]): Promise<void> {
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
  const chain = (await session.chain()).map(({ uuid }) => uuid)
  expect(await session.tips()).toHaveLength(1)
  for (const { said } of outcomes) {
    const entries = said.filter((one) => !one.includes(' '))
    expect(chain.filter((uuid) => entries.includes(uuid))).toEqual(entries)
  }
  await session.close()
}

const elsewhere = {
  bootId: null,
  pidNamespace: null,
  pid: 4_711,
  startTime: null,
  thread: null,
  host: 'elsewhere',
  since: '2026-01-01T00:00:00.000Z',
}

test.each([
  { of: 'another host', owner: elsewhere, told: { pid: 4_711, host: 'elsewhere', since: elsewhere.since } },
  { of: 'nobody knows whom', owner: { odd: true }, told: { pid: null, host: null, since: null } },
])(
  'R3: a session that is held by a process of $of is refused with what is known of it, until it is unlocked by hand',
  async ({ owner, told }) => {
    const made = await project(jsonl(...straight(2)))
    const where = { projectDir: made.projectDir, sessionId: SID }
    await writeFile(made.path(`p/.${SID}.jsonl.lock.3`), `${JSON.stringify(owner)}\n`)
    await expect(openSession(where)).rejects.toMatchObject({
      code: 'SESSION_LOCKED',
      details: { sessionId: SID, path: made.file, decidable: false, ...told },
    })
    // Reading needs nobody's leave.
    const reader = await openSession({ ...where, mode: 'read' })
    expect(await reader.chain()).toHaveLength(2)
    await reader.close()
    await unlockSession(where)
    const session = await openSession(where)
    // One that lives is never robbed, not by hand either.
    await expect(unlockSession(where)).rejects.toMatchObject({
      code: 'SESSION_LOCKED',
      details: { sessionId: SID, path: made.file, pid: process.pid, decidable: true },
    })
    await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
    await session.close()
    await unlockSession(where)
    await made.remove()
  },
)
