import { readFile, stat } from 'node:fs/promises'
import { forkSession, listSessions, openSession, verifySession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertAccepted } from './accepted.ts'
import {
  assistant,
  call,
  chainOf,
  entry,
  jsonl,
  often,
  project,
  reading,
  result,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'

// What was reported of other products, and its kind: which lines are the conversation.

const names = (session: Session, tip?: string): Promise<string[]> =>
  session.chain(tip).then((chain) => chain.map(({ uuid }) => uuid))

describe('S06: lines beside the conversation', () => {
  const eight = straight(8)
  const aside = (uuid: string, fields: Line = {}): Line =>
    user(uuid, 'm3', 'aside', { isSidechain: true, timestamp: '2030-01-01T00:00:00.000Z', ...fields })

  test('S06: three of subagents, two of progress and a title, all newer, after the last: the tip is the last', async () => {
    const progress = { timestamp: '2031-01-01T00:00:00.000Z' }
    const lines = [
      ...eight,
      aside('x1'),
      aside('x2'),
      aside('x3'),
      entry('progress', 'p1', 'm3', progress),
      entry('progress', 'p2', 'm3', progress),
      { type: 'custom-title', customTitle: 'late' },
    ]
    const made = await project(jsonl(...lines))
    const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    for (const id of [SID, sessionId]) {
      const session = await openSession({ projectDir: made.projectDir, sessionId: id, mode: 'read' })
      expect(session.tip).toBe('m8')
      expect(await names(session)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'])
      expect(await session.conversation()).toHaveLength(8)
      expect((await session.tips()).map(({ uuid }) => uuid)).toEqual(['m8'])
      await session.close()
    }
    const list = await listSessions({ projectsDir: made.root })
    const newest = Date.parse(String(eight[7]?.['timestamp']))
    expect(list.map(({ lastActivityMs }) => lastActivityMs)).toEqual([newest, newest])
    await made.remove()
  })

  test('S06: a clock that was set back before the seventh changes nothing', async () => {
    const back = eight.map((line, index) =>
      index < 6 ? line : { ...line, timestamp: '2001-01-01T00:00:00.000Z' },
    )
    expect(await reading(jsonl(...back), names)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'])
  })

  test('S06: of one line with two calls both results are kept, whichever the conversation goes on from', async () => {
    for (const last of ['r1', 'r2']) {
      const lines = [
        user('u', null, 'go'),
        assistant('a', 'u', [call('t1'), call('t2')]),
        user('r1', 'a', [result('t1')]),
        user('r2', 'a', [result('t2')]),
        assistant('b', last, [text('done')]),
      ]
      expect(await chainOf(jsonl(...lines))).toEqual(['u', 'a', 'r1', 'r2', 'b'])
    }
  })

  test('S06: nothing that is put beside any conversation, wherever and with whatever time, changes it', async () => {
    const beside = fc.record({
      kind: fc.constantFrom('aside', 'progress', 'record', 'nameless progress'),
      after: fc.nat({ max: 200 }),
      parent: fc.nat({ max: 200 }),
      year: fc.constantFrom('1999', '2040'),
    })
    await fc.assert(
      fc.asyncProperty(
        healthyTranscript({ maxSteps: 8 }),
        fc.array(beside, { maxLength: 6 }),
        async ({ lines }, more) => {
          const uuids = lines.flatMap(({ uuid }) => (typeof uuid === 'string' ? [uuid] : []))
          const mixed = [...lines]
          for (const [number, { kind, after, parent, year }] of more.entries()) {
            const timestamp = `${year}-01-01T00:00:00.000Z`
            const under = uuids[parent % Math.max(1, uuids.length)] ?? null
            const made: Record<string, Line> = {
              aside: user(`x${number}`, under, 'aside', { isSidechain: true, timestamp }),
              progress: entry('progress', `x${number}`, under, { timestamp }),
              record: { type: 'custom-title', customTitle: 'x', sessionId: SID, timestamp },
              'nameless progress': { type: 'progress', parentUuid: under, timestamp },
            }
            mixed.splice(after % (mixed.length + 1), 0, made[kind] ?? {})
          }
          const ask = async (session: Session): Promise<unknown> => [
            session.tip,
            await names(session),
            (await session.tips()).map(({ uuid }) => uuid),
          ]
          expect(await reading(jsonl(...mixed), ask)).toEqual(await reading(jsonl(...lines), ask))
        },
      ),
      { numRuns: often(400, 40) },
    )
  })
})

describe('S07: parents that go round', () => {
  test('S07: whatever follows whatever: every question has an answer, no chain holds an entry twice, all are in some', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(fc.nat({ max: 14 }), { freq: 6 }), { minLength: 1, maxLength: 14 }),
        async (parents) => {
          const lines = parents.map((parent, index) =>
            user(`m${index}`, parent === null ? null : `m${parent % parents.length}`, `${index}`),
          )
          const made = await project(jsonl(...lines))
          const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
          expect(await listSessions({ projectsDir: made.root })).toHaveLength(2)
          expect(await verifySession(made.path(`p/${sessionId}.jsonl`))).toEqual([])
          const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
          const seen = new Set<string>()
          for (const { uuid } of await session.tips()) {
            const chain = await names(session, uuid)
            expect(new Set(chain).size).toBe(chain.length)
            for (const name of chain) seen.add(name)
            assertAccepted(await session.conversation({ tip: uuid }))
          }
          expect(seen.size).toBe(parents.length)
          const rings = (await session.damage()).filter(({ kind }) => kind === 'cycle')
          expect(rings).toHaveLength(
            ringsAmong(parents.map((parent) => (parent === null ? null : parent % parents.length))),
          )
          await session.close()
          await made.remove()
        },
      ),
      { numRuns: often(500, 50) },
    )
  })
})

