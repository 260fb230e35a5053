import { readFile, rm, stat } from 'node:fs/promises'
import { forkSession, listSessions, openSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import type { ModelMessage, Session } from '@loci/session-jsonl'
import { setFaultHook } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import {
  assistant,
  call,
  entry,
  jsonl,
  lastPrompt,
  LONG_ENOUGH,
  often,
  OTHER,
  project,
  result,
  rewind,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

afterEach(() => setFaultHook(undefined))

type Made = Awaited<ReturnType<typeof project>>

async function inSession<T>(
  made: Made,
  sessionId: string,
  ask: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
  try {
    return await ask(session)
  } finally {
    await session.close()
  }
}
const sent = (made: Made, id: string, tip?: string): Promise<ModelMessage[]> =>
  inSession(made, id, (session) => session.conversation(tip === undefined ? {} : { tip }))
const chain = (made: Made, id: string): Promise<string[]> =>
  inSession(made, id, async (session) => (await session.chain()).map(({ uuid }) => uuid))
const lines = async (made: Made, id: string): Promise<Line[]> =>
  (await made.read(`p/${id}.jsonl`))
    .trim()
    .split('\n')
    .map((line): Line => JSON.parse(line))

const tools = [
  user('u1', null, 'go'),
  assistant('a1', 'u1', [call('t1')], { id: 'msg', apiBlockIndex: 0 }),
  assistant('a2', 'a1', [call('t2')], { id: 'msg', apiBlockIndex: 1 }),
  user('r1', 'a1', [result('t1')]),
  user('r2', 'a2', [result('t2')]),
  assistant('b1', 'r2', [text('ok')], { id: 'msg2' }),
  user('u2', 'b1', 'on'),
]

describe('a fork', () => {
  test('holds the chain to its tip, the records beside it, and says where it came from', async () => {
    const snapshot = {
      type: 'file-history-snapshot',
      messageId: 'm1',
      snapshot: { messageId: 'm1' },
      isSnapshotUpdate: false,
    }
    const made = await project(
      jsonl(
        { type: 'queue-operation', operation: 'enqueue', sessionId: SID },
        snapshot,
        ...straight(4),
        { type: 'custom-title', customTitle: 'Old', sessionId: SID },
        { type: 'ai-title', aiTitle: 'Old', sessionId: SID },
        { type: 'summary', summary: 'Old', leafUuid: 'm4' },
        { type: 'tag', tag: 'blue', sessionId: SID },
        { type: 'cost-state', totalCostUSD: 1, sessionId: SID },
        { type: 'api-request', id: 'x', sessionId: SID },
        { type: 'api-request-shape', shapeHash: 'x', sessionId: SID },
        { type: 'api-request-blob', hash: 'x', sessionId: SID },
        { type: 'forked-from', sourceSessionId: 'older', upTo: 'm0', sessionId: SID },
        { type: 'of-another-package', nested: { sessionId: SID }, sessionId: SID },
        lastPrompt('m4'),
      ),
    )
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID, newSessionId: OTHER })
    expect(fork).toEqual({ sessionId: OTHER, path: made.path(`p/${OTHER}.jsonl`) })
    expect(await lines(made, OTHER)).toMatchObject([
      { type: 'forked-from', sessionId: OTHER, sourceSessionId: SID, upTo: 'm4' },
      snapshot,
      { uuid: 'm1', parentUuid: null, sessionId: OTHER },
      { uuid: 'm2', parentUuid: 'm1', sessionId: OTHER },
      { uuid: 'm3', parentUuid: 'm2', sessionId: OTHER },
      { uuid: 'm4', parentUuid: 'm3', sessionId: OTHER },
      { type: 'tag', tag: 'blue', sessionId: OTHER },
      { type: 'of-another-package', nested: { sessionId: SID }, sessionId: OTHER },
    ])
    expect(await lines(made, OTHER)).toHaveLength(8)
    expect((await stat(fork.path)).mode & 0o777).toBe(0o600)
    expect(await verifySession(fork.path)).toEqual([])
    expect(await inSession(made, OTHER, (session) => session.records('forked-from'))).toHaveLength(1)
    await made.remove()
  })

  test('goes into another folder, made for it, and leaves its own as it was', async () => {
    const made = await project(jsonl(...straight(2)))
    const toProjectDir = made.path('other/home/p')
    const before = await made.read(`p/${SID}.jsonl`)
    const { sessionId, path } = await forkSession({
      projectDir: made.projectDir,
      sessionId: SID,
      toProjectDir,
      newSessionId: OTHER,
    })
    expect(path).toBe(made.path(`other/home/p/${OTHER}.jsonl`))
    const fork = await openSession({ projectDir: toProjectDir, sessionId, mode: 'read' })
    expect(await fork.conversation()).toEqual(await sent(made, SID))
    await fork.close()
    expect(await made.read(`p/${SID}.jsonl`)).toBe(before)
    await made.remove()
  })

  test('changes nothing of a line but the session id at its top level', async () => {
    const odd = `{ "type":"user" ,"x": {"sessionId":"${SID}"}, "n":1e3,"n2":0.10, "uuid":"m1","parentUuid":null,"s":"\\u0041\\/","sessionId" : "${SID}" ,"message":{"role":"user","content":"\\"sessionId\\":\\"${SID}\\" é"},"z":[ ]}`
    const foreign = `{"type":"note","sessionId":"somebody"}`
    const made = await project(`\uFEFF${odd}\r\n${foreign}`)
    const { sessionId, path } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    const [, first, second, end] = (await readFile(path, 'utf8')).split('\n')
    expect(first).toBe(odd.replace(`"sessionId" : "${SID}"`, `"sessionId" : "${sessionId}"`))
    expect(second).toBe(`{"type":"note","sessionId":"${sessionId}"}`)
    expect(end).toBe('')
    await made.remove()
  })

  test('with a title has exactly that one; a blank one is refused', async () => {
    const made = await project(
      jsonl(...straight(2), { type: 'custom-title', customTitle: 'Old', sessionId: SID }),
    )
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID, title: ' New \ud83d' })
    const titles = await inSession(made, fork.sessionId, (session) => session.records('custom-title'))
    expect(titles).toEqual([{ type: 'custom-title', customTitle: 'New \uFFFD', sessionId: fork.sessionId }])
    await expect(
      forkSession({ projectDir: made.projectDir, sessionId: SID, title: ' ' }),
    ).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    await made.remove()
  })

  test('leaves the source as it is, also while that is open elsewhere', async () => {
    const made = await project(jsonl(...straight(2)))
    const open = await openSession({ projectDir: made.projectDir, sessionId: SID })
    const before = await readFile(made.file)
    const time = (await stat(made.file, { bigint: true })).mtimeNs
    await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await readFile(made.file)).toEqual(before)
    expect((await stat(made.file, { bigint: true })).mtimeNs).toBe(time)
    await open.close()
    await made.remove()
  })

  test('at an entry holds the whole message that it is part of, and its tool results', async () => {
    const made = await project(jsonl(...tools))
    const table = [
      ['u1', ['u1'], 'u1'],
      ['a1', ['u1', 'a1', 'a2', 'r1', 'r2'], 'r2'],
      ['a2', ['u1', 'a1', 'a2', 'r1', 'r2'], 'r2'],
      ['r1', ['u1', 'a1', 'a2', 'r1', 'r2'], 'r2'],
      ['r2', ['u1', 'a1', 'a2', 'r1', 'r2'], 'r2'],
      ['b1', ['u1', 'a1', 'a2', 'r1', 'r2', 'b1'], 'b1'],
    ] as const
    for (const [upTo, kept, last] of table) {
      const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID, upTo })
      expect(await chain(made, sessionId)).toEqual(kept)
      expect(await inSession(made, sessionId, (session) => session.records('forked-from'))).toMatchObject([
        { upTo: last },
      ])
      expect(JSON.stringify(await sent(made, sessionId))).toBe(JSON.stringify(await sent(made, SID, last)))
    }
    await made.remove()
  })

  test('where a result stands after the end in the file, the end is still the end', async () => {
    const late = [...tools.slice(0, 4), ...tools.slice(5, 6), ...tools.slice(4, 5), lastPrompt('b1')]
    const made = await project(jsonl(...late))
    expect(await chain(made, SID)).toEqual(['u1', 'a1', 'a2', 'r1', 'r2', 'b1'])
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID, upTo: 'b1' })
    expect(await chain(made, fork.sessionId)).toEqual(['u1', 'a1', 'a2', 'r1', 'r2', 'b1'])
    await made.remove()
  })

  test('takes one branch, and the subagents and unknown lines that hang on it', async () => {
    const made = await project(
      jsonl(
        ...straight(4),
        user('s1', 'm2', 'agent', { isSidechain: true }),
        user('s2', 'm4', 'agent', { isSidechain: true }),
        user('s3', null, 'agent', { isSidechain: true }),
        entry('progress', 'p1', 'm2'),
        entry('progress', 'p2', 'm4'),
        rewind('m2'),
        user('x3', 'm2', 'x'),
      ),
    )
    const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    const uuids = (await lines(made, sessionId)).flatMap(({ uuid }) =>
      typeof uuid === 'string' ? [uuid] : [],
    )
    expect(uuids).toEqual(['m1', 'm2', 's1', 's3', 'p1', 'x3'])
    expect(await inSession(made, sessionId, (session) => session.tips())).toMatchObject([{ uuid: 'x3' }])
    await made.remove()
  })

  test('takes along what compactions closed, so that it can go back there too', async () => {
    const made = await project(
      jsonl(
        ...straight(4),
        entry('system', 'b', null, {
          subtype: 'compact_boundary',
          logicalParentUuid: 'm4',
          compactMetadata: { preservedSegment: { headUuid: 'm4', anchorUuid: 's', tailUuid: 'm4' } },
        }),
        user('s', 'b', 'sum', { isCompactSummary: true }),
        user('n', 's', 'on'),
      ),
    )
    const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await chain(made, sessionId)).toEqual(['b', 's', 'm4', 'n'])
    expect(await inSession(made, sessionId, (session) => session.chain('m3'))).toHaveLength(3)
    await made.remove()
  })

  test('of a damaged session is whole: links as they were read, each uuid once', async () => {
    const [m1 = {}, m2 = {}, , m4 = {}, m5 = {}, m6 = {}] = straight(6)
    const made = await project(
      jsonl(
        m1,
        '{"torn',
        m2,
        m4,
        { ...m2, parentUuid: null },
        m5,
        { ...m6, parentUuid: 'm5' },
        { ...m5, parentUuid: null, message: { role: 'user', content: 'new' } },
      ) + '\0\0',
    )
    expect(await verifySession(made.file)).not.toEqual([])
    const { sessionId, path } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await verifySession(path)).toEqual([])
    expect((await lines(made, sessionId)).map(({ uuid, parentUuid }) => [uuid, parentUuid]).slice(1)).toEqual(
      [
        ['m1', null],
        ['m2', 'm1'],
        ['m4', 'm2'],
        ['m5', 'm4'],
        ['m6', 'm5'],
      ],
    )
    expect(await sent(made, sessionId)).toEqual(await sent(made, SID))
    await made.remove()
  })

  test('of an empty conversation is empty', async () => {
    const made = await project(jsonl(...straight(2), rewind(null), { type: 'tag', tag: 'x', sessionId: SID }))
    const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    expect(await chain(made, sessionId)).toEqual([])
    expect(await lines(made, sessionId)).toMatchObject([{ upTo: null }, { type: 'tag' }])
    await made.remove()
  })
})

