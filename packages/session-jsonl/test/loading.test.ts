import { writeFile } from 'node:fs/promises'
import { files } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { analyse, chainTo, entryNode, recordsOf } from '../src/analysis.ts'
import type { Analysis } from '../src/analysis.ts'
import type { Entry } from '../src/entry.ts'
import { valueEnd } from '../src/json-bytes.ts'
import { factsInBytes, factsOfRecord } from '../src/line-facts.ts'
import type { ForkSource } from '../src/fork-source.ts'
import { planFork } from '../src/plan-fork.ts'
import { lastOfConversation } from '../src/tip.ts'
import { TranscriptParser } from '../src/transcript.ts'
import { TranscriptReading } from '../src/transcript-reading.ts'
import { damaged } from './damaged-transcript.ts'
import {
  assistant,
  call,
  entry as lineOf,
  jsonl,
  LONG_ENOUGH,
  often,
  result,
  SID,
  text as block,
  user,
} from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'

// Three ways lead to a conversation: backward from its end, by the facts of all lines, by all that they say. The
// third is the plainest and is what the two others are held against, with all records in memory.

let work: Tree
let made = 0
beforeAll(async () => {
  work = await tree({})
})
afterAll(() => work.remove())

function newPath(): string {
  made += 1
  return work.path(`${made}.jsonl`)
}

/** Everything that can be asked of a transcript, from all its records at once. */
function readPlainly(path: string, bytes: Uint8Array): Analysis {
  const parser = new TranscriptParser(path)
  return analyse([...parser.push(bytes), ...parser.rest()], parser.path, SID)
}

async function withFile(
  path: string,
  bytes: Uint8Array,
  use: (file: OpenFile) => Promise<void>,
): Promise<void> {
  await writeFile(path, bytes)
  const file = await files.open(path, 'r')
  try {
    await use(file)
  } finally {
    await file.close()
  }
}

async function expectSame(
  bytes: Uint8Array,
  windowBytes: number,
  all: 'at once' | 'as needed',
): Promise<void> {
  const path = newPath()
  const plain = readPlainly(path, bytes)
  const { tree: whole, tip } = plain
  await withFile(path, bytes, async (file) => {
    const fresh = async (): Promise<TranscriptReading> => {
      const reading = new TranscriptReading(file.path, SID, windowBytes)
      await reading.catchUp(file)
      if (all === 'at once') await reading.linesFrom(file, 0)
      return reading
    }
    const one = await fresh()
    expect(await one.standing(file)).toEqual({ tip, last: lastOfConversation(whole)?.entry.uuid ?? null })
    const ends = whole.nodes.filter(({ main }) => main).toReversed()
    for (const [index, node] of ends.entries()) {
      const { uuid } = node.entry
      const wanted = chainTo(plain, entryNode(plain, uuid))
      if (index % 5 === 0) expect((await (await fresh()).chain(file, uuid))?.entries).toEqual(wanted)
      expect((await one.chain(file, uuid))?.entries).toEqual(wanted)
      expect(await one.isEntry(file, uuid)).toBe(true)
    }
    for (const upTo of [
      undefined,
      ...ends.filter((_, index) => index % 3 === 0).map(({ entry }) => entry.uuid),
    ]) {
      expect(forkOf(await (await fresh()).forkSource(file, upTo), upTo)).toEqual(forkOf(plain, upTo))
    }
    const other = await fresh()
    for (const node of whole.nodes) {
      expect(await other.entry(file, node.entry.uuid)).toEqual(node.entry)
      expect(await other.isTaken(file, node.entry.uuid)).toBe(true)
    }
    for (const type of new Set(whole.records.map(({ record }) => record.type))) {
      const records = await (await fresh()).records(file, type)
      expect(records.map(({ record }) => record)).toEqual(recordsOf(whole, type))
    }
    expect(await other.chain(file, 'nowhere')).toBeUndefined()
    expect((await other.whole(file)).damage).toEqual(plain.damage)
  })
}

