import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isLociError } from '@loci/disk'
import { faultLoop, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { findImportable, importSessions, listSessions } from '@loci/session-jsonl'
import { expect, test } from 'vitest'
import { jsonl, LONG, often, OTHER, SID, straight, user } from './lines.ts'

/** Generous: each round waits for a process, or for the disk many times. */
const TIMEOUT_MS = often(600_000, 60_000)
const SCRIPT = join(import.meta.dirname, 'import-sessions.mjs')
const NEW = SID
const GROWN = OTHER

/** A home with a session that is new to ours and one of which ours has the beginning. */
async function homes(): Promise<Tree> {
  const work = await tree({
    [`theirs/projects/-a/${NEW}.jsonl`]: jsonl(...straight(3)),
    [`theirs/projects/-a/${NEW}/tool-results/t.txt`]: 'result',
    [`theirs/projects/-a/${GROWN}.jsonl`]: jsonl(...straight(2)),
    [`theirs/projects/-a/${GROWN}/subagents/agent-a1.jsonl`]: 'one\n',
  })
  await appendFile(work.path(`theirs/projects/-a/${GROWN}.jsonl`), jsonl(user('m3', 'm2', 'more')))
  await appendFile(work.path(`theirs/projects/-a/${GROWN}/subagents/agent-a1.jsonl`), 'two\n')
  return work
}

/** Ours as it was before: with the beginning of the grown session. */
async function reset(work: Tree): Promise<void> {
  await rm(work.path('ours'), { recursive: true, force: true })
  await mkdir(work.path(`ours/projects/-a/${GROWN}/subagents`), { recursive: true })
  const lines = (await work.read(`theirs/projects/-a/${GROWN}.jsonl`)).split('\n')
  await writeFile(work.path(`ours/projects/-a/${GROWN}.jsonl`), `${lines.slice(0, 2).join('\n')}\n`)
  await writeFile(work.path(`ours/projects/-a/${GROWN}/subagents/agent-a1.jsonl`), 'one\n')
}

async function importAll(work: Tree): Promise<string[]> {
  const outcomes: string[] = []
  const transcripts = await findImportable(work.path('theirs'))
  for await (const { outcome } of importSessions({ transcripts, projectsDir: work.path('ours/projects') }))
    outcomes.push(outcome)
  return outcomes
}

/** What must hold wherever it was cut off. */
async function expectWholeOrNothing(work: Tree): Promise<void> {
  const listed = await listSessions({ projectsDir: work.path('ours/projects') })
  for (const { sessionId, path } of listed) {
    const source = await readFile(work.path(`theirs/projects/-a/${sessionId}.jsonl`))
    const own = await readFile(path)
    if (sessionId === NEW) {
      expect(own).toEqual(source)
      expect(await work.read(`ours/projects/-a/${NEW}/tool-results/t.txt`)).toBe('result')
    } else expect(source.subarray(0, own.length).equals(own)).toBe(true)
  }
  expect(listed.some(({ sessionId }) => sessionId === GROWN)).toBe(true)
}

async function expectSame(work: Tree, name: string): Promise<void> {
  expect(await work.read(`ours/projects/-a/${name}`)).toBe(await work.read(`theirs/projects/-a/${name}`))
}

/** And what importing again makes of it. */
async function expectCompleted(work: Tree): Promise<void> {
  expect(await importAll(work)).not.toContain('skipped')
  for (const name of [
    `${NEW}.jsonl`,
    `${NEW}/tool-results/t.txt`,
    `${GROWN}.jsonl`,
    `${GROWN}/subagents/agent-a1.jsonl`,
  ])
    await expectSame(work, name)
}

test(
  'R7: killed at any file operation, a session is whole or not there, and importing again completes it',
  { timeout: TIMEOUT_MS },
  async () => {
    const work = await homes()
    const before = Object.entries(await work.snapshot())
    let ended = false
    for (let dieAt = 1; !ended; dieAt += often(1, 13)) {
      await reset(work)
      const child = spawn(process.execPath, [SCRIPT, work.path('theirs'), work.path('ours/projects')], {
        env: { ...process.env, DIE_AT: String(dieAt) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = (await once(child, 'close')) as [number | null]
      ended = code === 0
      if (ended) expect(dieAt).toBeGreaterThan(50)
      await expectWholeOrNothing(work)
      await expectCompleted(work)
    }
    const after = Object.entries(await work.snapshot())
    expect(after.filter(([name]) => name.startsWith('theirs/'))).toEqual(before)
    await work.remove()
  },
)

test(
  'R8: whatever file operation fails, what was acknowledged is there, and importing again completes it',
  { timeout: TIMEOUT_MS },
  async () => {
    const work = await homes()
    let outcomes: string[] = []
    await faultLoop({
      faults: LONG ? ['EIO', 'ENOSPC', 'EACCES', 'short-write'] : ['EIO'],
      run: async () => {
        outcomes = []
        await reset(work)
        outcomes = await importAll(work)
      },
      verify: async (error) => {
        if (error !== undefined) expect(isLociError(error, 'DISK_IO', 'DISK_FULL')).toBe(true)
        await expectWholeOrNothing(work)
        if (outcomes.includes('imported')) await expectSame(work, `${NEW}.jsonl`)
        if (outcomes.includes('extended')) await expectSame(work, `${GROWN}.jsonl`)
        await expectCompleted(work)
      },
    })
    await work.remove()
  },
)
