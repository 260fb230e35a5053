import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, unlinkSync } from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { acquireLease, isLociError } from '@loci/disk'
import { faultLoop, setFaultHook } from '@loci/disk/testing'
import { deleteSession, openScratchpad } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { jsonl, LONG, often, project, SID, straight } from './lines.ts'

/** Generous: each round waits for a process, or for the disk many times. */
const TIMEOUT_MS = often(600_000, 60_000)
const FILES = [
  `p/${SID}.jsonl`,
  `p/${SID}/archived.json`,
  `p/${SID}/scratchpad/a/plan.md`,
  `p/${SID}/subagents/s.jsonl`,
]

let made: Awaited<ReturnType<typeof project>>
beforeEach(async () => {
  made = await project(undefined)
})
afterEach(async () => {
  setFaultHook(undefined)
  await made.remove()
})

const address = (): { projectDir: string; sessionId: string } => ({
  projectDir: made.projectDir,
  sessionId: SID,
})

async function plant(): Promise<void> {
  await rm(made.projectDir, { recursive: true, force: true })
  for (const name of FILES) {
    await mkdir(dirname(made.path(name)), { recursive: true })
    await writeFile(made.path(name), name.endsWith(`${SID}.jsonl`) ? jsonl(...straight(2)) : 'x')
  }
}

function run(script: string, env: NodeJS.ProcessEnv = {}): ReturnType<typeof spawn> {
  return spawn(process.execPath, [join(import.meta.dirname, script), made.projectDir, SID], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

/** Nothing of the session is there any more, or deleting it again ends it; the transcript went last. */
async function expectEnd(): Promise<void> {
  const left = new Set(Object.keys(await made.snapshot()))
  if (!left.has(`p/${SID}.jsonl`)) expect(FILES.filter((name) => left.has(name))).toEqual([])
  const again = await deleteSession(address()).catch((error: unknown) => error)
  if (again instanceof Error) expect(isLociError(again, 'SESSION_NOT_FOUND')).toBe(true)
  else
    expect(again).toEqual({
      removed: FILES.filter((name) => left.has(name))
        .map((name) => made.path(name))
        .toSorted(),
    })
  expect((await readdir(made.projectDir)).filter((name) => !name.startsWith('.'))).toEqual([])
}

test(
  'while other processes write to the scratchpad: nothing fails, nothing stays, and they are told',
  { timeout: TIMEOUT_MS },
  async () => {
    for (let round = 0; round < often(40, 5); round += 1) {
      await plant()
      const written: string[] = []
      const last: string[] = []
      const writers = [run('scratch-until-deleted.mjs'), run('scratch-until-deleted.mjs')]
      let enough: () => void = () => undefined
      const isUnderWay = new Promise<void>((resolve) => (enough = resolve))
      const ended = writers.map(async ({ stdout }, index) => {
        if (stdout === null) throw new Error('no output')
        for await (const line of createInterface({ input: stdout })) {
          if (line.includes('/')) written.push(line)
          else last[index] = line
          if (written.length > 10 + round) enough()
        }
      })
      await isUnderWay
      const { removed } = await deleteSession(address())
      await Promise.all(ended)
      expect(last).toEqual(['SESSION_NOT_FOUND', 'SESSION_NOT_FOUND'])
      expect(removed).toEqual([...new Set(removed)].toSorted())
      const named = written.map((name) => made.path(`p/${SID}/scratchpad/${name}`))
      expect(removed).toEqual(expect.arrayContaining([...named, ...FILES.map((name) => made.path(name))]))
      expect((await readdir(made.projectDir)).filter((name) => !name.startsWith('.'))).toEqual([])
    }
  },
)

test(
  'whatever file operation fails, it is gone, or deleting it again ends it',
  { timeout: TIMEOUT_MS },
  async () => {
    let removed: string[] | undefined
    await faultLoop({
      faults: LONG ? ['EIO', 'ENOSPC', 'EACCES', 'short-write'] : ['EIO', 'short-write'],
      run: async () => {
        removed = undefined
        await plant()
        removed = (await deleteSession(address())).removed
      },
      verify: async (error) => {
        if (error === undefined) expect(removed).toEqual(FILES.map((name) => made.path(name)).toSorted())
        else expect(isLociError(error, 'DISK_IO', 'DISK_FULL')).toBe(true)
        await expectEnd()
      },
    })
  },
)

test('killed before any file operation: the same', { timeout: TIMEOUT_MS }, async () => {
  for (let dieAt = 1; ; dieAt += often(1, 3)) {
    await plant()
    const child = run('delete-session.mjs', { DIE_AT: String(dieAt) })
    child.stdout?.resume()
    const [code] = (await once(child, 'close')) as [number | null]
    await expectEnd()
    if (code === 0) {
      expect(dieAt).toBeGreaterThan(20)
      break
    }
  }
})

describe('deleting and the scratchpad', () => {
  test('a holder is waited for, and after that refused with nothing removed', async () => {
    await plant()
    const held = await acquireLease(openScratchpad(address()).dir)
    const before = await made.snapshot()
    await expect(deleteSession({ ...address(), waitMs: 0 })).rejects.toMatchObject({ code: 'SESSION_LOCKED' })
    const after = Object.entries(await made.snapshot()).filter(([name]) => !name.startsWith(`p/.${SID}`))
    expect(Object.fromEntries(after)).toEqual(before)
    const deleted = deleteSession(address())
    await held.release()
    expect((await deleted).removed).toHaveLength(FILES.length)
  })

  test('a late look at the lease, made while the folder goes, only makes it go a moment later', async () => {
    await plant()
    let refused = 0
    setFaultHook((operation, path) => {
      // As the disk refuses to remove a folder into which a lock was just written.
      if (operation !== 'remove' || path !== made.path(`p/${SID}`) || refused === 3) return undefined
      refused += 1
      return Object.assign(new Error('not empty'), { code: 'ENOTEMPTY' })
    })
    expect((await deleteSession(address())).removed).toHaveLength(FILES.length)
    expect(refused).toBe(3)
  })

  test('a change that finds the session gone when its turn comes makes no folder that stays', async () => {
    await plant()
    // As if it were deleted by another process between the look at the transcript and the lease.
    setFaultHook((operation, path) => {
      if (operation === 'mkdir' && path === made.path(`p/${SID}`)) {
        unlinkSync(made.file)
        rmSync(path, { recursive: true })
      }
      return undefined
    })
    await expect(openScratchpad(address()).write('late.md', 'x')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    expect((await readdir(made.projectDir)).filter((name) => !name.startsWith('.'))).toEqual([])
  })

  test('but one that finds the folder of a session that is not there yet leaves what is in it', async () => {
    await plant()
    setFaultHook((operation, path) => {
      if (operation === 'mkdir' && path === made.path(`p/${SID}`)) unlinkSync(made.file)
      return undefined
    })
    await expect(openScratchpad(address()).write('late.md', 'x')).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    })
    expect(await made.read(`p/${SID}/subagents/s.jsonl`)).toBe('x')
  })

  test('a folder without a transcript, as a crash during a fork leaves it, goes too', async () => {
    await plant()
    unlinkSync(made.file)
    expect((await deleteSession(address())).removed).toEqual(
      FILES.slice(1)
        .map((name) => made.path(name))
        .toSorted(),
    )
    await expect(deleteSession(address())).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
  })
})
