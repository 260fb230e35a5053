import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import {
  createSession,
  forkSession,
  listSessions,
  openSession,
  readTranscript,
  sessionInfo,
  verifySession,
} from '@loci/session-jsonl'
import type { Session, SessionOptions } from '@loci/session-jsonl'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { appendForeign, assistant, jsonl, OTHER, project, SID, straight, text, user } from './lines.ts'
import type { Line } from './lines.ts'

const say = (content: string): Line & { type: 'user' } => ({
  type: 'user',
  message: { role: 'user', content },
})

function numbered(): Pick<SessionOptions, 'clock' | 'createId'> {
  let ids = 0
  return { createId: () => `id-${(ids += 1)}`, clock: () => new Date(Date.UTC(2026, 4, 1, 12, 0, ids)) }
}

afterEach(() => setFaultHook(undefined))

describe('a new session', () => {
  test('is nowhere before the first append; then folder and file have the modes they should', async () => {
    const made = await project(undefined)
    const projectDir = made.path('projects/-home-user')
    const session = await createSession({ projectDir, sessionId: SID })
    expect(session.tip).toBeNull()
    expect(await session.chain()).toEqual([])
    expect(await session.conversation()).toEqual([])
    expect(await session.tips()).toEqual([])
    expect(await session.damage()).toEqual([])
    await session.moveTip(null)
    await expect(stat(made.path('projects'))).rejects.toThrow('ENOENT')
    await session.append(say('hi'))
    expect((await stat(projectDir)).mode & 0o777).toBe(0o755)
    expect((await stat(session.path)).mode & 0o777).toBe(0o600)
    await session.close()
    await made.remove()
  })

  test('closed before the first append it leaves nothing', async () => {
    const made = await project(undefined)
    const before = await made.snapshot()
    const session = await createSession({ projectDir: made.projectDir })
    await session.close()
    expect(await made.snapshot()).toEqual(before)
    await made.remove()
  })

  test('an id that is taken is SESSION_EXISTS, also when it was taken since', async () => {
    const made = await project(jsonl(...straight(1)))
    const options = { projectDir: made.projectDir, sessionId: SID }
    await expect(createSession(options)).rejects.toMatchObject({
      code: 'SESSION_EXISTS',
      details: { path: made.file },
    })
    const late = await createSession({ ...options, sessionId: OTHER })
    await writeFile(made.path(`p/${OTHER}.jsonl`), '')
    await expect(late.append(say('hi'))).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    expect(late.tip).toBeNull()
    await rm(made.path(`p/${OTHER}.jsonl`))
    await late.append(say('hi'))
    await late.close()
    await made.remove()
  })

  test.each(['../x', 'a/b', '..', '.', '', '.hidden', 'a\0b', 'a\\b', 'x'.repeat(300), 'a..b', 'a '])(
    'the id %j cannot leave the folder',
    async (sessionId) => {
      const options = { projectDir: '/tmp/nowhere', sessionId }
      await expect(createSession(options)).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
      await expect(openSession(options)).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    },
  )

  test('wrong types are a TypeError', async () => {
    const bad: unknown[] = [
      { projectDir: 7, sessionId: SID },
      { projectDir: '/tmp', sessionId: 7 },
      { projectDir: '/tmp', sessionId: SID, durability: 'maybe' },
      { projectDir: '/tmp', sessionId: SID, mode: 'append' },
    ]
    for (const options of bad) {
      await expect(openSession(options as Parameters<typeof openSession>[0])).rejects.toBeInstanceOf(
        TypeError,
      )
    }
  })
})

