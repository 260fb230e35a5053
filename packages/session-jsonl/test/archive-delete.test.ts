import { readdir, readFile, stat, symlink } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import {
  archiveSession,
  createSession,
  deleteSession,
  forkSession,
  listSessions,
  openSession,
  sessionInfo,
  unarchiveSession,
} from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonl, OTHER, project, SID, straight } from './lines.ts'

let made: Awaited<ReturnType<typeof project>>
beforeEach(async () => {
  made = await project(jsonl(...straight(2)), {
    [`p/${SID}/subagents/agent-a1.jsonl`]: 'sub',
    [`p/${SID}/tool-results/t.txt`]: 'result',
    [`p/${OTHER}.jsonl`]: jsonl(...straight(1)),
    'p/memory/MEMORY.md': 'memory',
  })
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const address = (): { projectDir: string; sessionId: string } => ({
  projectDir: made.projectDir,
  sessionId: SID,
})
const listed = async (archived: boolean): Promise<string[]> =>
  (await listSessions({ projectsDir: made.root, archived })).map(({ sessionId }) => sessionId).toSorted()

describe('an archived session', () => {
  const clock = (): Date => new Date('2026-11-30T10:00:00.000Z')
  const sayAt = (type: 'user' | 'assistant', timestamp: string, fields: object = {}) =>
    ({ type, timestamp, message: { role: type, content: 'on' }, ...fields }) as const

  test('that is gone on with comes back: a prompt after the mark counts, nothing else does', async () => {
    await archiveSession({ ...address(), clock })
    const isArchived = async (): Promise<boolean | undefined> => (await sessionInfo(made.file))?.archived
    const session = await openSession(address())
    await session.append(sayAt('assistant', '2026-11-30T10:00:01.000Z'))
    await session.append(sayAt('user', '2026-11-30T10:00:02.000Z', { isMeta: true }))
    await session.append(sayAt('user', '2026-11-30T09:59:59.000Z'))
    await session.record({ type: 'custom-title', customTitle: 'Still' })
    expect(await isArchived()).toBe(true)
    expect(await listed(false)).toEqual([OTHER])
    await session.append(sayAt('user', '2026-11-30T10:00:03.000Z'))
    expect(await isArchived()).toBe(false)
    // However much comes after it.
    await session.append(sayAt('assistant', '2026-11-30T10:00:04.000Z', { padding: 'x'.repeat(100_000) }))
    expect(await isArchived()).toBe(false)
    expect(await listed(false)).toEqual([SID, OTHER])
    await archiveSession({ ...address(), clock: () => new Date('2026-11-30T10:00:05.000Z') })
    expect(await isArchived()).toBe(true)
    await session.close()
  })

  test('is listed only where archived ones are asked for, and comes back', async () => {
    const before = await readFile(made.file)
    await archiveSession({ ...address(), clock })
    expect(await listed(false)).toEqual([OTHER])
    expect(await listed(true)).toEqual([SID, OTHER])
    expect(await readFile(made.path(`p/${SID}/archived.json`), 'utf8')).toBe(
      '{"archived":true,"at":"2026-11-30T10:00:00.000Z","by":"loci"}\n',
    )
    expect((await stat(made.path(`p/${SID}/archived.json`))).mode & 0o777).toBe(0o600)
    await unarchiveSession({ ...address(), clock })
    expect(await listed(false)).toEqual([SID, OTHER])
    expect(await readFile(made.file)).toEqual(before)
  })

  test('may have had no side files, or be open', async () => {
    const session = await openSession({ projectDir: made.projectDir, sessionId: OTHER })
    await archiveSession({ projectDir: made.projectDir, sessionId: OTHER })
    await session.append({ type: 'assistant', message: { role: 'assistant', content: 'still here' } })
    await session.close()
    expect(await listed(false)).toEqual([SID])
  })

  test('has a fork that is none', async () => {
    await archiveSession(address())
    const { sessionId } = await forkSession(address())
    expect(await listed(false)).toEqual([OTHER, sessionId].toSorted())
  })

  test.each([archiveSession, unarchiveSession])(
    'that is not there is refused, and nothing is made',
    async (act) => {
      const before = await made.snapshot()
      const nobody = { projectDir: made.projectDir, sessionId: '77777777-2222-4333-8444-555555555555' }
      await expect(act(nobody)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
      expect(await made.snapshot()).toEqual(before)
    },
  )
})

describe('a deleted session', () => {
  test('is gone with its side files, each is named, and everything else stays', async () => {
    const before = await made.snapshot()
    const removed = [`p/${SID}.jsonl`, `p/${SID}/subagents/agent-a1.jsonl`, `p/${SID}/tool-results/t.txt`]
    expect(await deleteSession(address())).toEqual({
      removed: removed.map((name) => made.path(name)).toSorted(),
    })
    const after = Object.entries(await made.snapshot()).filter(([name]) => !name.includes('.lock.'))
    expect(after).toEqual(Object.entries(before).filter(([name]) => !removed.includes(name)))
    await expect(deleteSession(address())).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })

  test('leaves its id free', async () => {
    await deleteSession(address())
    const session = await createSession(address())
    await session.append({ type: 'user', message: { role: 'user', content: 'new' } })
    expect(await session.chain()).toHaveLength(1)
    await session.close()
  })

  test('is none that is open: it is refused, with nothing removed', async () => {
    const session = await openSession(address())
    const before = await made.snapshot()
    await expect(deleteSession(address())).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    expect(await made.snapshot()).toEqual(before)
    await session.append({ type: 'user', message: { role: 'user', content: 'still here' } })
    await session.close()
  })

  test('takes links along, not what they lead to', async () => {
    await symlink(made.path('p/memory'), made.path(`p/${SID}/scratchpad`))
    expect((await deleteSession(address())).removed).toContain(made.path(`p/${SID}/scratchpad`))
    expect(await made.read('p/memory/MEMORY.md')).toBe('memory')
  })

  test.each(['memory', 'nowhere'])(
    'takes along a link that stands where its folder would (to %s)',
    async (to) => {
      await symlink(made.path(`p/${to}`), made.path(`p/${OTHER}`))
      const { removed } = await deleteSession({ projectDir: made.projectDir, sessionId: OTHER })
      expect(removed).toEqual([made.path(`p/${OTHER}`), made.path(`p/${OTHER}.jsonl`)])
      expect(await readdir(made.path('p/memory'))).toEqual(['MEMORY.md'])
      expect(await readdir(made.projectDir)).not.toContain(OTHER)
    },
  )

  test('that a failing disk left half is still listed, and goes at the next try', async () => {
    setFaultHook((operation, path) =>
      operation === 'unlink' && path === made.file ? Object.assign(new Error(), { code: 'EIO' }) : undefined,
    )
    await expect(deleteSession(address())).rejects.toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    expect(await listed(false)).toEqual([SID, OTHER])
    expect(await deleteSession(address())).toEqual({ removed: [made.file] })
    expect(await listed(false)).toEqual([OTHER])
  })

  test.each(['../x', 'memory', ''])('is none with the id %j', async (sessionId) => {
    await expect(deleteSession({ projectDir: made.projectDir, sessionId })).rejects.toMatchObject({
      code: 'ENTRY_INVALID',
    })
    expect(await made.read('p/memory/MEMORY.md')).toBe('memory')
  })
})