/** What a fork would consist of: which bytes of the source, with what changed. */
function forkOf(source: ForkSource, upTo: string | undefined): unknown {
  const plan = planFork(source, {
    sourceSessionId: SID,
    sessionId: 'fork',
    upTo,
    title: undefined,
    clock: () => new Date(0),
    createId: () => 'new',
  })
  const lines = plan?.lines.map((line) =>
    'text' in line ? line : { offset: line.source.offset, length: line.source.length, values: line.values },
  )
  return { upTo: plan?.upTo, lines }
}

const windows = fc.constantFrom(64, 300, 1_000, 4_000, 1_000_000)
const ways = fc.constantFrom('at once' as const, 'as needed' as const)

describe('the three ways of reading a conversation say the same', () => {
  test(
    'of healthy transcripts',
    async () => {
      await fc.assert(
        fc.asyncProperty(healthyTranscript(), windows, ways, async ({ lines }, windowBytes, all) => {
          await expectSame(Buffer.from(jsonl(...lines)), windowBytes, all)
        }),
        { numRuns: often(300, 20) },
      )
    },
    LONG_ENOUGH,
  )

  test(
    'of damaged ones',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          damaged(healthyTranscript({ maxSteps: often(12, 5) })),
          windows,
          ways,
          async ({ bytes }, windowBytes, all) => {
            await expectSame(bytes, windowBytes, all)
          },
        ),
        { numRuns: often(200, 20) },
      )
    },
    LONG_ENOUGH,
  )

  test(
    'of ones that grow while they are read, wherever a write ends',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          damaged(healthyTranscript(), 2),
          windows,
          fc.array(fc.nat({ max: 1_000 }), { maxLength: 4 }),
          async ({ bytes }, windowBytes, cuts) => {
            const ends = cuts.map((cut) => Math.floor((bytes.length * cut) / 1_000)).toSorted((a, b) => a - b)
            const path = newPath()
            const reading = new TranscriptReading(path, SID, windowBytes)
            for (const end of [...ends, bytes.length]) {
              const part = bytes.subarray(0, end)
              const plain = readPlainly(path, part)
              await withFile(path, part, async (file) => {
                await reading.catchUp(file)
                const { tip } = await reading.standing(file)
                expect(tip).toBe(plain.tip)
                const chain = tip === null ? [] : (await reading.chain(file, tip))?.entries
                expect(chain).toEqual(tip === null ? [] : chainTo(plain, entryNode(plain, tip)))
              })
            }
          },
        ),
        { numRuns: often(300, 20) },
      )
    },
    LONG_ENOUGH,
  )
})

describe('a compaction is a wall', () => {
  const before = [user('m1', null, 'one'), assistant('m2', 'm1', [block('two')]), user('m3', 'm2', 'three')]
  const closing = [
    lineOf('system', 'b', null, { subtype: 'compact_boundary', logicalParentUuid: 'm3' }),
    user('s', 'b', 'summary', { isCompactSummary: true }),
  ]
  async function expectChain(lines: readonly object[], wanted: string[]): Promise<void> {
    const bytes = Buffer.from(jsonl(...lines.map((line) => ({ ...line }))))
    for (const windowBytes of [64, 1_000_000]) await expectSame(bytes, windowBytes, 'as needed')
    const plain = readPlainly(newPath(), bytes)
    const tip = plain.tip === null ? undefined : entryNode(plain, plain.tip)
    expect(chainTo(plain, tip).map(({ uuid }) => uuid)).toEqual(wanted)
  }

  test('a copy that follows its boundary belongs behind it', async () => {
    const again = [user('m3', 's', 'three'), assistant('on', 'm3', [block('on')])]
    await expectChain([...before, ...closing, ...again], ['b', 's', 'm3', 'on'])
  })

  test('a copy that follows what it closed stays where the first is', async () => {
    const again = [user('m3', 'm2', 'three'), assistant('on', 'm3', [block('on')])]
    await expectChain([...before, ...closing, ...again], ['m1', 'm2', 'm3', 'on'])
  })

  test('what stands before it answers nothing behind it', async () => {
    const early = user('r', 'a', [result('t')], { sourceToolAssistantUUID: 'a' })
    const after = [assistant('a', 's', [call('t')], { id: 'm' }), user('on', 'a', 'on')]
    await expectChain([...before, early, ...closing, ...after], ['b', 's', 'a', 'on'])
    const named = user('r', 'm1', [result('t')], { sourceToolAssistantUUID: 'a' })
    await expectChain([...before, named, ...closing, ...after], ['b', 's', 'a', 'on'])
  })
})

