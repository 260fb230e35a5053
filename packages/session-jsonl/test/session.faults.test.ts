import { readFile, rm, writeFile } from 'node:fs/promises'
import { createSession, openSession, sessionInfo, verifySession } from '@loci/session-jsonl'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import type { FaultKind } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, project, SID, straight } from './lines.ts'

const say = (content: string) => ({ type: 'user' as const, message: { role: 'user', content } })

/** EACCES takes the same way as EIO; the reading side is tried with it. */
const FAULTS: readonly FaultKind[] = LONG ? ['EIO', 'ENOSPC', 'short-write'] : ['EIO', 'short-write']

/** Errors that a caller may get from a disk that fails. */
function expectClear(error: unknown): void {
  if (error === undefined) return
  expect(isLociError(error, 'DISK_FULL', 'DISK_IO')).toBe(true)
}

/** Only the stub of an append that failed may be wrong with a transcript. */
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
      faults: FAULTS,
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
            // What failed may have reached the disk all the same.
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
      faults: FAULTS,
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
})