describe('the lines it writes', () => {
  test('carry what the format has, in its order, and keep the fields of the draft', async () => {
    const made = await project(undefined)
    const session = await createSession({
      projectDir: made.projectDir,
      sessionId: SID,
      cwd: '/w',
      version: '9.9',
      gitBranch: 'main',
      ...numbered(),
    })
    const first = await session.append({ ...say('hi'), promptId: 'p', skipped: undefined })
    const second = await session.append({
      type: 'system',
      subtype: 'note',
      cwd: '/w/sub',
      uuid: 'own',
      timestamp: '2026-01-01T00:00:00.000Z',
    })
    const bytes = await readFile(session.path, 'utf8')
    expect(bytes).toBe(
      [
        `{"type":"user","uuid":"id-1","parentUuid":null,"sessionId":"${SID}","timestamp":"2026-05-01T12:00:01.000Z","cwd":"/w","version":"9.9","gitBranch":"main","userType":"external","isSidechain":false,"message":{"role":"user","content":"hi"},"promptId":"p"}\n`,
        `{"type":"system","uuid":"own","parentUuid":"id-1","sessionId":"${SID}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w/sub","version":"9.9","gitBranch":"main","userType":"external","isSidechain":false,"subtype":"note"}\n`,
      ].join(''),
    )
    expect([first, second].map((entry) => `${JSON.stringify(entry)}\n`).join('')).toBe(bytes)
    await session.close()
    await made.remove()
  })

  test('are as the draft was at the call, whatever becomes of it later', async () => {
    const made = await project(undefined)
    const session = await createSession({ projectDir: made.projectDir })
    const draft = say('before')
    const appended = session.append(draft)
    draft['message'] = { role: 'user', content: 'after' }
    const entry = await appended
    entry['message'] = 'changed'
    expect(await session.conversation()).toEqual([{ role: 'user', content: 'before' }])
    await session.close()
    await made.remove()
  })

  test('records are keyed by session where the format has it, and are never chain lines', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.record({ type: 'custom-title', customTitle: 'T' })
    await session.record({ type: 'tag', sessionId: SID, tag: 'x' })
    await session.record({
      type: 'file-history-snapshot',
      messageId: 'm1',
      snapshot: {},
      isSnapshotUpdate: false,
    })
    expect(session.tip).toBe('m2')
    expect((await readFile(made.file, 'utf8')).split('\n').slice(2)).toEqual([
      `{"type":"custom-title","customTitle":"T","sessionId":"${SID}"}`,
      `{"type":"tag","sessionId":"${SID}","tag":"x"}`,
      '{"type":"file-history-snapshot","messageId":"m1","snapshot":{},"isSnapshotUpdate":false}',
      '',
    ])
    expect(await session.records('tag')).toEqual([{ type: 'tag', sessionId: SID, tag: 'x' }])
    expect(await session.records('user')).toEqual([])
    expect(await session.records('nothing')).toEqual([])
    await session.close()
    await made.remove()
  })
})

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = { a: value }
  return value
}

