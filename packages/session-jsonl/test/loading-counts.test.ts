import { files } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { createSession, openSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { assistant, entry, jsonl, project, rewind, SID, text, user } from './lines.ts'
import type { Line } from './lines.ts'

const MIB = 1024 * 1024
const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })

afterEach(() => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
})

/** A conversation of `turns` entries after `parent`, each of which says `said`. */
function talk(name: string, parent: string | null, turns: number, said: string): Line[] {
  return Array.from({ length: turns }, (_, n) => {
    const before = n === 0 ? parent : `${name}${n - 1}`
    return n % 2 === 0 ? user(`${name}${n}`, before, said) : assistant(`${name}${n}`, before, [text(said)])
  })
}

const dead = (name: string, parent: string | null, turns: number): Line[] =>
  talk(name, parent, turns, `DEAD ${'d'.repeat(4_000)}`)

/** Nine tenths of it are of no use: what a compaction closed, and branches that were left. */
function compacted(): string {
  const boundary = entry('system', 'b', null, { subtype: 'compact_boundary', logicalParentUuid: 'old799' })
  const summary = user('s', 'b', 'summary', { isCompactSummary: true })
  return jsonl(
    ...dead('old', null, 800),
    boundary,
    summary,
    ...talk('live', 's', 40, 'l'.repeat(4_000)),
    ...dead('left', 'live39', 40),
    rewind('live39'),
    ...talk('more', 'live39', 10, 'm'.repeat(4_000)),
  )
}

/** The same without a compaction: the conversation reaches to the beginning. */
function rewound(): string {
  return jsonl(
    ...talk('live', null, 40, 'l'.repeat(4_000)),
    ...dead('left', 'live39', 800),
    rewind('live39'),
    ...talk('more', 'live39', 10, 'm'.repeat(4_000)),
  )
}

/** Every text that is parsed, and what is read of the transcript. */
async function watched(path: string): Promise<{
  /** Which of the lines of branches that were left. */
  dead: () => string[]
  /** Where the first byte stands that was read. */
  from: () => number
  /** From where to where, since the last call. */
  reads: () => [number, number][]
}> {
  const probe = await files.open(path, 'r')
  const read = vi.spyOn(Object.getPrototypeOf(probe) as OpenFile, 'read')
  await probe.close()
  const parse = vi.spyOn(JSON, 'parse')
  let told = 0
  const readsFrom = (first: number): [number, number][] =>
    read.mock.calls
      .map(([buffer, at], call): [unknown, number, number] => [
        pathOf(read.mock.contexts[call]),
        at,
        at + buffer.length,
      ])
      .slice(first)
      .filter(([of]) => of === path)
      .map(([, from, to]) => [from, to])
  return {
    dead: () =>
      parse.mock.calls.flatMap(([said]) =>
        said.includes('DEAD') ? [String(/"uuid":"(\w+)"/.exec(said)?.[1])] : [],
      ),
    from: () => Math.min(...readsFrom(0).map(([from]) => from)),
    reads: () => {
      const made = readsFrom(told)
      told = read.mock.calls.length
      return made
    },
  }
}

/** Which file one is that was called. */
function pathOf(file: unknown): unknown {
  return typeof file === 'object' && file !== null && 'path' in file ? file.path : undefined
}

/** How often each operation was done on a transcript while `work` ran. */
async function operationsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const operations: Record<string, number> = {}
  setFaultHook((operation, path) => {
    if (path.endsWith('.jsonl')) operations[operation] = (operations[operation] ?? 0) + 1
    return undefined
  })
  await work()
  setFaultHook(undefined)
  return operations
}

describe('loading a transcript of which nine tenths are dead', () => {
  /** `left`: which lines of a branch that was left are parsed: the first, which might be the result of a call. */
  const uses: { name: string; left: string[]; use: (session: Session) => Promise<unknown> }[] = [
    { name: 'to open it', left: [], use: () => Promise.resolve() },
    { name: 'its chain', left: ['left0'], use: (session) => session.chain() },
    { name: 'what is sent', left: ['left0'], use: (session) => session.conversation() },
    { name: 'a move of the tip near its end', left: [], use: (session) => session.moveTip('live30') },
    { name: 'an append', left: [], use: (session) => session.append(say('on')) },
    {
      name: 'its chain, an append that moves the tip, its chain',
      left: ['left0', 'left0'],
      use: async (session) => {
        await session.chain()
        await session.append({ ...say('on'), parentUuid: 'live39' })
        await session.chain()
      },
    },
  ]

  test.each(uses)(
    '$name: no dead line is parsed, none that a compaction closed is read',
    async ({ name, left, use }) => {
      const bytes = compacted()
      const made = await project(bytes)
      const watch = await watched(made.file)
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      await use(session)
      expect(left).toEqual(expect.arrayContaining(watch.dead()))
      // With the first append it is looked for a title that has to be said again.
      if (!name.includes('append')) expect(watch.from()).toBeGreaterThanOrEqual(bytes.length - MIB)
      expect(bytes.length).toBeGreaterThan(3 * MIB)
      await session.close()
      await made.remove()
    },
  )

  test.each(uses)('$name: where no compaction is, no dead line is parsed', async ({ left, use }) => {
    const made = await project(rewound())
    const watch = await watched(made.file)
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await use(session)
    expect(left).toEqual(expect.arrayContaining(watch.dead()))
    await session.close()
    await made.remove()
  })
})

