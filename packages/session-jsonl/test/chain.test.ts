import { readFileSync } from 'node:fs'
import { forkSession, listSessions, openSession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
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
  rewind,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

const kinds = (lines: readonly (Line | string)[]): Promise<string[]> =>
  reading(jsonl(...lines), async (session) => (await session.damage()).map(({ kind }) => kind))

/** A message that calls three tools at once, one line a block. */
const calls = (parent: string): Line[] => [
  assistant('a1', parent, [call('t1')], { id: 'msg', apiBlockIndex: 0 }),
  assistant('a2', 'a1', [call('t2')], { id: 'msg', apiBlockIndex: 1 }),
  assistant('a3', 'a2', [call('t3')], { id: 'msg', apiBlockIndex: 2 }),
]
const answer = (uuid: string, parent: string, id: string): Line =>
  user(uuid, parent, [result(id)], { sourceToolAssistantUUID: parent })

describe('tool calls made at once', () => {
  const u1 = user('u1', null, 'go')
  test('S06: results that hang beside the path are put back, in the order of the file', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r1', 'a1', 't1'),
      answer('r2', 'a2', 't2'),
      answer('r3', 'a3', 't3'),
      assistant('b', 'r3', 'done'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'a2', 'a3', 'r1', 'r2', 'r3', 'b'])
  })
  test('the first call finished last: lines of the message itself are put back too', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r2', 'a2', 't2'),
      answer('r3', 'a3', 't3'),
      answer('r1', 'a1', 't1'),
      assistant('b', 'r1', 'done'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'a2', 'a3', 'r2', 'r3', 'r1', 'b'])
  })
  test('the program ended after the results: all of them are there', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r3', 'a3', 't3'),
      answer('r1', 'a1', 't1'),
      answer('r2', 'a2', 't2'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'a2', 'a3', 'r3', 'r1', 'r2'])
  })
  test('a tip inside the message ends there: results beside the path are put back, what comes after it is not', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r1', 'a1', 't1'),
      answer('r2', 'a2', 't2'),
      answer('r3', 'a3', 't3'),
      assistant('b', 'r3', 'done'),
    ]
    expect(await chainOf(jsonl(...lines), 'a2')).toEqual(['u1', 'a1', 'a2', 'r1'])
    expect(await chainOf(jsonl(...lines), 'a1')).toEqual(['u1', 'a1'])
  })
  test('a prompt after a rewind into the message follows those results', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r1', 'a1', 't1'),
      answer('r2', 'a2', 't2'),
      answer('r3', 'a3', 't3'),
      rewind('a1'),
      user('u2', 'a1', 'stop'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'r1', 'u2'])
  })
  test('a call that ran twice on two branches keeps each branch its own result', async () => {
    const lines = [
      u1,
      assistant('a1', 'u1', [call('t1')], { id: 'msg' }),
      answer('r1', 'a1', 't1'),
      assistant('b', 'r1', 'x'),
      answer('q1', 'a1', 't1'),
      assistant('c', 'q1', 'y'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'q1', 'c'])
    expect(await chainOf(jsonl(...lines), 'b')).toEqual(['u1', 'a1', 'r1', 'b'])
  })
  test('written one after the other they stay as they are', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r1', 'a3', 't1'),
      answer('r2', 'r1', 't2'),
      answer('r3', 'r2', 't3'),
      assistant('b', 'r3', 'done'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'a2', 'a3', 'r1', 'r2', 'r3', 'b'])
    expect(await chainOf(jsonl(...lines), 'a2')).toEqual(['u1', 'a1', 'a2'])
    expect(await chainOf(jsonl(...lines), 'r1')).toEqual(['u1', 'a1', 'a2', 'a3', 'r1'])
    const rewound = [...lines, rewind('a1'), user('u2', 'a1', 'stop')]
    expect(await chainOf(jsonl(...rewound))).toEqual(['u1', 'a1', 'r1', 'u2'])
  })
  test('a message of the same id elsewhere is another one', async () => {
    const lines = [
      u1,
      ...calls('u1'),
      answer('r3', 'a3', 't3'),
      user('u2', 'r3', 'again'),
      assistant('c', 'u2', [text('x')], { id: 'msg', apiBlockIndex: 7 }),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['u1', 'a1', 'a2', 'a3', 'r3', 'u2', 'c'])
    expect(await chainOf(jsonl(...lines), 'r3')).toEqual(['u1', 'a1', 'a2', 'a3', 'r3'])
  })
})