describe('what is refused', () => {
  const with2 = async (act: (session: Session) => Promise<void>): Promise<void> => {
    const made = await project(jsonl(...straight(2), user('side', 'm2', 'x', { isSidechain: true })))
    const before = await readFile(made.file)
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await act(session)
    expect(session.tip).toBe('m2')
    expect(await readFile(made.file)).toEqual(before)
    await session.close()
    await made.remove()
  }
  const append = (session: Session, draft: unknown): Promise<unknown> =>
    session.append(draft as Parameters<Session['append']>[0])
  const record = (session: Session, draft: unknown): Promise<unknown> =>
    session.record(draft as Parameters<Session['record']>[0])

  test.each([
    ['a kind that is no line of a conversation', { type: 'custom-title' }],
    ['a line of another session', { type: 'user', sessionId: OTHER }],
    ['a uuid that is there', { type: 'user', uuid: 'm1' }],
    ['a timestamp that is none', { type: 'user', timestamp: 'now' }],
    ['a timestamp that is a year', { type: 'user', timestamp: '1' }],
    ['a timestamp without a zone', { type: 'user', timestamp: '2026-01-01T00:00:00' }],
    ['a subagent line', { type: 'user', isSidechain: true }],
    ['a draft that makes itself something else', { type: 'user', toJSON: () => ({}) }],
    ['a draft that makes itself nothing', { type: 'user', toJSON: () => undefined }],
    [
      'a draft that makes itself another entry',
      { type: 'user', uuid: 'n', toJSON: () => ({ type: 'user', uuid: 'm1' }) },
    ],
    ['a draft deeper than JSON can be written', { type: 'user', x: deep(50_000) }],
    ['a message that is text', { type: 'user', message: 'hi' }],
    ['a message that is nothing', { type: 'user', message: null }],
    [
      'a message too deep to be sent',
      { type: 'user', message: { role: 'user', content: [{ type: 'x', x: deep(1_000) }] } },
    ],
    ['a message of the other role', { type: 'user', message: { role: 'assistant', content: 'x' } }],
    ['a message without content', { type: 'user', message: { role: 'user' } }],
    ['a message whose content is one block', { type: 'user', message: { role: 'user', content: text('x') } }],
    [
      'a message with a bare text as block',
      { type: 'assistant', message: { role: 'assistant', content: ['x'] } },
    ],
    [
      'a message with a block without type',
      { type: 'assistant', message: { role: 'assistant', content: [{}] } },
    ],
  ])('append: %s is ENTRY_INVALID', async (_name, draft) => {
    await with2(async (session) => {
      await expect(append(session, draft)).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    })
  })
  test.each(['nope', 'side'])('append: the parent %s is ENTRY_NOT_FOUND', async (parentUuid) => {
    await with2(async (session) => {
      await expect(append(session, { type: 'user', parentUuid })).rejects.toMatchObject({
        code: 'ENTRY_NOT_FOUND',
        details: { uuid: parentUuid },
      })
    })
  })
  test.each([
    null,
    7,
    'user',
    [],
    { type: 7 },
    {},
    { type: 'user', parentUuid: 7 },
    { type: 'user', uuid: '' },
  ])('append: %j is a TypeError', async (draft) => {
    await with2(async (session) => {
      await expect(append(session, draft)).rejects.toBeInstanceOf(TypeError)
    })
  })
  test('append: what JSON cannot hold is a TypeError', async () => {
    await with2(async (session) => {
      await expect(append(session, { type: 'user', n: 1n })).rejects.toBeInstanceOf(TypeError)
    })
  })
  test.each([
    ['a line of the conversation', { type: 'user' }],
    ['a line of another session', { type: 'tag', sessionId: OTHER }],
    ['a type that is empty', { type: '' }],
    ['a uuid of an entry', { type: 'x', uuid: 'm1', parentUuid: null }],
    ['a draft that makes itself something else', { type: 'x', toJSON: () => ({}) }],
    ['a record that moves the tip', { type: 'last-prompt', explicit: true, leafUuid: 'm1' }],
  ])('record: %s is ENTRY_INVALID', async (_name, draft) => {
    await with2(async (session) => {
      await expect(record(session, draft)).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
    })
  })
  test('append: the uuid of a record that was appended here is ENTRY_INVALID', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.record({ type: 'x', uuid: 'r', parentUuid: null })
    for (const again of [
      append(session, { type: 'user', uuid: 'r' }),
      record(session, { type: 'y', uuid: 'r' }),
    ])
      await expect(again).rejects.toMatchObject({ code: 'ENTRY_INVALID', details: { uuid: 'r' } })
    expect(session.tip).toBe('m2')
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })
  test('a line with a message without text, or without a message, is taken', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await append(session, { type: 'assistant' })
    await append(session, { type: 'user', message: undefined, timestamp: '2026-01-01T00:00:00+02:00' })
    await append(session, { type: 'user', message: { role: 'user', content: [] } })
    expect(await session.chain()).toHaveLength(5)
    await session.close()
    await made.remove()
  })
  test('record: no object is a TypeError', async () => {
    await with2(async (session) => {
      for (const draft of [null, 7, [], { type: 7 }])
        await expect(record(session, draft)).rejects.toBeInstanceOf(TypeError)
    })
  })
  test('moveTip: what is no entry of the conversation is ENTRY_NOT_FOUND', async () => {
    await with2(async (session) => {
      for (const uuid of ['nope', 'side', ''])
        await expect(session.moveTip(uuid)).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
      await expect(session.moveTip(undefined as unknown as null)).rejects.toBeInstanceOf(TypeError)
    })
  })
  test('a session that is closed, or open read-only, says so', async () => {
    const made = await project(jsonl(...straight(2)))
    const reader = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    await expect(reader.append(say('x'))).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    await expect(reader.record({ type: 'tag' })).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    await expect(reader.moveTip('m1')).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
    await reader.close()
    await reader.close()
    await expect(reader.chain()).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    await made.remove()
  })
  test('a session that is not there is SESSION_NOT_FOUND and leaves no trace', async () => {
    const made = await project(undefined)
    const before = await made.snapshot()
    for (const mode of ['read', 'write'] as const) {
      await expect(openSession({ projectDir: made.projectDir, sessionId: SID, mode })).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      })
      await expect(openSession({ projectDir: made.path('no'), sessionId: SID, mode })).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      })
    }
    expect(await made.snapshot()).toEqual(before)
    await made.remove()
  })
})