describe('side files', () => {
  const agent = `{"type":"user","sessionId":"${SID}","agentId":"a1","x":"${SID}"}\n{"torn "sessionId":"${SID}"\n{"sessionId":"${SID}"}`
  const own = {
    [`p/${SID}/subagents/agent-a1.jsonl`]: { text: agent, mode: 0o600 },
    [`p/${SID}/subagents/agent-a1.meta.json`]: { text: '{}', mode: 0o644 },
    [`p/${SID}/tool-results/x.txt`]: { text: 'long', mode: 0o644 },
    [`p/${SID}/scratchpad/deep/note.bin`]: { text: Buffer.from([0, 255]), mode: 0o755 },
    [`p/${SID}/archived.json`]: '{"archived":true}',
    [`p/${SID}/scratchpad/.note.bin.lock.1`]: '',
    [`p/${SID}/scratchpad/link`]: { link: '/etc/passwd' },
  }
  test('are carried: bytes and modes, subagents with the new id; no mark, lock or link', async () => {
    const made = await project(jsonl(...straight(2)), own)
    await forkSession({ projectDir: made.projectDir, sessionId: SID, newSessionId: OTHER })
    const snapshot = await made.snapshot()
    const carried = Object.keys(snapshot).filter((name) => name.startsWith(`p/${OTHER}/`))
    expect(
      Object.fromEntries(carried.map((name) => [name.slice(`p/${OTHER}/`.length), snapshot[name]])),
    ).toEqual({
      'scratchpad/deep/note.bin': { mode: 0o755, text: 'base64:AP8=' },
      'subagents/agent-a1.jsonl': {
        mode: 0o600,
        text: `{"type":"user","sessionId":"${OTHER}","agentId":"a1","x":"${SID}"}\n{"torn "sessionId":"${SID}"\n{"sessionId":"${OTHER}"}`,
      },
      'subagents/agent-a1.meta.json': { mode: 0o644, text: '{}' },
      'tool-results/x.txt': { mode: 0o644, text: 'long' },
    })
    expect(Object.keys(snapshot).filter((name) => name.includes('.tmp'))).toEqual([])
    await made.remove()
  })
  test('without any there is no directory', async () => {
    const made = await project(jsonl(...straight(2)), { [`p/${SID}/archived.json`]: '{"archived":true}' })
    await forkSession({ projectDir: made.projectDir, sessionId: SID, newSessionId: OTHER })
    await expect(stat(made.path(`p/${OTHER}`))).rejects.toThrow('ENOENT')
    await made.remove()
  })
})