describe('what it takes to append', () => {
  test('ten that follow each other without waiting are one write and one look at the size; waited for, ten', async () => {
    const made = await project(jsonl(...talk('live', null, 4, 'short')))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('first'))
    const ten = Array.from({ length: 10 }, (_, n) => `say ${n}`)
    const burst = await operationsOf(() => Promise.all(ten.map((said) => session.append(say(said)))))
    expect(burst).toEqual({ fstat: 1, write: 1 })
    const waited = await operationsOf(async () => {
      for (const said of ten) await session.append(say(said))
    })
    expect(waited).toEqual({ fstat: 10, write: 10 })
    const chain = await session.chain()
    expect(chain.slice(-20).map(({ message }) => message)).toEqual(
      [...ten, ...ten].map((content) => ({ role: 'user', content })),
    )
    for (const [n, { parentUuid }] of chain.entries()) expect(parentUuid).toBe(chain[n - 1]?.uuid ?? null)
    await session.close()
    await made.remove()
  })

  test('to the disk: one flush a write', async () => {
    const made = await project(undefined)
    const session = await createSession({ projectDir: made.projectDir, sessionId: SID, durability: 'fsync' })
    await session.append(say('first'))
    const burst = await operationsOf(() =>
      Promise.all(['a', 'b', 'c'].map((said) => session.append(say(said)))),
    )
    expect(burst).toEqual({ fstat: 1, write: 1, fdatasync: 1 })
    await session.close()
    await made.remove()
  })

  test.each([
    { of: 'short records', sizeBytes: 60, count: 2_500, leastBytes: 250_000 },
    { of: 'records of 3 kB', sizeBytes: 3_000, count: 300, leastBytes: 250_000 },
    { of: 'records of 200 kB', sizeBytes: 200_000, count: 4, leastBytes: 200_000 },
    { of: 'short entries', sizeBytes: 10, count: 2_000, leastBytes: 250_000 },
    { of: 'entries of 3 kB', sizeBytes: 3_000, count: 250, leastBytes: 250_000 },
  ])('a burst is written in order and in pieces of 256 KiB at most: $of', async (kind) => {
    const { of, sizeBytes, count, leastBytes } = kind
    const made = await project(jsonl(...talk('live', null, 1, 'short')))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('first'))
    const writes = await writesTo(made.file)
    const numbers = Array.from({ length: count }, (_, n) => n)
    const pad = 'x'.repeat(sizeBytes)
    await Promise.all(
      numbers.map((n) =>
        of.includes('records')
          ? session.record({ type: 'x-note', n, pad })
          : session.append({ ...say(pad), n }).then(() => undefined),
      ),
    )
    const sizes = writes()
    expect(sizes.length).toBeGreaterThan(1)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256 * 1024)
    // All but the last are well filled.
    expect(sizes.filter((size) => size < leastBytes).length).toBeLessThanOrEqual(2)
    const there = of.includes('records') ? await session.records('x-note') : (await session.chain()).slice(2)
    expect(there.map(({ n }) => n)).toEqual(numbers)
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })

  test.each([
    { over: 0, count: 1 },
    { over: 1, count: 2 },
  ])(
    'every byte of a line counts towards the 256 KiB: with $over more it is $count',
    async ({ over, count }) => {
      const made = await project(undefined)
      const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
      // Of an entry that follows one with a UUID, as the next two do.
      await session.append(say('first'))
      const before = await made.read(`p/${SID}.jsonl`)
      await session.append(say(''))
      const empty = (await made.read(`p/${SID}.jsonl`)).length - before.length
      const writes = await writesTo(made.file)
      const sizes = [100_000, 256 * 1024 + over - 100_000 - 2 * empty]
      await Promise.all(sizes.map((size) => session.append(say('x'.repeat(size)))))
      expect(writes()).toHaveLength(count)
      await session.close()
      await made.remove()
    },
  )

  test('a chain after an append reads only what is new', async () => {
    const made = await project(jsonl(...talk('live', null, 100, 'l'.repeat(4_000))))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('first'))
    await session.chain()
    const watch = await watched(made.file)
    for (const size of [10, 40_000, 10]) {
      const end = Number((await files.stat(made.file)).size)
      await session.append(say('x'.repeat(size)))
      watch.reads()
      await session.chain()
      for (const [from] of watch.reads()) expect(from).toBeGreaterThanOrEqual(end)
    }
    await session.close()
    await made.remove()
  })
})

/** How large each write to a file is from now on; those of one kind follow each other. */
async function writesTo(path: string): Promise<() => number[]> {
  const probe = await files.open(path, 'r')
  const prototype = Object.getPrototypeOf(probe) as OpenFile
  await probe.close()
  const waited = vi.spyOn(prototype, 'writeAll').mock
  const atOnce = vi.spyOn(prototype, 'writeAllNow').mock
  return () =>
    [waited, atOnce].flatMap(({ calls, contexts }) =>
      calls.flatMap(([bytes], call) => (pathOf(contexts[call]) === path ? [bytes.length] : [])),
    )
}