describe('the tip', () => {
  test('follows appends, moves to exactly an entry, and is there when the session is opened again', async () => {
    const made = await project(jsonl(...straight(4)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect(session.tip).toBe('m4')
    await session.moveTip('m2')
    expect(session.tip).toBe('m2')
    expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2'])
    expect((await readFile(made.file, 'utf8')).trim().split('\n').at(-1)).toBe(
      `{"type":"last-prompt","lastPrompt":"say m1","leafUuid":"m2","explicit":true,"sessionId":"${SID}"}`,
    )
    await session.close()

    const again = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect(again.tip).toBe('m2')
    const branch = await again.append(say('other'))
    expect(branch.parentUuid).toBe('m2')
    expect((await again.tips()).map(({ uuid }) => uuid)).toEqual([branch.uuid, 'm4'])
    await again.moveTip(null)
    expect(again.tip).toBeNull()
    expect(await again.conversation()).toEqual([])
    await again.close()

    const third = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect(third.tip).toBeNull()
    const root = await third.append(say('anew'))
    expect(root.parentUuid).toBeNull()
    await third.close()
    expect(await verifySession(made.file)).toEqual([])
    await made.remove()
  })

  test('an append elsewhere says first, in the same write, where it goes on from', async () => {
    const made = await project(jsonl(...straight(4)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    const writes: string[] = []
    setFaultHook((operation) => {
      if (operation === 'write') writes.push(operation)
      return undefined
    })
    await session.append({ ...say('other'), uuid: 'x3', parentUuid: 'm2' })
    await session.append({ ...say('root'), uuid: 'y1', parentUuid: null })
    await session.append({ ...say('on'), uuid: 'y2', parentUuid: 'y1' })
    expect(writes).toHaveLength(3)
    const added = (await readFile(made.file, 'utf8')).trim().split('\n').slice(4)
    expect(added.map((line): unknown => JSON.parse(line))).toMatchObject([
      { type: 'last-prompt', lastPrompt: 'say m1', leafUuid: 'm2', explicit: true },
      { uuid: 'x3', parentUuid: 'm2' },
      { type: 'last-prompt', lastPrompt: '', leafUuid: null, explicit: true },
      { uuid: 'y1', parentUuid: null },
      { uuid: 'y2', parentUuid: 'y1' },
    ])
    await session.close()
    await made.remove()
  })

  test('record never moves it, not even a last-prompt record that the rule of the tip would follow', async () => {
    const made = await project(jsonl(...straight(4)))
    let session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    const reopened = async (): Promise<string | null> => {
      await session.close()
      session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      return session.tip
    }
    // What ends a turn: one plain line and no more.
    await session.record({ type: 'last-prompt', lastPrompt: 'say m3', leafUuid: 'm4' })
    expect((await readFile(made.file, 'utf8')).trim().split('\n')).toHaveLength(5)
    expect(await reopened()).toBe('m4')
    // After a rewind the plain line would be taken for a return to the end.
    await session.moveTip('m2')
    await session.record({ type: 'last-prompt', lastPrompt: 'say m1', leafUuid: 'm2' })
    expect(await reopened()).toBe('m2')
    const { uuid } = await session.append(say('other'))
    await session.record({ type: 'last-prompt', lastPrompt: 'x', leafUuid: 'm4' })
    await session.record({ type: 'mode', mode: 'normal' })
    expect(session.tip).toBe(uuid)
    expect(await reopened()).toBe(uuid)
    await session.close()
    await made.remove()
  })
})

describe('order', () => {
  test('calls keep it, awaited or not, and reading sees all appends made before', async () => {
    const made = await project(undefined)
    const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
    const appends = Array.from({ length: 20 }, (_, index) =>
      session.append({ ...say(`${index}`), uuid: `u${index}` }),
    )
    const recorded = session.record({ type: 'note', n: 1 })
    const chain = await session.chain()
    expect(chain.map(({ uuid, parentUuid }) => [uuid, parentUuid])).toEqual(
      appends.map((_, index) => [`u${index}`, index === 0 ? null : `u${index - 1}`]),
    )
    await recorded
    const closing = session.close()
    await expect(session.append(say('late'))).rejects.toMatchObject({ code: 'SESSION_CLOSED' })
    await closing
    await made.remove()
  })

  test('S22: one process, two sessions: every line is in the file of its own', async () => {
    const made = await project(undefined)
    const a = await createSession({ projectDir: made.projectDir, sessionId: SID })
    const b = await createSession({ projectDir: made.projectDir, sessionId: OTHER })
    const queued: Promise<unknown>[] = [a.append(say('a')), a.append(say('a'))]
    for (let n = 0; n < 20; n += 1) queued.push(a.append(say('a')))
    queued.push(b.append(say('b')), b.append(say('b')), a.append(say('a')))
    await Promise.all([a.close(), b.close(), ...queued])
    for (const [id, said, lines] of [
      [SID, 'a', 23],
      [OTHER, 'b', 2],
    ] as const) {
      const session = await openSession({ projectDir: made.projectDir, sessionId: id, mode: 'read' })
      const chain = await session.chain()
      expect(chain).toHaveLength(lines)
      expect(
        chain.every(
          ({ sessionId, message }) => sessionId === id && JSON.stringify(message).includes(`"${said}"`),
        ),
      ).toBe(true)
      expect(await session.damage()).toEqual([])
      await session.close()
    }
    await made.remove()
  })
})

describe('S26: an append that fails', () => {
  test.each(['ENOSPC', 'EIO'])(
    'with %s: a clear error, the tip stays, and the same session goes on',
    async (code) => {
      const made = await project(jsonl(...straight(2)))
      const before = await readFile(made.file)
      const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
      let writes = 0
      setFaultHook((operation) => {
        if (operation !== 'write') return undefined
        writes += 1
        return writes === 1 ? { shortWriteBytes: 10 } : Object.assign(new Error(code), { code })
      })
      await expect(session.append({ ...say('lost'), parentUuid: 'm1' })).rejects.toMatchObject({
        code: code === 'ENOSPC' ? 'DISK_FULL' : 'DISK_IO',
      })
      expect(session.tip).toBe('m2')
      setFaultHook(undefined)
      const stub = (await readFile(made.file)).subarray(before.length)
      expect(stub).toHaveLength(10)
      const next = await session.append(say('on'))
      expect(next.parentUuid).toBe('m2')
      expect(await session.chain()).toHaveLength(3)
      expect(await session.damage()).toMatchObject([{ kind: 'torn-line', line: 3, offset: before.length }])
      expect((await readFile(made.file)).subarray(0, before.length + 10)).toEqual(
        Buffer.concat([before, stub]),
      )
      await session.close()
      await made.remove()
    },
  )

  test('flushing failed: the line stays, unacknowledged, beside the tip, and is nobody else’s', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID, durability: 'fsync' })
    setFaultHook((operation) =>
      operation === 'fdatasync' ? Object.assign(new Error('EIO'), { code: 'EIO' }) : undefined,
    )
    await expect(session.append({ ...say('lost'), uuid: 'x3' })).rejects.toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    expect(session.tip).toBe('m2')
    const { parentUuid } = await session.append({ ...say('on'), uuid: 'x4' })
    expect(parentUuid).toBe('m2')
    expect((await session.tips()).map(({ uuid }) => uuid)).toEqual(['x4', 'x3'])
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })

  test('rejects what was to be written with it, and keeps nothing that is called later from being written', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    let writes = 0
    setFaultHook((operation) => {
      if (operation !== 'write') return undefined
      writes += 1
      return writes === 1 ? Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }) : undefined
    })
    const [first, second] = await Promise.allSettled([session.append(say('lost')), session.append(say('on'))])
    expect([first.status, second.status]).toEqual(['rejected', 'rejected'])
    expect(session.tip).toBe('m2')
    expect(await session.append(say('later'))).toMatchObject({ parentUuid: 'm2' })
    await session.close()
    await made.remove()
  })

  test('never takes back what another program appended meanwhile', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    let writes = 0
    const foreign = jsonl({ type: 'custom-title', customTitle: 'mine', sessionId: SID })
    setFaultHook((operation) => {
      if (operation !== 'write') return undefined
      writes += 1
      if (writes === 1) return { shortWriteBytes: 10 }
      appendFileSync(made.file, `\n${foreign}`)
      return Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })
    })
    await expect(session.append(say('lost'))).rejects.toMatchObject({ code: 'DISK_FULL' })
    setFaultHook(undefined)
    expect((await readFile(made.file, 'utf8')).endsWith(foreign)).toBe(true)
    await session.append(say('on'))
    expect(await session.records('custom-title')).toHaveLength(1)
    expect(await session.chain()).toHaveLength(3)
    await session.close()
    await made.remove()
  })
})

