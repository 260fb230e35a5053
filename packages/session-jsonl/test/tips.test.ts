import { openSession } from '@loci/session-jsonl'
import { describe, expect, test } from 'vitest'
import {
  assistant,
  call,
  entry,
  jsonl,
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

const tipsOf = (...lines: Line[]): Promise<[string, number, boolean][]> =>
  reading(jsonl(...lines), async (session) =>
    (await session.tips()).map(({ uuid, depth, current }) => [uuid, depth, current]),
  )

describe('tips', () => {
  test('an empty session has none', async () => {
    expect(await tipsOf()).toEqual([])
  })
  test('S31: every end of a branch stays, the last in the file first, with when and how deep', async () => {
    const four = straight(4)
    const lines = [...four, rewind('m2'), user('x3', 'm2', 'x'), rewind('m1'), assistant('y2', 'm1', 'y')]
    expect(await tipsOf(...lines)).toEqual([
      ['y2', 2, true],
      ['x3', 3, false],
      ['m4', 4, false],
    ])
    const [, , oldest] = await reading(jsonl(...lines), (session) => session.tips())
    expect(oldest).toEqual({ uuid: 'm4', timestamp: four[3]?.['timestamp'], depth: 4, current: false })
  })
  test('S31: each can be resumed, and the others stay', async () => {
    const made = await project(jsonl(...straight(4), rewind('m2'), user('x3', 'm2', 'x')))
    for (const [end, next] of [
      ['m4', 'n1'],
      ['x3', 'n2'],
      ['m4', 'n3'],
    ] as const) {
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      await session.moveTip(end)
      await session.append({ type: 'user', uuid: next, message: { role: 'user', content: next } })
      await session.close()
    }
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    expect((await session.tips()).map(({ uuid }) => uuid)).toEqual(['n3', 'n2', 'n1'])
    await session.close()
    await made.remove()
  })
  test('after a rewind the former end is still one', async () => {
    expect(await tipsOf(...straight(4), rewind('m2'))).toEqual([['m4', 4, false]])
    expect(await tipsOf(...straight(4), rewind(null))).toEqual([['m4', 4, false]])
    expect(await tipsOf(...straight(2), rewind(null), user('x', null, 'anew'))).toEqual([
      ['x', 1, true],
      ['m2', 2, false],
    ])
  })
  test('subagents, progress and lines of unknown kinds are no ends, nor do they end one', async () => {
    const lines = [...straight(2), user('s', 'm2', 'x', { isSidechain: true }), entry('progress', 'p', 'm2')]
    expect(await tipsOf(...lines)).toEqual([['m2', 2, true]])
    expect(await tipsOf(...lines, user('m3', 'p', 'on'))).toEqual([['m3', 4, true]])
  })
})

describe('tips around tool calls made at once', () => {
  const calls = [
    user('u1', null, 'go'),
    assistant('a1', 'u1', [call('t1')], { id: 'msg', apiBlockIndex: 0 }),
    assistant('a2', 'a1', [call('t2')], { id: 'msg', apiBlockIndex: 1 }),
  ]
  const r1 = user('r1', 'a1', [result('t1')])
  const r2 = user('r2', 'a2', [result('t2')])
  test('a result beside the path is no end', async () => {
    expect(await tipsOf(...calls, r1, r2, assistant('b', 'r2', [text('ok')]))).toEqual([['b', 5, true]])
  })
  test('nor are lines of the message and results, where the first call finished last', async () => {
    expect(await tipsOf(...calls, r2, r1, assistant('b', 'r1', [text('ok')]))).toEqual([['b', 4, true]])
  })
  test('of results that nothing follows yet, the last is the end', async () => {
    expect(await tipsOf(...calls, r1, r2)).toEqual([['r2', 4, true]])
    expect(await tipsOf(...calls, r2, r1)).toEqual([['r1', 3, true]])
  })
  test('nor is a note beside the path', async () => {
    const lines = [...calls, r1, entry('attachment', 'n', 'r1'), r2, assistant('b', 'r2', [text('ok')])]
    expect(await tipsOf(...lines)).toEqual([['b', 5, true]])
  })
  test('after a rewind into the message its former end is one', async () => {
    const lines = [...calls, r1, r2, rewind('a1'), user('u2', 'a1', 'stop')]
    expect(await tipsOf(...lines)).toEqual([
      ['u2', 3, true],
      ['r2', 4, false],
    ])
  })
  test('a result of another run of the same call is an end of its own', async () => {
    const lines = [
      ...calls.slice(0, 2),
      r1,
      assistant('b', 'r1', [text('ok')]),
      user('q1', 'a1', [result('t1')]),
    ]
    expect(await tipsOf(...lines)).toEqual([
      ['q1', 3, true],
      ['b', 4, false],
    ])
  })
})