test('a uuid that comes again counts once, at its first place, for every way', async () => {
  const again = [
    user('a', null, 'one'),
    assistant('b', 'a', [block('two')]),
    { ...user('a', null, 'one, changed'), parentUuid: 'b' },
    user('c', 'a', 'three'),
  ]
  for (const windowBytes of [64, 1_000_000]) {
    await expectSame(Buffer.from(jsonl(...again)), windowBytes, 'as needed')
    await expectSame(Buffer.from(jsonl(...again.slice(0, 3))), windowBytes, 'as needed')
    // Nothing follows it: that it was there before is all that tells it from the last line.
    const leaf = [user('a', null, 'one'), user('x', 'a', 'x'), assistant('b', 'a', [block('two')])]
    await expectSame(Buffer.from(jsonl(...leaf, { ...leaf[1] })), windowBytes, 'as needed')
  }
})

test('what a compaction keeps of another branch is found there', async () => {
  const lines = [
    user('a', null, 'one'),
    user('left', 'a', 'another way'),
    assistant('kept', 'left', [block('kept')]),
    assistant('b', 'a', [block('two')]),
    lineOf('system', 'k', null, {
      subtype: 'compact_boundary',
      logicalParentUuid: 'b',
      compactMetadata: { preservedMessages: { anchorUuid: 's', uuids: ['kept'] } },
    }),
    user('s', 'k', 'summary', { isCompactSummary: true }),
    user('on', 's', 'on'),
  ]
  for (const windowBytes of [64, 1_000_000])
    await expectSame(Buffer.from(jsonl(...lines)), windowBytes, 'as needed')
})

test('a copy of another kind is not the last line, also where the tip is said to be elsewhere', async () => {
  const lines = [
    user('a', null, 'hello'),
    assistant('b', 'a', [block('said')]),
    { ...user('a', null, 'x'), type: 'system' },
    { type: 'last-prompt', lastPrompt: '', leafUuid: null, explicit: true, sessionId: SID },
  ]
  await expectSame(Buffer.from(jsonl(...lines)), 1_000, 'as needed')
  await expectSame(
    Buffer.from(jsonl(...lines.slice(0, 3), { ...lines[3], leafUuid: 'a' })),
    1_000,
    'as needed',
  )
})

test('of what a compaction closed, the turn is parsed that it keeps messages of, and no other', async () => {
  const turns = Array.from({ length: 20 }, (_, n) => [
    user(`q${n}`, n === 0 ? null : `e${n - 1}`, `closed ${n}`),
    assistant(`a${n}`, `q${n}`, [call(`t${n}`)], { id: `m${n}` }),
    user(`r${n}`, `a${n}`, [result(`t${n}`, `closed ${n}`)]),
    assistant(`e${n}`, `r${n}`, [block(`closed ${n}`)], { id: `n${n}` }),
  ]).flat()
  const preservedSegment = { headUuid: 'r18', anchorUuid: 's', tailUuid: 'e18' }
  const lines = [
    ...turns,
    lineOf('system', 'b', null, {
      subtype: 'compact_boundary',
      logicalParentUuid: 'e19',
      compactMetadata: { preservedSegment },
    }),
    user('s', 'b', 'summary', { isCompactSummary: true }),
    user('on', 's', 'on'),
  ]
  const path = newPath()
  await withFile(path, Buffer.from(jsonl(...lines)), async (file) => {
    const parse = vi.spyOn(JSON, 'parse')
    const reading = new TranscriptReading(path, SID, 300)
    await reading.catchUp(file)
    expect(await reading.standingToRead(file)).toEqual({ tip: 'on', last: 'on' })
    const chain = (await reading.chain(file, 'on'))?.entries.map(({ uuid }) => uuid)
    const parsed = new Set(parse.mock.calls.flatMap(([said]) => /closed \d+/.exec(said) ?? []))
    parse.mockRestore()
    expect(chain).toEqual(['b', 's', 'r18', 'e18', 'on'])
    expect([...parsed].toSorted()).toEqual(['closed 18', 'closed 19'])
  })
})