describe('a parent that is not there', () => {
  const six = straight(6)
  const without = (uuid: string, lines: readonly Line[]): Line[] =>
    lines.filter((line) => line['uuid'] !== uuid)
  test('is bridged to the entry before it, and reported where it is missed', async () => {
    const lines = without('m4', six)
    expect(await chainOf(jsonl(...lines))).toEqual(['m1', 'm2', 'm3', 'm5', 'm6'])
    const damage = await reading(jsonl(...lines), (session) => session.damage())
    expect(damage).toEqual([
      {
        kind: 'missing-parent',
        path: expect.any(String),
        line: 4,
        offset: jsonl(...lines.slice(0, 3)).length,
        message: 'Line 4 follows m4, which is not in the file; bridged to m3 on line 3',
      },
    ])
  })
  test('after a rewind it is bridged to where the rewind went', async () => {
    const lines = [...six, rewind('m2'), user('n3', 'm2', 'x'), assistant('n4', 'n3', 'y')]
    expect(await chainOf(jsonl(...without('n3', lines)))).toEqual(['m1', 'm2', 'n4'])
    const fromNothing = [...six, rewind(null), user('n1', null, 'x'), assistant('n2', 'n1', 'y')]
    expect(await chainOf(jsonl(...without('n1', fromNothing)))).toEqual(['n2'])
  })
  test('of two branches written in turn it is bridged to the one that nothing goes on from', async () => {
    const lines = [
      ...straight(2),
      user('x3', 'm2', '1'),
      user('y3', 'm2', '1'),
      assistant('x4', 'x3', '2'),
      assistant('y4', 'y3', '2'),
      user('x5', 'x4', '3'),
      user('y5', 'y4', '3'),
      assistant('x6', 'x5', '4'),
      assistant('y6', 'y5', '4'),
    ]
    expect(await chainOf(jsonl(...without('x5', lines)), 'x6')).toEqual(['m1', 'm2', 'x3', 'x4', 'x6'])
  })
  test('with nothing before it, it begins the conversation', async () => {
    expect(await chainOf(jsonl(...without('m1', six)))).toEqual(['m2', 'm3', 'm4', 'm5', 'm6'])
  })
  test('a parent named nowhere is missing too', async () => {
    const lines = six.map((line) => ({ ...line, parentUuid: undefined }))
    expect(await chainOf(jsonl(...lines))).toHaveLength(6)
    expect(await kinds(lines)).toEqual(Array.from({ length: 6 }, () => 'missing-parent'))
  })
  test('a subagent line as parent is bridged to what it came from', async () => {
    const lines = [...straight(2), user('x', 'm2', 'agent', { isSidechain: true }), user('m3', 'x', 'on')]
    expect(await chainOf(jsonl(...lines))).toEqual(['m1', 'm2', 'm3'])
    expect(await kinds(lines)).toEqual(['missing-parent'])
  })
})

test('lines of unknown kinds inside the chain pass through', async () => {
  const lines = [...straight(2), entry('progress', 'p', 'm2', { extra: [1] }), user('m3', 'p', 'on')]
  expect(await chainOf(jsonl(...lines))).toEqual(['m1', 'm2', 'p', 'm3'])
  expect(await kinds(lines)).toEqual([])
  expect(await reading(jsonl(...lines), (session) => session.records('progress'))).toMatchObject([
    { extra: [1] },
  ])
  expect(await reading(jsonl(...lines), (session) => session.conversation())).toHaveLength(3)
})