describe('what is refused', () => {
  test.each([
    ['an unknown entry', { upTo: 'nope' }, 'ENTRY_NOT_FOUND'],
    ['a subagent line', { upTo: 'side' }, 'ENTRY_NOT_FOUND'],
    ['an id that is taken', { newSessionId: SID }, 'SESSION_EXISTS'],
    ['an id whose side files are there', { newSessionId: OTHER }, 'SESSION_EXISTS'],
    ['an id that leaves the folder', { newSessionId: '../x' }, 'ENTRY_INVALID'],
    [
      'a source that is not there',
      { sessionId: '77777777-2222-4333-8444-555555555555' },
      'SESSION_NOT_FOUND',
    ],
  ])('%s', async (_name, options, code) => {
    const made = await project(jsonl(...straight(2), user('side', 'm2', 'x', { isSidechain: true })), {
      [`p/${OTHER}/`]: '',
    })
    const before = await made.snapshot()
    await expect(
      forkSession({ projectDir: made.projectDir, sessionId: SID, ...options }),
    ).rejects.toMatchObject({ code })
    expect(await made.snapshot()).toEqual(before)
    await made.remove()
  })
})

test('a fork that fails at the last moment leaves nothing behind', async () => {
  const made = await project(jsonl(...straight(2)), { [`p/${SID}/tool-results/x.txt`]: 'long' })
  const before = await made.snapshot()
  setFaultHook((operation, path) =>
    operation === 'link' && path.endsWith('.jsonl')
      ? Object.assign(new Error('EIO'), { code: 'EIO' })
      : undefined,
  )
  await expect(forkSession({ projectDir: made.projectDir, sessionId: SID })).rejects.toMatchObject({
    code: 'DISK_IO',
  })
  setFaultHook(undefined)
  expect(await made.snapshot()).toEqual(before)
  await made.remove()
})