test('of a line that is not ended nothing is given out, so that nothing counts twice when it is read again', () => {
  const parser = new TranscriptParser('t.jsonl')
  const record = jsonl({ type: 'mode', mode: 'plan', sessionId: SID })
  expect(parser.push(Buffer.from(`${record}${record.trim()}\0\0`)).map(({ line }) => line)).toEqual([1])
  expect(parser.rest().map(({ line }) => line)).toEqual([2, 2])
  expect(parser.push(Buffer.from('\n')).map(({ line }) => line)).toEqual([2, 2])
})

describe('a line looked at in its bytes', () => {
  test('is JSON where the parser says so, and nowhere else but for what stands inside strings', () => {
    const json = fc.oneof(
      fc.json(),
      fc.json().map((text) => JSON.stringify(JSON.parse(text), null, 1)),
    )
    const spoilt = fc
      .tuple(
        json,
        fc.nat(),
        fc.constantFrom(
          '',
          '"',
          '\\',
          ',',
          '}',
          ']',
          '{',
          '[',
          ':',
          '0',
          '-',
          '.',
          'e',
          '\u0007',
          ' ',
          'é',
          'tru',
          'nul',
        ),
      )
      .map(([text, at, piece]) => {
        const place = text.length === 0 ? 0 : at % text.length
        return text.slice(0, place) + piece + text.slice(piece === '' ? place + 1 : place)
      })
    fc.assert(
      fc.property(fc.oneof(json, spoilt), (text) => {
        const bytes = Buffer.from(text.trim())
        const accepted = bytes.length > 0 && valueEnd(bytes, 0, bytes.length) === bytes.length
        // With every string emptied nothing is left that may be passed over.
        const bare = text.replaceAll(/"(?:[^"\\]|\\[^])*"/g, '""')
        expect(accepted).toBe(isJson(bare))
        if (isJson(text)) expect(accepted).toBe(true)
      }),
      { numRuns: often(100_000, 3_000) },
    )
  })

  test('says what its record says, or that only the parser can tell', () => {
    const key = fc.constantFrom(
      'type',
      'uuid',
      'parentUuid',
      'isSidechain',
      'subtype',
      'sourceToolAssistantUUID',
      'isCompactSummary',
      'leafUuid',
      'explicit',
      'message',
      'types',
      'sessionId',
    )
    const value = fc.oneof(
      fc.constantFrom(
        'user',
        'assistant',
        'system',
        'attachment',
        'last-prompt',
        'odd',
        '',
        'é"\\',
        true,
        false,
        null,
        1,
      ),
      fc.jsonValue({ maxDepth: 2 }),
    )
    const members = fc.array(fc.tuple(key, value), { maxLength: 8 })
    fc.assert(
      fc.property(members, fc.constantFrom('', ' ', '\t'), (said, blank) => {
        const text = `${blank}{${said.map(([name, what]) => `${JSON.stringify(name)}${blank}:${JSON.stringify(what)}`).join(`,${blank}`)}}${blank}`
        const bytes = Buffer.from(text)
        const facts = factsInBytes(bytes, 0, bytes.length, 1_000)
        const record: Entry = JSON.parse(text)
        if (facts)
          expect({ ...facts, sessionIdAt: undefined }).toEqual(
            factsOfRecord(record, 1_000 + blank.length, bytes.length - 2 * blank.length),
          )
        else {
          const isPlain =
            /^[ -~\t]*$/.test(text) && !text.includes('\\') && !/"sessionId".*"sessionId"/.test(text)
          const isTyped = typeof record.type === 'string' && record.type !== ''
          expect(isPlain && isTyped && record['subtype'] !== 'compact_boundary').toBe(false)
        }
      }),
      { numRuns: often(50_000, 3_000) },
    )
  })
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
