import { expect, test } from 'vitest'
import { entry, jsonl, lastPrompt, reading, rewind, straight, user } from './lines.ts'
import type { Line } from './lines.ts'

const four = straight(4)
const side = (uuid: string, parent: string): Line =>
  user(uuid, parent, 'x', { isSidechain: true, timestamp: '2030-01-01T00:00:00Z' })

const table: [name: string, lines: readonly Line[], tip: string | null][] = [
  ['nothing: empty', [], null],
  ['only records: empty', [{ type: 'mode', mode: 'normal' }, lastPrompt('m9')], null],
  ['the last line of the conversation', four, 'm4'],
  [
    'a system line and an attachment count',
    [...four, entry('attachment', 'a', 'm4'), entry('system', 's', 'a')],
    's',
  ],
  ['a last-prompt before it does not matter', [...four.slice(0, 2), rewind('m1'), ...four.slice(2)], 'm4'],
  ['explicit after it: what it names', [...four, rewind('m2')], 'm2'],
  ['explicit null: empty', [...four, rewind(null)], null],
  [
    'explicit, not in the file: the last line',
    [...four, rewind('00000000-0000-0000-0000-000000000000')],
    'm4',
  ],
  ['explicit, a subagent line: the last line', [...four, side('x', 'm2'), rewind('x')], 'm4'],
  ['the last explicit of several', [...four, rewind('m1'), rewind('m3')], 'm3'],
  ['plain, naming an ancestor: the last line', [...four, lastPrompt('m2')], 'm4'],
  ['plain, not in the file: the last line', [...four, lastPrompt('m9')], 'm4'],
  ['plain, naming the last line', [...four, lastPrompt('m4')], 'm4'],
  [
    'plain, naming the end of another branch: that',
    [...four, user('n3', 'm2', 'other'), lastPrompt('m4')],
    'm4',
  ],
  ['plain after explicit: only the last counts', [...four, rewind('m2'), lastPrompt('m1')], 'm4'],
  ['plain, naming a line that comes later', [...four.slice(0, 3), lastPrompt('m4'), ...four.slice(3)], 'm4'],
  ['plain with null: the last line', [...four, { ...lastPrompt('x'), leafUuid: null }], 'm4'],
  ['a parent that comes later in the file', [...four.slice(2), ...four.slice(0, 2)], 'm2'],
]
test.each(table)('the tip: %s', async (_name, lines, tip) => {
  expect(await reading(jsonl(...lines), (session) => Promise.resolve(session.tip))).toBe(tip)
})

test('a plain last-prompt that names what a compaction closed does not undo the compaction', async () => {
  const boundary = { ...entry('system', 'b', null), subtype: 'compact_boundary', logicalParentUuid: 'm4' }
  const summary = user('s', 'b', 'summary', { isCompactSummary: true })
  expect(
    await reading(jsonl(...four, boundary, summary, lastPrompt('m4')), (session) =>
      Promise.resolve(session.tip),
    ),
  ).toBe('s')
})

test('S06: subagents, progress and late records never move the tip, nor do timestamps', async () => {
  const eight = straight(8)
  const first = [
    ...eight,
    side('x1', 'm3'),
    side('x2', 'x1'),
    side('x3', 'x2'),
    entry('progress', 'p1', 'm3'),
    entry('progress', 'p2', 'm3'),
    { type: 'custom-title', customTitle: 'late' },
  ]
  const chain = await reading(jsonl(...first), (session) => session.chain())
  expect(chain.map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8'])

  const back = eight.map((line, index) =>
    index < 6 ? line : { ...line, timestamp: '2001-01-01T00:00:00.000Z' },
  )
  expect(await reading(jsonl(...back), (session) => Promise.resolve(session.tip))).toBe('m8')
})