test('S21: forks of forks, at the first entry, in the middle and at the end, live on their own', async () => {
  const made = await project(
    jsonl(...straight(4), { type: 'custom-title', customTitle: 'Parent', sessionId: SID }),
  )
  const before = await readFile(made.file)
  const ids: string[] = []
  for (const upTo of ['m1', 'm2', 'm4']) {
    const { sessionId } = await forkSession({
      projectDir: made.projectDir,
      sessionId: SID,
      upTo,
      title: `to ${upTo}`,
    })
    ids.push(sessionId)
  }
  const [first = '', , last = ''] = ids
  const grandchild = await forkSession({ projectDir: made.projectDir, sessionId: last, upTo: 'm3' })
  expect(await sessionInfo(grandchild.path)).toMatchObject({ forkedFrom: last, summary: 'say m3' })
  for (const id of [...ids, grandchild.sessionId]) {
    const session = await openSession({ projectDir: made.projectDir, sessionId: id })
    await session.append({ type: 'user', message: { role: 'user', content: `on in ${id}` } })
    expect((await session.chain()).every(({ sessionId }) => sessionId === id)).toBe(true)
    await session.close()
    expect(await verifySession(made.path(`p/${id}.jsonl`))).toEqual([])
  }
  expect(await readFile(made.file)).toEqual(before)
  const list = await listSessions({ projectsDir: made.root })
  expect(list).toHaveLength(5)
  expect(
    Object.fromEntries(list.map(({ sessionId, summary, forkedFrom }) => [sessionId, [summary, forkedFrom]])),
  ).toMatchObject({
    [SID]: ['Parent', undefined],
    [first]: ['to m1', SID],
  })
  await rm(made.file)
  expect(await chain(made, first)).toHaveLength(2)
  await made.remove()
})