test('user and assistant lines without uuid are read in file order, and reported', async () => {
  const nameless = (line: Line): Line => ({ ...line, uuid: undefined, parentUuid: undefined })
  const [m1 = {}, m2 = {}, m3 = {}, m4 = {}] = straight(4)
  const lines = [m1, nameless(m2), nameless(m3), { ...m4, parentUuid: 'm1' }]
  const damage = await reading(jsonl(...lines), (session) => session.damage())
  expect(damage.map(({ kind, line }) => [kind, line])).toEqual([
    ['missing-uuid', 2],
    ['missing-uuid', 3],
  ])
  const session = lines.slice(0, 3)
  const ids = await chainOf(jsonl(...session))
  expect(ids).toHaveLength(3)
  expect(await chainOf(jsonl(...session))).toEqual(ids)
  const said = await reading(jsonl(...session), (read) => read.conversation())
  expect(said.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
})

describe('S20: a uuid that is there twice', () => {
  test('counts once; a copy with another parent changes no link, and each is said', async () => {
    const hundred = straight(100)
    const copies = hundred.slice(0, 50).map((line) => ({ ...line, parentUuid: null }))
    expect(await chainOf(jsonl(...hundred, ...copies))).toHaveLength(100)
    const found = await kinds([...hundred, ...copies])
    expect(found).toEqual(Array.from({ length: 50 }, () => 'duplicate-entry'))
    const tips = await reading(jsonl(...hundred, ...copies), (session) => session.tips())
    expect(tips.map(({ uuid }) => uuid)).toEqual(['m100'])
  })
  test('what the last copy says counts, with the links of the first, and that is said', async () => {
    const lines = [...straight(4), user('m3', null, 'changed')]
    const chain = await reading(jsonl(...lines), (session) => session.chain())
    expect(chain.map(({ uuid, parentUuid }) => [uuid, parentUuid])).toEqual([
      ['m1', null],
      ['m2', 'm1'],
      ['m3', 'm2'],
      ['m4', 'm3'],
    ])
    expect(chain[2]?.message).toEqual({ role: 'user', content: 'changed' })
    expect(await kinds(lines)).toEqual(['conflicting-entry'])
  })
  test('a copy of another kind does not count', async () => {
    const lines = [
      ...straight(4),
      user('m4', 'm1', 'agent', { isSidechain: true }),
      entry('system', 'm3', 'm1'),
    ]
    expect(await chainOf(jsonl(...lines))).toEqual(['m1', 'm2', 'm3', 'm4'])
    expect(await kinds(lines)).toEqual(['conflicting-entry', 'conflicting-entry'])
  })
})

describe('S07: rings of parents', () => {
  const cases: [name: string, lines: Line[], chain: string[], damage: string[]][] = [
    ['an entry that follows itself', [...straight(2), user('x', 'x', 'ring')], ['x'], ['cycle']],
    [
      'an early entry that follows a late one',
      straight(8).map((line) => (line['uuid'] === 'm3' ? { ...line, parentUuid: 'm6' } : line)),
      ['m3', 'm4', 'm5', 'm6', 'm7', 'm8'],
      ['cycle'],
    ],
    [
      'one uuid twice, the later following its own descendant',
      straight(8).map((line) =>
        line['uuid'] === 'm7'
          ? { ...line, uuid: 'm3' }
          : line['uuid'] === 'm8'
            ? { ...line, parentUuid: 'm3' }
            : line,
      ),
      ['m1', 'm2', 'm3', 'm8'],
      ['conflicting-entry'],
    ],
    [
      'a ring of two apart from the conversation',
      [user('x', 'y', '1'), assistant('y', 'x', '2'), ...straight(3)],
      ['m1', 'm2', 'm3'],
      ['cycle'],
    ],
  ]
  test('a ring that an earlier entry leads into is cut at its own first entry', async () => {
    const lines = [user('x', 'z', '1'), user('y', 'z', '2'), user('z', 'y', '3')]
    expect(await chainOf(jsonl(...lines), 'x')).toEqual(['y', 'z', 'x'])
    expect(await kinds(lines)).toEqual(['cycle'])
  })

  test.each(cases)('%s: cut, reported, the straight part kept', async (_name, lines, chain, damage) => {
    expect(await chainOf(jsonl(...lines))).toEqual(chain)
    expect(await kinds(lines)).toEqual(damage)
    const made = await project(jsonl(...lines))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    expect((await session.tips()).length).toBeGreaterThan(0)
    expect((await session.conversation()).length).toBeGreaterThan(0)
    await session.close()
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(readFileSync(fork.path, 'utf8').split('\n').length).toBeGreaterThan(chain.length)
    expect(await listSessions({ projectsDir: made.root })).toHaveLength(2)
    await made.remove()
  })

  test('a straight chain of very many entries loads and has one tip', async () => {
    // Deeper than the stack.
    const count = often(100_000, 30_000)
    const lines = straight(count)
    const made = await project(jsonl(...lines))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    expect(await session.chain()).toHaveLength(count)
    expect(await session.tips()).toMatchObject([{ uuid: `m${count}`, depth: count, current: true }])
    await session.close()
    await made.remove()
  })
})

test('chain and entry: an unknown tip is ENTRY_NOT_FOUND, an unknown entry undefined', async () => {
  await reading(jsonl(...straight(2), user('x', 'm2', 'agent', { isSidechain: true })), async (session) => {
    await expect(session.chain('nope')).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
    await expect(session.chain('x')).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
    await expect(session.conversation({ tip: 'nope' })).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
    expect(await session.entry('nope')).toBeUndefined()
    expect(await session.entry('x')).toMatchObject({ uuid: 'x', isSidechain: true })
    expect(await session.entry('m1')).toMatchObject({ uuid: 'm1' })
  })
})