test('fsync: every append, record and move is flushed before it resolves; os: none', async () => {
  const made = await project(undefined)
  const flushed: string[] = []
  for (const durability of ['os', 'fsync'] as const) {
    setFaultHook((operation, path) => {
      if (operation === 'fdatasync') flushed.push(path)
      return undefined
    })
    const session = await createSession({ projectDir: made.projectDir, durability })
    await session.append({ ...say('x'), uuid: 'u1' })
    await session.record({ type: 'tag' })
    await session.moveTip('u1')
    await session.close()
    setFaultHook(undefined)
    expect(flushed).toEqual(
      durability === 'os' ? [] : [made.projectDir, session.path, session.path, session.path],
    )
  }
  await made.remove()
})

describe('titles', () => {
  const long = say('x'.repeat(5_000))
  const titles = async (session: Session): Promise<unknown[]> =>
    (await session.records('custom-title')).map(({ customTitle }) => customTitle)

  test('are said again after every 32 KiB of growth, so that a list shows them', async () => {
    const made = await project(undefined)
    const session = await createSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('p'.repeat(70_000)))
    expect(await titles(session)).toEqual([])
    await session.record({ type: 'custom-title', customTitle: 'Mine' })
    for (let count = 0; count < 40; count += 1) await session.append(long)
    expect((await titles(session)).length).toBe(6)
    expect((await sessionInfo(made.file))?.customTitle).toBe('Mine')
    expect(await session.chain()).toHaveLength(41)
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })

  test('the one that counts is the last in the file, whoever gave it; a title taken back is not', async () => {
    const title = (customTitle: string): Line => ({ type: 'custom-title', customTitle, sessionId: SID })
    const made = await project(jsonl(title('First'), user('m1', null, 'x'.repeat(40_000))))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append(say('on'))
    expect(await titles(session)).toEqual(['First', 'First'])
    await appendForeign(made.file, title('Second'))
    for (let count = 0; count < 8; count += 1) await session.append(long)
    expect(await titles(session)).toEqual(['First', 'First', 'Second', 'Second'])
    await appendForeign(made.file, title(''))
    for (let count = 0; count < 20; count += 1) await session.append(long)
    expect(await titles(session)).toEqual(['First', 'First', 'Second', 'Second', ''])
    await session.close()
    await made.remove()
  })
})

