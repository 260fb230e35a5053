import { readFile, rm, writeFile } from 'node:fs/promises'
import {
  createSession,
  forkSession,
  listSessions,
  openSession,
  sessionInfo,
  verifySession,
} from '@loci/session-jsonl'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, OTHER, project, SID, straight } from './lines.ts'

const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })

/** Errors that a caller may get from a disk that fails. */
function expectClear(error: unknown): void {
  if (error === undefined) return
  expect(isLociError(error, 'DISK_FULL', 'DISK_IO')).toBe(true)
}

/** Only a stub that could not be cut back may be wrong with a transcript. */
async function expectWhole(path: string): Promise<void> {
  const damage = await verifySession(path)
  expect(damage.filter(({ kind }) => kind !== 'torn-line')).toEqual([])
}

describe('R8: whatever file operation fails', () => {
  test('append, record, moveTip: what was acknowledged is there, the tip is where it was said to be, the rest is reported', async () => {
    const bytes = jsonl(...straight(3))
    const made = await project(bytes)
    let acknowledged: string[] = []
    let tips: (string | null)[] = []
    const tripped = await faultLoop({
      run: async () => {
        acknowledged = []
        tips = ['m3']
        await writeFile(made.file, bytes)
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
        let failure: unknown
        const trying = async (act: () => Promise<string | null>): Promise<void> => {
          const before = session.tip
          try {
            const tip = await act()
            expect(session.tip).toBe(tip)
            tips = [tip]
          } catch (error) {
            failure ??= error
            expect(session.tip).toBe(before)
            // What failed may have reached the disk all the same, if taking it back failed too.
            tips.push('unknown')
          }
        }
        try {
          await trying(async () => {
            const { uuid } = await session.append(say('one'))
            acknowledged.push(uuid)
            return uuid
          })
          await trying(async () => {
            await session.record({ type: 'tag', tag: 'x' })
            acknowledged.push('tag')
            return session.tip
          })
          await trying(async () => {
            await session.moveTip('m2')
            return 'm2'
          })
          await trying(async () => {
            const { uuid } = await session.append({ ...say('two'), parentUuid: 'm1' })
            acknowledged.push(uuid)
            return uuid
          })
        } finally {
          await session.close().catch((error: unknown) => (failure ??= error))
        }
        if (failure !== undefined) throw failure
      },
      verify: async (error) => {
        expectClear(error)
        await expectWhole(made.file)
        expect((await readFile(made.file, 'utf8')).startsWith(bytes)).toBe(true)
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
        for (const uuid of acknowledged) {
          if (uuid === 'tag') expect(await session.records('tag')).not.toEqual([])
          else expect(await session.entry(uuid)).toMatchObject({ uuid })
        }
        if (!tips.includes('unknown')) expect(session.tip).toBe(tips.at(-1))
        // And it goes on.
        const { uuid } = await session.append(say('on'))
        expect((await session.chain()).at(-1)?.uuid).toBe(uuid)
        await session.close()
      },
    })
    expect(tripped).toBeGreaterThan(50)
    await made.remove()
  })

  test('a new session: nothing, or what was acknowledged', async () => {
    const made = await project(undefined)
    let acknowledged: string[] = []
    await faultLoop({
      run: async () => {
        acknowledged = []
        await rm(made.projectDir, { recursive: true, force: true })
        const session = await createSession({
          projectDir: made.projectDir,
          sessionId: SID,
          durability: 'fsync',
        })
        try {
          for (const content of ['one', 'two']) acknowledged.push((await session.append(say(content))).uuid)
        } finally {
          await session.close()
        }
      },
      verify: async (error) => {
        expectClear(error)
        const info = await sessionInfo(made.file)
        if (info === undefined) {
          expect(acknowledged).toEqual([])
          return
        }
        await expectWhole(made.file)
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID })
        const chain = (await session.chain()).map(({ uuid }) => uuid)
        expect(chain.slice(0, acknowledged.length)).toEqual(acknowledged)
        await session.append(say('on'))
        await session.close()
      },
    })
    await made.remove()
  })

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
      faults: ['EIO', 'EACCES'],
      run: async () => {
        found = undefined
        const session = await openSession({ projectDir: made.projectDir, sessionId: SID, mode: 'read' })
        try {
          const chain = await session.chain()
          const list = await listSessions(projects)
          found = [chain.length, (await session.tips()).length, list.length, await verifySession(made.file)]
        } finally {
          await session.close()
        }
      },
      verify: async (error) => {
        expectClear(error)
        // That a session may be archived without anybody knowing is said, and keeps nobody from reading it.
        const marks: unknown = expect.arrayContaining([])
        if (error === undefined) expect(found).toEqual([4, 1, 1, marks])
        expect(await readFile(made.file)).toEqual(before)
      },
    })
    await made.remove()
  })
})
