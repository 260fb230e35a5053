import { forkSession, listSessions, openSession, verifySession } from '@loci/session-jsonl'
import { expect, test } from 'vitest'
import { jsonl, project, SID, straight } from './lines.ts'

test('S07: a straight chain of 100,000 entries is forked, verified and listed', async () => {
  const made = await project(jsonl(...straight(100_000)))
  const fork = await forkSession({ projectDir: made.projectDir, sessionId: SID })
  expect(await verifySession(fork.path)).toEqual([])
  const session = await openSession({ projectDir: made.projectDir, sessionId: fork.sessionId, mode: 'read' })
  expect(await session.chain()).toHaveLength(100_000)
  expect(await session.conversation()).toHaveLength(100_000)
  await session.close()
  expect(await listSessions({ projectsDir: made.root })).toHaveLength(2)
  await made.remove()
}, 120_000)

test('a line that its own reader would refuse is not written', async () => {
  const before = jsonl(...straight(2))
  const made = await project(before)
  const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
  const large = 'x'.repeat(256 * 1024 * 1024)
  await expect(session.append({ type: 'user', large })).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
  await expect(session.record({ type: 'note', large })).rejects.toMatchObject({ code: 'ENTRY_INVALID' })
  expect(session.tip).toBe('m2')
  await session.close()
  expect(await made.read(`p/${SID}.jsonl`)).toBe(before)
  expect(await verifySession(made.file)).toEqual([])
  await made.remove()
}, 120_000)