describe('a file that others write to', () => {
  test('read-only: every call sees what was appended since, and the tip moves along', async () => {
    const made = await project(jsonl(...straight(2)))
    const reader = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    const writer = await openSession({ projectDir: made.projectDir, sessionId: SID })
    const { uuid } = await writer.append(say('on'))
    expect(await reader.chain()).toHaveLength(3)
    expect(reader.tip).toBe(uuid)
    await writer.moveTip('m1')
    expect(await reader.tips()).toMatchObject([{ uuid, current: false }])
    expect(reader.tip).toBe('m1')
    await writer.close()
    await reader.close()
    await made.remove()
  })

  test('read-only: an unfinished line is read again when it is finished or taken back', async () => {
    const [m1 = {}, m2 = {}] = straight(2)
    const second = JSON.stringify(m2)
    const made = await project(jsonl(m1) + second.slice(0, 30))
    const reader = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
    expect(await reader.chain()).toHaveLength(1)
    expect(await reader.damage()).toMatchObject([{ kind: 'torn-line', line: 2 }])
    await writeFile(made.file, jsonl(m1) + second.slice(0, 40))
    expect(await reader.chain()).toHaveLength(1)
    await writeFile(made.file, jsonl(m1, m2))
    expect(await reader.chain()).toHaveLength(2)
    expect(await reader.damage()).toEqual([])
    await writeFile(made.file, jsonl(m1))
    expect(await reader.chain()).toHaveLength(1)
    await reader.close()
    await made.remove()
  })

  test('S04: a writer goes on from its own tip; both ends are tips, said once; reopened, the last line counts', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await session.append({ ...say('mine'), uuid: 'x3' })
    await appendForeign(made.file, user('y3', 'm2', 'theirs'), assistant('y4', 'y3', [text('theirs')]))
    const { parentUuid } = await session.append({ ...say('mine too'), uuid: 'x4' })
    expect(parentUuid).toBe('x3')
    await appendForeign(made.file, user('y5', 'y4', 'theirs'))
    expect(session.tip).toBe('x4')
    expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'x3', 'x4'])
    expect((await session.tips()).map(({ uuid, current }) => [uuid, current])).toEqual([
      ['y5', false],
      ['x4', true],
    ])
    expect(await session.damage()).toMatchObject([{ kind: 'foreign-writer', line: 4 }])
    expect(await session.damage()).toHaveLength(1)
    await session.close()
    const again = await openSession({ projectDir: made.projectDir, sessionId: SID })
    expect(again.tip).toBe('y5')
    expect(await again.tips()).toHaveLength(2)
    expect(await again.damage()).toEqual([])
    await again.close()
    await made.remove()
  })

  test('an entry that another program appended can be gone on from', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await appendForeign(made.file, user('y3', 'm2', 'theirs'))
    await session.append({ ...say('on'), uuid: 'x4', parentUuid: 'y3' })
    expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'y3', 'x4'])
    await session.close()
    await made.remove()
  })

  test('titles and tags that others append are nothing to report', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await appendForeign(made.file, { type: 'custom-title', customTitle: 'x', sessionId: SID })
    expect(await session.damage()).toEqual([])
    await session.close()
    await made.remove()
  })

  test('a session whose file was replaced while open says so and takes no more lines', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await writeFile(`${made.file}.new`, jsonl(...straight(1)))
    await rename(`${made.file}.new`, made.file)
    await expect(session.append(say('lost'))).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      message: expect.stringContaining('was replaced by another while the session was open'),
    })
    await session.close()
    await made.remove()
  })

  test('a session that was deleted while open takes no more lines', async () => {
    const made = await project(jsonl(...straight(2)))
    const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
    await rm(made.file)
    await expect(session.append(say('lost'))).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await session.close()
    await made.remove()
  })
})

