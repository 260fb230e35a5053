import { realpath } from 'node:fs/promises'
import { forkSession, listSessions, openSession, verifySession } from '@loci/session-jsonl'
import type { Tree } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { jsonl, LONG, often, OTHER, project, SID, straight } from './lines.ts'
import { canStrace, writing } from './writing-process.ts'
import type { Outcome } from './writing-process.ts'

const TIMEOUT_MS = often(1_200_000, 60_000)

const isUuid = (said: string): boolean => !said.includes(' ')

/** What has to hold when a process that appended in bursts to a session of its own was killed. */
async function expectRest(
  made: Tree & { projectDir: string; file: string },
  { said }: Outcome,
  burst: number,
) {
  const options = { projectDir: made.projectDir, sessionId: SID }
  const acknowledged = said.filter(isUuid)
  const damage = await verifySession(made.file).catch((error: unknown) => {
    // It died before there was a file.
    expect(said).toEqual([])
    expect(error).toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
  if (damage === undefined) return
  expect(damage.map(({ kind }) => kind).filter((kind) => kind !== 'torn-line')).toEqual([])
  expect(damage.length).toBeLessThanOrEqual(1)
  const session = await openSession(options)
  const chain = (await session.chain()).map(({ uuid }) => uuid)
  expect(chain.slice(0, acknowledged.length)).toEqual(acknowledged)
  // Of the last burst some may be there that nobody heard of.
  expect(chain.length).toBeLessThanOrEqual(acknowledged.length + burst)
  const records = said.flatMap((one) => (one.startsWith('record ') ? [Number(one.slice(7))] : []))
  const numbers = (await session.records('x-note')).map(({ number }) => number)
  expect(numbers.slice(0, records.length)).toEqual(records)
  const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
  expect((await session.chain()).map((one) => one.uuid)).toEqual([...chain, uuid])
  await session.close()
  // On a line of its own, for readers that do not take glued lines apart.
  const last = (await made.read(`p/${SID}.jsonl`)).split('\n').at(-2)
  expect(JSON.parse(last ?? '')).toMatchObject({ uuid })
  const again = await openSession({ ...options, mode: 'read' })
  expect(again.tip).toBe(uuid)
  expect(await again.tips()).toHaveLength(1)
  expect(await again.damage()).toEqual(damage)
  await again.close()
}

describe('R1: a process that appends is killed', () => {
  const allWays = [
    { burst: 1, records: 1, durability: 'os' },
    { burst: 12, records: 3, durability: 'fsync' },
    { burst: 12, records: 3, durability: 'os' },
    { burst: 1, records: 0, durability: 'fsync' },
  ] as const
  const ways = allWays.slice(0, often(4, 2))

  test.each(ways)(
    'at some moment, bursts of $burst, to $durability: what was acknowledged is there, and it goes on',
    async (way) => {
      for (let round = 0; round < often(40, 1); round += 1) {
        const made = await project(undefined)
        const killAfter = 1 + Math.floor(Math.random() * 60)
        const work = { projectDir: made.projectDir, sessionId: SID, mode: 'create', rounds: 100_000 } as const
        const outcome = await writing({ ...work, ...way, sizeBytes: 3_000 }, { killAfter })
        expect(outcome.said.length).toBeGreaterThanOrEqual(killAfter)
        await expectRest(made, outcome, way.burst)
        await made.remove()
      }
    },
    TIMEOUT_MS,
  )

  test.each(ways)(
    'before any of its file operations, bursts of $burst, to $durability',
    async (way) => {
      let ended = false
      let dieAt = often(1, 6)
      for (; !ended; dieAt += often(1, 17)) {
        const made = await project(undefined)
        const work = {
          projectDir: made.projectDir,
          sessionId: SID,
          mode: 'create',
          rounds: 3,
          dieAt,
        } as const
        const outcome = await writing({ ...work, ...way })
        ended = outcome.code === 0
        await expectRest(made, outcome, way.burst)
        await made.remove()
      }
      expect(dieAt).toBeGreaterThan(20)
    },
    TIMEOUT_MS,
  )

  test.skipIf(!canStrace())(
    'at any system call on its transcript (needs strace)',
    async () => {
      const [way] = ways.slice(-1)
      const all = ['openat', 'fstat', 'statx', 'newfstatat', 'pread64', 'write', 'fdatasync', 'close']
      let kills = 0
      // The calls of each kind are counted by themselves.
      for (const call of LONG ? all : ['write', 'fdatasync']) {
        let ended = false
        for (let when = 1; !ended; when += often(1, 3)) {
          const made = await project(undefined)
          const work = { projectDir: made.projectDir, sessionId: SID, mode: 'create', rounds: 3 } as const
          const file = `${await realpath(made.projectDir)}/${SID}.jsonl`
          const strace = [
            '-f',
            '-qq',
            '-o',
            '/dev/null',
            '-P',
            file,
            '-e',
            `inject=${call}:signal=KILL:when=${when}`,
          ]
          const outcome = await writing({ ...work, ...way }, { strace })
          ended = outcome.code === 0
          if (!ended) kills += 1
          await expectRest(made, outcome, 12)
          await made.remove()
        }
      }
      expect(kills).toBeGreaterThanOrEqual(often(10, 2))
    },
    TIMEOUT_MS,
  )
})

/** What is in the project, but for who has it open. */
async function besideLocks(made: Tree): Promise<[string, unknown][]> {
  return Object.entries(await made.snapshot()).filter(([name]) => !name.includes('.lock.'))
}

describe('R7: killed before any file operation', () => {
  test(
    'a move of the tip and an append after it: the state before it or after it, and opening writes nothing',
    async () => {
      const bytes = jsonl(...straight(5))
      let ended = false
      let dieAt = often(1, 4)
      for (; !ended; dieAt += often(1, 9)) {
        const made = await project(bytes)
        const options = { projectDir: made.projectDir, sessionId: SID }
        const { said, code } = await writing({ ...options, moveTo: 'm2', burst: 2, dieAt })
        ended = code === 0
        const before = await besideLocks(made)
        const read = await openSession({ ...options, mode: 'read' })
        expect(await verifySession(made.file)).toEqual([])
        await read.close()
        const session = await openSession(options)
        expect(await besideLocks(made)).toEqual(before)
        const chain = (await session.chain()).map(({ uuid }) => uuid)
        const own = chain.filter((uuid) => !uuid.startsWith('m'))
        expect(chain).toEqual(
          said.length > 0 || chain.length <= 2 || own.length > 0
            ? ['m1', 'm2', ...own]
            : ['m1', 'm2', 'm3', 'm4', 'm5'],
        )
        expect(own.slice(0, said.length - 1)).toEqual(said.slice(1))
        // What was left is there to go back to.
        expect((await session.chain('m5')).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
        expect((await made.read(`p/${SID}.jsonl`)).startsWith(bytes)).toBe(true)
        const { uuid } = await session.append({ type: 'user', message: { role: 'user', content: 'on' } })
        expect((await session.chain()).map((one) => one.uuid)).toEqual([...chain, uuid])
        await session.close()
        await made.remove()
      }
      expect(dieAt).toBeGreaterThan(15)
    },
    TIMEOUT_MS,
  )

  test(
    'a fork: none that is listed or all of it, the source as it was, and opening writes nothing',
    async () => {
      const bytes = jsonl(...straight(5))
      let ended = false
      let dieAt = often(1, 5)
      for (; !ended; dieAt += often(1, 11)) {
        const side = { [`p/${SID}/tool-results/x.txt`]: 'long', [`p/${SID}/subagents/agent-1.jsonl`]: bytes }
        const made = await project(bytes, side)
        const options = { projectDir: made.projectDir, sessionId: SID }
        const { code } = await writing({
          ...options,
          mode: 'fork',
          forkTo: OTHER,
          durability: 'fsync',
          dieAt,
        })
        ended = code === 0
        const before = await besideLocks(made)
        const listed = await listSessions({ projectsDir: made.root })
        for (const { sessionId, path } of listed) {
          const session = await openSession({ ...options, sessionId })
          expect((await session.chain()).map(({ uuid }) => uuid)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5'])
          expect(await verifySession(path)).toEqual([])
          expect(await made.read(`p/${sessionId}/tool-results/x.txt`)).toBe('long')
          expect(await made.read(`p/${sessionId}/subagents/agent-1.jsonl`)).toContain(sessionId)
          await session.close()
        }
        expect(await besideLocks(made)).toEqual(before)
        const there = listed.map(({ sessionId }) => sessionId)
        expect(there).toContain(SID)
        if (ended) expect(there).toContain(OTHER)
        expect(await made.read(`p/${SID}.jsonl`)).toBe(bytes)
        // It can be done again; under another id, since side files of the one that died may be there.
        const again = await forkSession(options)
        expect(await verifySession(again.path)).toEqual([])
        await made.remove()
      }
      expect(dieAt).toBeGreaterThan(20)
    },
    TIMEOUT_MS,
  )
})
