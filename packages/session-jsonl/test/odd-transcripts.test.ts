import { appendFile, symlink, writeFile } from 'node:fs/promises'
import { forkSession, listSessions, openSession, renameSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import {
  assistant,
  call,
  entry,
  jsonl,
  project,
  reading,
  result,
  SID,
  straight,
  text,
  user,
} from './lines.ts'
import type { Line } from './lines.ts'

afterEach(() => setFaultHook(undefined))

const uuids = async (session: Session): Promise<string> =>
  (await session.chain()).map(({ uuid }) => uuid).join(' ')
const boundary = (uuid: string, closed: string): Line =>
  entry('system', uuid, null, { subtype: 'compact_boundary', logicalParentUuid: closed })
const replacement: Line = {
  type: 'content-replacement',
  sessionId: SID,
  replacements: [{ kind: 'tool-result', toolUseId: 't1', replacement: 'SHORT' }],
}

test.each(['b', 's'])(
  'a boundary that names %s, itself or what follows it, as what it closed is read and forked',
  async (closed) => {
    const made = await project(
      jsonl(boundary('b', closed), user('s', 'b', 'sum', { isCompactSummary: true })),
    )
    const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
    for (const sessionId of [SID, fork.sessionId]) {
      const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
      expect(await uuids(session)).toBe('b s')
      await session.close()
    }
    await made.remove()
  },
)

test('a result that comes after a queued prompt is put back, by the call that it says it answers; in forks too', async () => {
  const late = [
    user('u', null, 'go'),
    assistant('a1', 'u', [call('t1')], { id: 'm' }),
    assistant('a2', 'a1', [call('t2')], { id: 'm' }),
    user('r1', 'a1', [result('t1')], { sourceToolAssistantUUID: 'a1' }),
    user('q', 'a2', 'a queued prompt'),
    user('r2', 'q', [result('t2')], { sourceToolAssistantUUID: 'a2' }),
    assistant('a3', 'r1', [text('done')], { id: 'm2' }),
  ]
  const made = await project(jsonl(...late))
  const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  for (const sessionId of [SID, fork.sessionId]) {
    const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
    expect(await uuids(session)).toBe('u a1 a2 r1 r2 a3')
    await session.close()
  }
  // What else is wrong with the file changes nothing.
  await reading(jsonl(user('x', 'gone', 'dead'), ...late), async (session) => {
    expect(await uuids(session)).toBe('u a1 a2 r1 r2 a3')
  })
  await made.remove()
})

test('a replacement counts where the entries are written again after it', async () => {
  const turn = (fields: Line = {}): Line[] => [
    user('u', null, 'hi', fields),
    assistant('a', 'u', [call('t1')], { id: 'm', ...fields }),
    user('r', 'a', [result('t1')], fields),
  ]
  const again = [
    ...turn(),
    replacement,
    ...turn({ version: '2' }),
    assistant('b', 'r', [text('ok')], { id: 'n' }),
  ]
  await reading(jsonl(...again), async (session) => {
    expect(JSON.stringify(await session.conversation())).toContain('SHORT')
  })
})

test('a replacement that stands before its call replaces nothing, in forks too', async () => {
  const lines = [
    user('u', null, 'hi'),
    replacement,
    assistant('a', 'u', [call('t1')], { id: 'm' }),
    user('r', 'a', [result('t1')]),
  ]
  const made = await project(jsonl(...lines))
  const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  for (const sessionId of [SID, fork.sessionId]) {
    const session = await openSession({ projectDir: made.projectDir, sessionId, mode: 'read' })
    expect(JSON.stringify(await session.conversation())).not.toContain('SHORT')
    await session.close()
  }
  await made.remove()
})

test('a rewind that is no JSON moves nothing', async () => {
  const lines = jsonl(user('u', null, 'hi'), assistant('a', 'u', [text('x')], { id: 'm' }))
  const torn = `{"type":"last-prompt","lastPrompt":"a\tb","leafUuid":"u","explicit":true,"sessionId":"${SID}"}\n`
  await reading(lines + torn, async (session) => {
    expect(session.tip).toBe('a')
  })
})

test('a uuid that another program took meanwhile is refused', async () => {
  const made = await project(jsonl(...straight(1)))
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  await appendFile(made.file, jsonl(user('x', 'm1', 'theirs')))
  const ours = session.append({ type: 'user', uuid: 'x', message: { role: 'user', content: 'ours' } })
  await expect(ours).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
  await session.close()
  await made.remove()
})

describe('links', () => {
  test('in the place of a transcript are not followed by who writes', async () => {
    const made = await project(jsonl(...straight(1)), { 'notes.txt': 'my notes\n' })
    await symlink(made.path('notes.txt'), made.path('p/22222222-2222-4333-8444-555555555555.jsonl'))
    const where = { projectDir: made.projectDir, sessionId: '22222222-2222-4333-8444-555555555555' }
    await expect(renameSession({ ...where, title: 't' })).rejects.toMatchObject({ code: 'DISK_IO' })
    await expect(openSession(where)).rejects.toMatchObject({ code: 'DISK_IO' })
    expect(await made.read('notes.txt')).toBe('my notes\n')
    await made.remove()
  })

  test('that go round hide no session', async () => {
    const made = await project(jsonl(...straight(1)))
    const loop = made.path('p/22222222-2222-4333-8444-555555555555.jsonl')
    await symlink(loop, loop)
    await symlink(made.path('round'), made.path('round'))
    expect((await listSessions({ projectsDir: made.root })).map(({ sessionId }) => sessionId)).toEqual([SID])
    await made.remove()
  })
})

test('after an append that failed, but whose line reached the file, the session is opened where it stood', async () => {
  const made = await project(jsonl(...straight(2)))
  const where = { projectDir: made.projectDir, sessionId: SID }
  const session = await openSession({ ...where, durability: 'fsync' })
  setFaultHook((operation) =>
    operation === 'fdatasync' ? Object.assign(new Error('EIO'), { code: 'EIO' }) : undefined,
  )
  const lost = session.append({ type: 'user', uuid: 'lost', message: { role: 'user', content: 'lost' } })
  await expect(lost).rejects.toMatchObject({ code: 'DISK_IO' })
  setFaultHook(undefined)
  expect(session.tip).toBe('m2')
  await session.close()
  const again = await openSession({ ...where, mode: 'read' })
  expect(again.tip).toBe('m2')
  expect((await again.tips()).map(({ uuid }) => uuid)).toEqual(['lost'])
  await again.close()
  await writeFile(made.file, '')
  await made.remove()
})