describe('the lease', () => {
  test('S04: a second writer is told who has it and what to do; readers and a later writer are not kept out', async () => {
    const made = await project(jsonl(...straight(2)))
    const options = { projectDir: made.projectDir, sessionId: SID }
    const session = await openSession(options)
    const refused = await openSession(options).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'SESSION_LOCKED',
      details: { pid: process.pid, decidable: true, sessionId: SID },
    })
    expect(String(refused)).toMatch(
      /is open in process \d+ on \S+ since \S+; close it there, fork it, or open it read-only$/,
    )
    await (await openSession({ ...options, mode: 'read' })).close()
    await session.close()
    await (await openSession(options)).close()
    await made.remove()
  })

  test('an opening that fails gives it back', async () => {
    const made = await project(jsonl(...straight(2)))
    const options = { projectDir: made.projectDir, sessionId: SID }
    setFaultHook((operation, path) =>
      operation === 'read' && path === made.file
        ? Object.assign(new Error('EIO'), { code: 'EIO' })
        : undefined,
    )
    await expect(openSession(options)).rejects.toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    await (await openSession(options)).close()
    await made.remove()
  })
})

test('a transcript without permission is DISK_IO, not absent', async () => {
  const made = await project(jsonl(...straight(2)))
  setFaultHook((_operation, path) =>
    path === made.file ? Object.assign(new Error('EACCES'), { code: 'EACCES' }) : undefined,
  )
  for (const mode of ['read', 'write'] as const) {
    await expect(openSession({ projectDir: made.projectDir, sessionId: SID, mode })).rejects.toMatchObject({
      code: 'DISK_IO',
    })
  }
  await expect(createSession({ projectDir: made.projectDir, sessionId: SID })).rejects.toMatchObject({
    code: 'DISK_IO',
  })
  await made.remove()
})