test('S20: a fork has each uuid once, whatever the source repeats', async () => {
  const fifty = straight(50)
  const made = await project(
    jsonl(...fifty, ...fifty.slice(0, 30).map((line) => ({ ...line, parentUuid: null }))),
  )
  const { sessionId } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  const uuids = (await lines(made, sessionId)).flatMap(({ uuid }) => (typeof uuid === 'string' ? [uuid] : []))
  expect(uuids).toEqual(fifty.map(({ uuid }) => uuid))
  await made.remove()
})

test('S30: a fork made elsewhere, whose first lines still say whose they were, is its own session', async () => {
  const parent = straight(2).map((line) => ({ ...line, sessionId: OTHER, cwd: '/w/parent' }))
  const made = await project(
    jsonl({ type: 'session-header', sessionId: OTHER, cwd: '/w/parent' }, ...parent, {
      ...user('m3', 'm2', 'mine'),
      cwd: '/w/own',
    }),
  )
  expect(await sessionInfo(made.file)).toMatchObject({ sessionId: SID, cwd: '/w/own', firstPrompt: 'say m1' })
  expect(await chain(made, SID)).toHaveLength(3)
  await made.remove()
})

// --- Whatever the tree, a fork's conversation is its source's up to there, byte for byte. ---

const drafts = fc.array(
  fc.record({
    type: fc.constantFrom('user', 'assistant', 'assistant', 'attachment'),
    back: fc.nat({ max: 4 }),
    id: fc.constantFrom('x', 'y', 'z', undefined),
    calls: fc.subarray(['t1', 't2', 't3']),
    results: fc.subarray(['t1', 't2', 't3']),
    damage: fc.constantFrom('none', 'none', 'none', 'lost', 'twice', 'nameless'),
    record: fc.constantFrom('none', 'none', 'tag', 'replace', 'rewind', 'segment', 'messages', 'compact'),
  }),
  { minLength: 1, maxLength: 16 },
)

/** A compaction after an entry: boundary and summary, with what of the entries before it is kept, said in either way. */
function compaction(index: number, ids: readonly string[], how: 'segment' | 'messages' | 'none'): Line[] {
  const [boundary, summary] = [`b${index}`, `s${index}`]
  const kept = ids.slice(-2)
  const metadata = {
    segment: { preservedSegment: { headUuid: kept[0], anchorUuid: summary, tailUuid: kept.at(-1) } },
    messages: { preservedMessages: { anchorUuid: summary, uuids: kept, allUuids: kept } },
    none: {},
  }
  return [
    entry('system', boundary, null, {
      subtype: 'compact_boundary',
      logicalParentUuid: ids.at(-1),
      compactMetadata: metadata[how],
    }),
    user(summary, boundary, `summary ${index}`, { isCompactSummary: true }),
  ]
}

test.each(['segment', 'messages'] as const)(
  'right after a compaction that keeps messages (%s) a fork goes on from there, not from what is kept',
  async (how) => {
    const old = straight(6)
    const made = await project(
      jsonl(
        ...old,
        ...compaction(
          1,
          old.map(({ uuid }) => String(uuid)),
          how,
        ),
      ),
    )
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    await inSession(made, fork.sessionId, async (session) => {
      expect(session.tip).toBe('s1')
      expect(await session.records('forked-from')).toMatchObject([{ upTo: 's1' }])
      expect(await session.conversation()).toEqual(await sent(made, SID))
    })
    await made.remove()
  },
)

