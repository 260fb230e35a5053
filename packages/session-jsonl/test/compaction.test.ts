import { describe, expect, test } from 'vitest'
import {
  assistant,
  call,
  chainOf,
  entry,
  jsonl,
  reading,
  result,
  rewind,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

const boundary = (uuid: string, closed: string, metadata: Line = {}): Line =>
  entry('system', uuid, null, {
    subtype: 'compact_boundary',
    logicalParentUuid: closed,
    compactMetadata: metadata,
  })
const summary = (uuid: string, parent: string): Line =>
  user(uuid, parent, `summary ${uuid}`, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
const segment = (headUuid: string, anchorUuid: string, tailUuid: string): Line => ({
  preservedSegment: { headUuid, anchorUuid, tailUuid },
})
const list = (anchorUuid: string, ...uuids: string[]): Line => ({
  preservedMessages: { anchorUuid, uuids, allUuids: uuids },
})
const kindsOf = (lines: readonly Line[]): Promise<string[]> =>
  reading(jsonl(...lines), async (session) => (await session.damage()).map(({ kind }) => kind))

const old = straight(6)

describe('S24: compaction', () => {
  test.each([
    ['as a segment', segment('m5', 's1', 'm6')],
    ['as a list', list('s1', 'm5', 'm6')],
    ['as both', { ...segment('m5', 's1', 'm6'), ...list('s1', 'm5', 'm6') }],
  ])('a: summary, what is kept (%s), the rest', async (_name, metadata) => {
    const lines = [...old, boundary('b1', 'm6', metadata), summary('s1', 'b1'), user('n1', 's1', 'on')]
    expect(await chainOf(jsonl(...lines))).toEqual(['b1', 's1', 'm5', 'm6', 'n1'])
    expect(await kindsOf(lines)).toEqual([])
    const sent = await reading(jsonl(...lines), (session) => session.conversation())
    expect(sent.map(({ content }) => content)).toEqual([
      [text('summary s1'), text('say m5')],
      [text('said m6')],
      'on',
    ])
  })

  test('a: without anything kept it is the summary and the rest', async () => {
    const lines = [...old, boundary('b1', 'm6'), summary('s1', 'b1'), assistant('n1', 's1', 'on')]
    expect(await chainOf(jsonl(...lines))).toEqual(['b1', 's1', 'n1'])
  })

  test('a: the end it closed is no tip, but can be gone back to', async () => {
    const lines = [...old, boundary('b1', 'm6'), summary('s1', 'b1'), assistant('n1', 's1', 'on')]
    const tips = await reading(jsonl(...lines), (session) => session.tips())
    expect(tips).toMatchObject([{ uuid: 'n1', depth: 3, current: true }])
    expect(await chainOf(jsonl(...lines, rewind('m4')))).toEqual(['m1', 'm2', 'm3', 'm4'])
    const gone = [...lines, rewind('m4'), user('x5', 'm4', 'other way')]
    expect(await chainOf(jsonl(...gone))).toEqual(['m1', 'm2', 'm3', 'm4', 'x5'])
    const both = await reading(jsonl(...gone), (session) => session.tips())
    expect(both.map(({ uuid }) => uuid)).toEqual(['x5', 'n1'])
  })

  test('b: kept messages that are not in the file: the summary stands without them, reported', async () => {
    for (const metadata of [segment('gone1', 's1', 'gone2'), list('s1', 'gone1', 'gone2')]) {
      const lines = [...old, boundary('b1', 'm6', metadata), summary('s1', 'b1'), assistant('n1', 's1', 'on')]
      expect(await chainOf(jsonl(...lines))).toEqual(['b1', 's1', 'n1'])
      const damage = await reading(jsonl(...lines), (session) => session.damage())
      expect(damage).toMatchObject([{ kind: 'missing-kept', line: 7 }])
      expect(damage[0]?.message).toContain('gone1, gone2')
    }
    const some = [...old, boundary('b1', 'm6', list('s1', 'gone', 'm6')), summary('s1', 'b1')]
    expect(await chainOf(jsonl(...some))).toEqual(['b1', 's1', 'm6'])
    expect(await kindsOf(some)).toEqual(['missing-kept'])
  })

  test('c: a crash right after the boundary: the old conversation goes on in full, reported', async () => {
    const lines = [...old, boundary('b1', 'm6', segment('m5', 's1', 'm6'))]
    expect(await chainOf(jsonl(...lines))).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'b1'])
    expect(await kindsOf(lines)).toEqual(['unfinished-compaction'])
    const resumed = [...lines, user('n1', 'b1', 'on')]
    const sent = await reading(jsonl(...resumed), (session) => session.conversation())
    expect(sent).toHaveLength(7)
    const again = [...resumed, boundary('b2', 'n1'), summary('s2', 'b2'), assistant('n2', 's2', 'x')]
    expect(await chainOf(jsonl(...again))).toEqual(['b2', 's2', 'n2'])
    const tips = await reading(jsonl(...again), (session) => session.tips())
    expect(tips.map(({ uuid }) => uuid)).toEqual(['n2'])
  })

  test('d: a message kept by the first compaction and again by the second is there', async () => {
    for (const second of [segment('m6', 's2', 'n2'), list('s2', 'm6', 'n1', 'n2')]) {
      const lines = [
        ...old,
        boundary('b1', 'm6', segment('m5', 's1', 'm6')),
        summary('s1', 'b1'),
        user('n1', 's1', 'one'),
        assistant('n2', 'n1', [text('two')]),
        boundary('b2', 'n2', second),
        summary('s2', 'b2'),
        user('o1', 's2', 'on'),
      ]
      expect(await chainOf(jsonl(...lines))).toEqual(['b2', 's2', 'm6', 'n1', 'n2', 'o1'])
    }
  })

  test('what a boundary keeps is there once, though it names what follows it too', async () => {
    const metadata = list('s1', 'm6', 's1', 'n1')
    const lines = [...old, boundary('b1', 'm6', metadata), summary('s1', 'b1'), user('n1', 's1', 'on')]
    expect(await chainOf(jsonl(...lines))).toEqual(['b1', 's1', 'm6', 'n1'])
  })

  test('kept calls keep their results, which hang beside the path', async () => {
    const lines = [
      ...straight(1),
      assistant('a1', 'm1', [call('t1')], { id: 'msg', apiBlockIndex: 0 }),
      assistant('a2', 'a1', [call('t2')], { id: 'msg', apiBlockIndex: 1 }),
      user('r1', 'a1', [result('t1')]),
      user('r2', 'a2', [result('t2')]),
      assistant('m2', 'r2', [text('done')]),
      boundary('b1', 'm2', list('s1', 'a1', 'a2', 'r2', 'm2')),
      summary('s1', 'b1'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['b1', 's1', 'a1', 'a2', 'r1', 'r2', 'm2'])
  })

  test('a boundary that names what comes after it ends all the same', async () => {
    const lines = [...old, boundary('b1', 'n1'), user('n1', 'b1', 'on')]
    expect(await chainOf(jsonl(...lines))).toEqual(['b1', 'n1'])
    const mutual = [boundary('b1', 'n2'), user('n1', 'b1', 'x'), boundary('b2', 'n1'), user('n2', 'b2', 'y')]
    expect(await chainOf(jsonl(...mutual))).toEqual(['b1', 'n1', 'b2', 'n2'])
  })
})