test('what is no file is named and never waited for', async () => {
  const made = await project(undefined)
  execFileSync('mkfifo', [made.file])
  const options = { projectDir: made.projectDir, sessionId: SID }
  const asked: (() => Promise<unknown>)[] = [
    () => openSession(options),
    () => openSession({ ...options, mode: 'read' }),
    () => forkSession({ ...options, newSessionId: OTHER }),
    () => verifySession(made.file),
    () => sessionInfo(made.file),
  ]
  for (const ask of asked)
    await expect(ask()).rejects.toMatchObject({
      code: 'DISK_IO',
      message: expect.stringContaining('is a FIFO'),
    })
  expect(await listSessions({ projectsDir: made.root })).toEqual([])
  await made.remove()
})

test('a mark of an archived session that is no file is damage and never waited for', async () => {
  const made = await project(jsonl(...straight(2)), { [`p/${SID}/`]: '' })
  execFileSync('mkfifo', [made.path(`p/${SID}/archived.json`)])
  expect(await verifySession(made.file)).toMatchObject([{ kind: 'archive-mark' }])
  await made.remove()
})

test.each(['memory', 'Memory', 'a.jsonl'])('the session id %s is refused', async (sessionId) => {
  const made = await project(undefined)
  await expect(createSession({ projectDir: made.projectDir, sessionId })).rejects.toMatchObject({
    code: 'ENTRY_INVALID',
  })
  await made.remove()
})

test('a path or an entry that is no string is a TypeError', async () => {
  const made = await project(jsonl(...straight(2)))
  const seven: unknown = 7
  const no = seven as string
  const read = async (): Promise<void> => {
    for await (const item of readTranscript(no)) expect(item).toBeUndefined()
  }
  const options = { projectDir: made.projectDir, sessionId: SID, upTo: no }
  for (const asked of [verifySession(no), sessionInfo(no), read(), forkSession(options)])
    await expect(asked).rejects.toBeInstanceOf(TypeError)
  await made.remove()
})

test('a transcript that is a directory is an error, not an empty session', async () => {
  const made = await project(undefined, { [`p/${SID}.jsonl/`]: '' })
  await expect(
    openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' }),
  ).rejects.toMatchObject({ code: 'DISK_IO' })
  await made.remove()
})
