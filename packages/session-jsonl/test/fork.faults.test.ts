import { readFile, rm } from 'node:fs/promises'
import { forkSession, listSessions, openSession, verifySession } from '@loci/session-jsonl'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, OTHER, project, SID, straight } from './lines.ts'

/** Errors that a caller may get from a disk that fails. */
function expectClear(error: unknown): void {
  if (error === undefined) return
  expect(isLociError(error, 'DISK_FULL', 'DISK_IO')).toBe(true)
}

describe('R8: whatever file operation fails', () => {
  test('R7, a fork: all of it or nothing that is listed, and the source as it was', async () => {
    const bytes = jsonl(...straight(4), { type: 'tag', tag: 'x', sessionId: SID })
    const made = await project(bytes, {
      [`p/${SID}/tool-results/x.txt`]: 'long',
      [`p/${SID}/subagents/agent-1.jsonl`]: jsonl(...straight(1)),
    })
    const whole = async (): Promise<string> => {
      const session = await openSession({ projectDir: made.projectDir, sessionId: OTHER, mode: 'read' })
      const sent = JSON.stringify([await session.conversation(), await session.records('tag')])
      await session.close()
      return sent
    }
    await forkSession({ projectDir: made.projectDir, sessionId: SID, newSessionId: OTHER })
    const expected = await whole()
    let forked = false
    await faultLoop({
      // Where the other errno is tried, it goes the same way: see session.faults.test.ts.
      faults: LONG ? ['EIO', 'ENOSPC', 'short-write'] : ['ENOSPC', 'short-write'],
      run: async () => {
        forked = false
        await rm(made.path(`p/${OTHER}.jsonl`), { force: true })
        await rm(made.path(`p/${OTHER}`), { recursive: true, force: true })
        await forkSession({
          projectDir: made.projectDir,
          sessionId: SID,
          newSessionId: OTHER,
          durability: 'fsync',
        })
        forked = true
      },
      verify: async (error) => {
        expectClear(error)
        expect(await readFile(made.file, 'utf8')).toBe(bytes)
        const list = await listSessions({ projectsDir: made.root })
        const there = list.some(({ sessionId }) => sessionId === OTHER)
        if (forked) expect(there).toBe(true)
        if (!there) return
        expect(await whole()).toBe(expected)
        expect(await verifySession(made.path(`p/${OTHER}.jsonl`))).toEqual([])
        expect(await made.read(`p/${OTHER}/tool-results/x.txt`)).toBe('long')
        expect(await made.read(`p/${OTHER}/subagents/agent-1.jsonl`)).toContain(OTHER)
      },
    })
    await made.remove()
  })

  test('reading: an error or the whole truth, never less', async () => {
    const made = await project(jsonl(...straight(4)))
    const before = await readFile(made.file)
    const projects = { projectsDir: made.root }
    let found: unknown
    await faultLoop({
      faults: LONG ? ['EIO', 'EACCES'] : ['EACCES'],
      run: async () => {
        found = undefined
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
        try {
          const chain = await session.chain()
          const list = await listSessions(projects)
          const damage = (await verifySession(made.file)).filter(({ kind }) => kind !== 'archive-mark')
          found = [chain.length, (await session.tips()).length, list.length, damage]
        } finally {
          await session.close()
        }
      },
      verify: async (error) => {
        expectClear(error)
        // That a session may be archived without anybody knowing is said, and keeps nobody from reading it.
        if (error === undefined) expect(found).toEqual([4, 1, 1, []])
        expect(await readFile(made.file)).toEqual(before)
      },
    })
    await made.remove()
  })
})