test('a fork takes along what a compaction keeps from elsewhere', async () => {
  const [first, second] = compaction(1, ['m1', 'm2'], 'messages')
  const made = await project(jsonl(...straight(2), { ...first, logicalParentUuid: 'gone' }, second ?? {}))
  const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  expect(await chain(made, fork.sessionId)).toEqual(['b1', 's1', 'm1', 'm2'])
  await made.remove()
})

test('what follows a line of an unknown kind that is left out follows what that came from', async () => {
  const made = await project(
    jsonl(
      user('u1', null, 'go'),
      assistant('a1', 'u1', [call('t1')], { id: 'msg' }),
      assistant('a2', 'a1', [call('t2')], { id: 'msg' }),
      entry('progress', 'p', 'a2'),
      user('r1', 'p', [result('t1')]),
      rewind('a1'),
      user('u2', 'a1', 'stop'),
      entry('progress', 'p2', 'u2'),
    ),
  )
  expect(await chain(made, SID)).toEqual(['u1', 'a1', 'r1', 'u2'])
  const { sessionId, path } = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  expect(await verifySession(path)).toEqual([])
  expect(await chain(made, sessionId)).toEqual(['u1', 'a1', 'r1', 'u2'])
  const origin = await inSession(made, sessionId, (session) => session.records('forked-from'))
  expect(origin).toMatchObject([{ upTo: 'u2' }])
  await made.remove()
})

test(
  'a fork at any entry of any tree, damaged or not, sends the bytes of its source',
  async () => {
    await fc.assert(
      fc.asyncProperty(drafts, async (parts) => {
        const ids: string[] = []
        const all = parts.flatMap(({ type, back, id, calls, results, damage, record }, index): Line[] => {
          const parent = ids[ids.length - 1 - back] ?? null
          const content =
            type === 'assistant'
              ? [text(`a${index}`), ...calls.map((one) => call(one))]
              : [...results.map((one) => result(one, `r${index}`)), text(`u${index}`)]
          const own = entry(type, `m${index}`, parent, {
            message: { role: type, content, ...(id === undefined ? {} : { id }) },
          })
          const records: Record<string, Line[]> = {
            tag: [{ type: 'tag', tag: 'x', sessionId: SID }],
            replace: [
              {
                type: 'content-replacement',
                sessionId: SID,
                replacements: [{ kind: 'tool-result', toolUseId: 't1', replacement: `short ${index}` }],
              },
            ],
            rewind: [rewind(parent)],
          }
          ids.push(`m${index}`)
          const how = record === 'compact' ? 'none' : record
          if (how === 'segment' || how === 'messages' || how === 'none') {
            if (record !== 'none') {
              records[record] = compaction(index, ids, how)
              ids.push(`b${index}`, `s${index}`)
            }
          }
          const copies: Record<string, Line[]> = {
            lost: [],
            twice: [own, { ...own, parentUuid: null, extra: index % 2 }],
            nameless: [{ ...own, uuid: undefined }],
          }
          return [...(copies[damage] ?? [own]), ...(records[record] ?? [])]
        })
        const made = await project(jsonl(...all))
        try {
          const entries = await inSession(made, SID, (session) => session.chain())
          const named = await inSession(made, SID, (session) =>
            Promise.all(ids.map(async (uuid) => ((await session.entry(uuid)) ? [uuid] : []))),
          )
          for (const upTo of new Set([...entries.map(({ uuid }) => uuid), ...named.flat()])) {
            const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID, upTo })
            const [origin] = await inSession(made, fork.sessionId, (session) =>
              session.records('forked-from'),
            )
            const last = origin?.['upTo']
            expect(typeof last).toBe('string')
            expect(JSON.stringify(await sent(made, fork.sessionId))).toBe(
              JSON.stringify(await sent(made, SID, String(last))),
            )
            const kinds = (await verifySession(fork.path)).map(({ kind }) => kind)
            // A fork at a boundary is an unfinished compaction, and a boundary may keep what is of another branch.
            const fine = ['stray-result', 'missing-uuid', 'unfinished-compaction', 'missing-kept']
            expect(kinds.filter((kind) => !fine.includes(kind))).toEqual([])
            await rm(fork.path)
          }
        } finally {
          await made.remove()
        }
      }),
      { numRuns: often(100, 12) },
    )
  },
  LONG_ENOUGH,
)
