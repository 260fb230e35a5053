import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { acquireLease } from '@loci/disk'
import { loadCheckpoints, makeCheckpoint } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { checkpointProject } from './checkpoint-project.ts'
import type { CheckpointProject } from './checkpoint-project.ts'
import { failure } from './project.ts'

let work: CheckpointProject
beforeEach(async () => {
  work = await checkpointProject({ 'a.txt': 'a1', 'b.txt': { text: 'b1', mode: 0o600 } })
  await work.make('m1', 'a.txt', 'b.txt', 'new.txt')
  await change()
})
afterEach(() => work.dispose())

async function change(): Promise<void> {
  await work.write('a.txt', 'work on a', 0o644)
  await work.write('b.txt', 'work on b', 0o755)
  await work.write('new.txt', 'work on new')
}

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Runs a call in a child that is killed at its Nth file operation; resolves to how many it made, if it ended. */
function runUntil(nth: number, what: string): number | undefined {
  const paths = ['a.txt', 'b.txt', 'new.txt'].map((name) => work.path(name))
  const args = [script('./checkpoint-until-killed.mjs'), work.file, what, String(nth), ...paths]
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status === 0) return Number(stdout)
  if (signal !== 'SIGKILL') throw new Error(stderr)
  return undefined
}

/** Some moments of a call; the long run tries each. */
function moments(operations: number): number[] {
  const step = process.env['LOCI_LONG'] === '1' ? 1 : Math.ceil(operations / 7)
  return Array.from({ length: operations }, (_, n) => n + 1).filter((n) => n % step === 0)
}

test('killed at any moment of a rewind: each file is whole, and both states can be had', async () => {
  const operations = runUntil(Infinity, 'm1') ?? 0
  expect(operations).toBeGreaterThan(50)
  let rewinds = 1
  let kills = 0
  for (const nth of moments(operations)) {
    await work.rewind(`before-rewind-${rewinds}`).then(() => (rewinds += 1))
    const mine = await work.files()
    // Where a backup can be shared there are some operations less.
    if (runUntil(nth, 'm1') === undefined) kills += 1
    const [a, b, made] = [await work.read('a.txt'), await work.read('b.txt'), await work.read('new.txt')]
    expect(['a1', 'work on a']).toContain(a)
    expect(['b1', 'work on b']).toContain(b)
    expect([null, 'work on new']).toContain(made)
    expect(await work.damage()).toEqual([])
    const ids = await work.ids()
    const isKept = ids.at(-1) === `before-rewind-${rewinds + 1}`
    if (isKept) rewinds += 1
    else expect([a, b, made]).toEqual(['work on a', 'work on b', 'work on new'])
    const kept = `before-rewind-${rewinds}`
    if (isKept) {
      await work.rewind(kept)
      expect(await work.files()).toEqual(mine)
    }
    await work.rewind('m1')
    expect(await work.files()).toEqual({
      'a.txt': { mode: 0o644, text: 'a1' },
      'b.txt': { mode: 0o600, text: 'b1' },
    })
    rewinds = Number((await work.ids()).at(-1)?.slice('before-rewind-'.length))
  }
  expect(kills).toBeGreaterThan(4)
}, 300_000)

test('killed at any moment of makeCheckpoint: it is there whole, or not at all', async () => {
  const mine = await work.files()
  const operations = runUntil(Infinity, 'make') ?? 0
  expect(operations).toBeGreaterThan(30)
  let kills = 0
  for (const nth of moments(operations)) {
    const before = await work.ids()
    if (runUntil(nth, 'make') === undefined) kills += 1
    const after = await work.ids()
    expect([before, [...before, 'm2']]).toContainEqual(after)
    expect(await work.damage()).toEqual([])
    await work.rewind('m1')
    await work.rewind('m2')
    expect(await work.files()).toEqual(mine)
  }
  expect(kills).toBeGreaterThan(4)
}, 300_000)

test('processes at once lose nothing', async () => {
  const children = ['x', 'y', 'z'].map((name) => {
    const args = [script('./make-checkpoints.mjs'), work.file, work.path('a.txt'), '8', name]
    return once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')
  })
  await Promise.all(Array.from({ length: 8 }, (_, n) => work.make(`w-${n}`, 'a.txt', 'b.txt')))
  expect((await Promise.all(children)).map(([code]) => code as unknown)).toEqual([0, 0, 0])
  const ids = await work.ids()
  for (const name of ['x', 'y', 'z', 'w']) {
    const own = ids.filter((id) => id.startsWith(`${name}-`))
    expect(own).toEqual(Array.from({ length: 8 }, (_, n) => `${name}-${n}`))
  }
  const { checkpoints } = await loadCheckpoints(work.file)
  const paths = checkpoints.flatMap(({ files }) => files.map(({ backupPath }) => backupPath ?? ''))
  expect(new Set(paths.filter((path) => path !== '')).size).toBe(2 + 3 * 8 + 2 * 8)
  await work.write('a.txt', 'later')
  await work.rewind('z-7')
  expect(await work.read('a.txt')).toBe('work on a')
}, 120_000)

test('an index that another is at work on is refused and the other named, and free again after it', async () => {
  const lease = await acquireLease(work.file)
  const make = () => makeCheckpoint('m2', [work.path('a.txt')], { file: work.file, waitMs: 0 })
  const error = await failure(make())
  expect(error).toMatchObject({ code: 'HISTORY_LOCKED', details: { pid: process.pid } })
  expect(await work.ids()).toEqual(['m1'])
  const waiting = work.make('m3', 'a.txt')
  await lease.release()
  await waiting
  await make()
  expect(await work.ids()).toEqual(['m1', 'm3', 'm2'])
})