/** How many rings there are: of those who go round for ever, each ring is counted by its smallest member. */
function ringsAmong(parents: readonly (number | null)[]): number {
  const smallest = new Set<number>()
  for (const start of parents.keys()) {
    let at: number | null = start
    for (let step = 0; at !== null && step < parents.length; step += 1) at = parents[at] ?? null
    if (at === null) continue
    const ring = [at]
    for (let next = parents[at] ?? at; next !== at; next = parents[next] ?? at) ring.push(next)
    smallest.add(Math.min(...ring))
  }
  return smallest.size
}

describe('S20: a message that is written again', () => {
  test('S20: 6 MB with a compaction, forked, gone on with: every uuid once, and no larger than it was', async () => {
    const large = straight(600).map((line) => ({ ...line, pad: 'x'.repeat(10_000) }))
    const boundary = entry('system', 'b', null, {
      subtype: 'compact_boundary',
      logicalParentUuid: 'm600',
      compactMetadata: { preservedSegment: { headUuid: 'm599', anchorUuid: 's', tailUuid: 'm600' } },
    })
    const summary = user('s', 'b', 'summary', { isCompactSummary: true })
    const made = await project(jsonl(...large, boundary, summary, assistant('n1', 's', [text('on')])))
    const { path, sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    const session = await openSession({ projectDir: made.projectDir, sessionId })
    await session.append({ type: 'user', message: { role: 'user', content: 'one more' } })
    expect(await names(session)).toHaveLength(6)
    await session.close()
    const uuids = (await readFile(path, 'utf8')).match(/"uuid":"[^"]+"/g) ?? []
    expect(uuids).toHaveLength(604)
    expect(new Set(uuids).size).toBe(604)
    expect((await stat(path)).size).toBeLessThan((await stat(made.file)).size * 1.01)
    expect(await verifySession(path)).toEqual([])
    await made.remove()
  })

  test('S20: whatever is written again, anywhere later and without its parent, changes no link and is said each time', async () => {
    await fc.assert(
      fc.asyncProperty(
        healthyTranscript({ maxSteps: 6 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
        async ({ lines }, again) => {
          const entries = lines.filter(
            ({ uuid, parentUuid }) => typeof uuid === 'string' && parentUuid !== undefined,
          )
          const copies = again.flatMap((pick) =>
            entries.slice(pick % Math.max(1, entries.length)).slice(0, 1),
          )
          const doubled = [...lines, ...copies.map((line) => ({ ...line, parentUuid: null }))]
          const ask = async (session: Session): Promise<unknown> => [
            session.tip,
            await session.chain(),
            await session.tips(),
            await session.conversation(),
          ]
          expect(await reading(jsonl(...doubled), ask)).toEqual(await reading(jsonl(...lines), ask))
          const damage = await reading(jsonl(...doubled), (session) => session.damage())
          expect(damage.map(({ kind, line }) => [kind, line])).toEqual(
            copies.map((_, index) => ['duplicate-entry', lines.length + index + 1]),
          )
        },
      ),
      { numRuns: often(300, 40) },
    )
  })
})

describe('S23: calls without results, results without calls', () => {
  test('S23: wherever a transcript ends, what is sent is accepted, and the file stays as it is', async () => {
    await fc.assert(
      fc.asyncProperty(healthyTranscript({ maxSteps: 5 }), fc.nat(), async ({ lines }, cut) => {
        const bytes = jsonl(...lines.slice(0, cut % (lines.length + 1)))
        const made = await project(bytes)
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
        assertAccepted(await session.conversation())
        for (const { uuid } of await session.tips()) assertAccepted(await session.conversation({ tip: uuid }))
        await session.close()
        expect(await readFile(made.file, 'utf8')).toBe(bytes)
        await made.remove()
      }),
      { numRuns: often(500, 50) },
    )
  })
})

describe('S24: a compaction that a crash cuts short', () => {
  test('S24: wherever it was cut, the conversation is the old one in full or the new one, and nothing between', async () => {
    const old = straight(6)
    const kept = { preservedMessages: { anchorUuid: 's', uuids: ['m5', 'm6'], allUuids: ['m5', 'm6'] } }
    const boundary = entry('system', 'b', null, {
      subtype: 'compact_boundary',
      logicalParentUuid: 'm6',
      compactMetadata: kept,
    })
    const written = Buffer.from(jsonl(boundary, user('s', 'b', 'summary', { isCompactSummary: true })))
    const before = Buffer.from(jsonl(...old))
    const [first] = jsonl(boundary).split('\n')
    const full = ['m1', 'm2', 'm3', 'm4', 'm5', 'm6']
    for (let end = 0; end <= written.length; end += often(1, 7)) {
      const bytes = Buffer.concat([before, written.subarray(0, end)])
      const [chain, sent, kinds] = await reading(
        bytes,
        async (session) =>
          [
            await names(session),
            await session.conversation(),
            (await session.damage()).map(({ kind }) => kind),
          ] as const,
      )
      const hasBoundary = end >= (first?.length ?? 0)
      if (end >= written.length - 1) {
        expect(chain).toEqual(['b', 's', 'm5', 'm6'])
        expect(kinds).toEqual([])
        continue
      }
      expect(chain).toEqual(hasBoundary ? [...full, 'b'] : full)
      expect(sent).toHaveLength(6)
      const isTorn = end > 0 && end !== first?.length && end !== (first?.length ?? 0) + 1
      expect(kinds.toSorted()).toEqual([
        ...(isTorn ? ['torn-line'] : []),
        ...(hasBoundary ? ['unfinished-compaction'] : []),
      ])
    }
  })
})

describe('S31: the former end of a conversation', () => {
  const options = (made: { projectDir: string }): { projectDir: string; sessionId: string } => ({
    projectDir: made.projectDir,
    sessionId: SID,
  })
  test('S31: rewound twice and written on: all three ends are listed with prompt, time and length, also after reopening', async () => {
    const made = await project(jsonl(...straight(6)))
    const session = await openSession(options(made))
    for (const [at, said] of [
      ['m4', 'second way'],
      ['m2', 'third way'],
    ] as const) {
      await session.moveTip(at)
      await session.append({ type: 'user', message: { role: 'user', content: said } })
      await session.append({
        type: 'assistant',
        message: { role: 'assistant', content: [text(`to ${said}`)] },
      })
    }
    const described = async (open: Session): Promise<unknown[]> => {
      const tips = await open.tips()
      return Promise.all(
        tips.map(async ({ uuid, depth, current, timestamp }) => {
          const chain = await open.chain(uuid)
          expect(chain).toHaveLength(depth)
          expect(chain.at(-1)?.timestamp).toBe(timestamp)
          const prompt = chain.findLast(({ type }) => type === 'user')?.message
          return [prompt, depth, current]
        }),
      )
    }
    const prompt = (content: string): unknown => ({ role: 'user', content })
    const expected = [
      [prompt('third way'), 4, true],
      [prompt('second way'), 6, false],
      [prompt('say m5'), 6, false],
    ]
    expect(await described(session)).toEqual(expected)
    await session.close()
    const again = await openSession(options(made))
    expect(await described(again)).toEqual(expected)
    const ends = (await again.tips()).map(({ uuid }) => uuid)
    await again.close()
    for (const [index, end] of ends.entries()) {
      const resumed = await openSession(options(made))
      await resumed.moveTip(end)
      await resumed.append({ type: 'user', uuid: `on${index}`, message: { role: 'user', content: 'on' } })
      expect((await names(resumed)).slice(-2)).toEqual([end, `on${index}`])
      expect(await resumed.tips()).toHaveLength(3)
      await resumed.close()
    }
    await made.remove()
  })

  test('S31: every entry of any transcript is on the way to some end that is listed, or was closed by a compaction', async () => {
    await fc.assert(
      fc.asyncProperty(healthyTranscript({ maxSteps: 8 }), async ({ lines }) => {
        await reading(jsonl(...lines), async (session) => {
          const reached = new Set<unknown>()
          const byUuid = new Map(
            lines.filter(({ uuid }) => uuid !== undefined).map((line) => [line['uuid'], line]),
          )
          for (const { uuid } of await session.tips()) {
            for (const name of await names(session, uuid)) reached.add(name)
            for (let at = byUuid.get(uuid); at; at = byUuid.get(at['parentUuid'] ?? at['logicalParentUuid']))
              reached.add(at['uuid'])
          }
          const main = lines.filter(
            ({ type, isSidechain }) => (type === 'user' || type === 'assistant') && isSidechain !== true,
          )
          for (const { uuid } of main)
            if (!reached.has(uuid)) expect(await isResultBeside(session, String(uuid))).toBe(true)
        })
      }),
      { numRuns: often(400, 40) },
    )
  })
})

/** Whether an entry is a line or result of a message that a compaction closed and that hangs beside its path. */
async function isResultBeside(session: Session, uuid: string): Promise<boolean> {
  const chain = await session.chain(uuid)
  const { type, message } = chain.at(-1) ?? {}
  return type === 'assistant' || JSON.stringify(message).includes('"tool_result"')
}
