import * as fs from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { linkBackups } from '@loci/file-history'
import type { FileHistory, LedgerRecord } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { goOn, operationsOf } from './aged.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

const NAMES = Array.from({ length: 30 }, (_, number) => `d${number % 3}/f${number}.txt`)
const ABSENT = ['d0/none.txt', 'd1/none.txt']

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project(Object.fromEntries(NAMES.map((name) => [name, `text of ${name}`])))
  history = await work.open()
  goOn(5)
  await history.makeSnapshot('m0')
  await Promise.all([...NAMES, ...ABSENT].map((name) => history.trackEdit(name, 'a')))
})
afterEach(async () => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
  await history.close()
  await work.dispose()
})

/** How often each path was looked at so. */
function counts(seen: readonly [string, string][], operation: string): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [name, path] of seen) if (name === operation) found[path] = (found[path] ?? 0) + 1
  return found
}

const once = (paths: readonly string[]): Record<string, number> =>
  Object.fromEntries(paths.map((path) => [path, 1]))

/** What was opened besides the two records. */
function opened(seen: readonly [string, string][]): string[] {
  const paths = seen
    .filter(([operation]) => operation === 'open' || operation === 'copy')
    .map(([, path]) => path)
  return [...new Set(paths)].filter((path) => !/^(snapshots|edits)\.jsonl$/.test(basename(path)))
}

test('with nothing changed no file is opened, and there is one lstat a file and a directory', async () => {
  const first = await operationsOf(() => history.makeSnapshot('m1'))
  const second = await operationsOf(() => history.makeSnapshot('m2'))
  const files = [...NAMES, ...ABSENT].map((name) => work.path(name))
  for (const seen of [first, second]) {
    expect(opened(seen)).toEqual([])
    const { [work.dir]: folder, ...rest } = counts(seen, 'lstat')
    expect(folder).toBe(1)
    expect(rest).toEqual(once([...files, ...new Set(files.map((path) => dirname(path)))]))
    expect(counts(seen, 'realpath')).toEqual(once([work.root]))
  }
  const [before, , after] = history.snapshots()
  expect(after?.trackedFileBackups).toEqual(before?.trackedFileBackups)
  // The names of the folder are known from the time before.
  expect(counts(second, 'readdir')).toEqual({})
})

test('only what changed is opened, and only its stats are looked at again', async () => {
  await history.makeSnapshot('m1')
  await work.write('d1/f1.txt', 'other text!')
  const seen = await operationsOf(() => history.makeSnapshot('m2'))
  const others = opened(seen).filter((path) => !basename(path).startsWith('.stage-'))
  expect(others).toEqual([work.path('d1/f1.txt')])
  expect(await history.readFileAt('m2', 'd1/f1.txt')).toEqual(Buffer.from('other text!'))
  const lstats = counts(seen, 'lstat')
  for (const other of NAMES.filter((one) => one !== 'd1/f1.txt')) expect(lstats[work.path(other)]).toBe(1)
})

test('a small file is read once while it is copied, and the copy not at all', async () => {
  await work.write('d2/new.txt', 'n'.repeat(50_000))
  const seen = await operationsOf(() => history.trackEdit('d2/new.txt', 'a'))
  expect(counts(seen, 'read')[work.path('d2/new.txt')]).toBe(1)
  expect(seen.filter(([operation, path]) => operation === 'read' && path.includes('.stage-'))).toEqual([])
})

test('a snapshot opens no file after reopening either, and each backup is looked at once', async () => {
  await history.makeSnapshot('m1')
  await history.close()
  history = await work.open()
  const seen = await operationsOf(() => history.makeSnapshot('m2'))
  const names = Object.values(history.snapshots().at(-1)?.trackedFileBackups ?? {}).flatMap(
    ({ backupFileName }) => backupFileName ?? [],
  )
  expect(opened(seen)).toEqual([work.inDir('stat.json'), '/proc/sys/kernel/random/boot_id'])
  const { [work.dir]: folder, ...rest } = counts(seen, 'lstat')
  expect(folder).toBe(2)
  const files = [...NAMES, ...ABSENT].map((name) => work.path(name))
  const directories = new Set(files.map((path) => dirname(path)))
  expect(rest).toEqual(once([...files, ...directories, ...names.map((name) => work.inDir(name))]))
  expect(opened(await operationsOf(() => history.makeSnapshot('m3')))).toEqual([])
})

test('a rewind reads only what differs', async () => {
  await history.makeSnapshot('m1')
  await work.write('d1/f1.txt', 'other')
  await history.recordEdit('d1/f1.txt', 'a')
  const seen = await operationsOf(() => history.rewind('m1'))
  expect(await work.read('d1/f1.txt')).toBe('text of d1/f1.txt')
  const read = opened(seen).filter((path) => path.startsWith(work.root) || /@v\d+$/.test(path))
  const mine = history.snapshots()[0]?.trackedFileBackups['d1/f1.txt']?.backupFileName ?? ''
  const allowed = [work.path('d1/f1.txt'), work.inDir(mine)]
  expect(read.filter((path) => !allowed.includes(path) && !basename(path).startsWith('.loci-'))).toEqual([])
  expect(read).toContain(work.inDir(mine))
  const lstats = counts(seen, 'lstat')
  for (const other of NAMES.filter((one) => one !== 'd1/f1.txt')) expect(lstats[work.path(other)]).toBe(1)
})

test('room within maxBytes is reckoned without looking at the backups again', async () => {
  await history.close()
  history = await work.open({ maxBytes: 10_000 })
  await history.makeSnapshot('m1')
  const seen = await operationsOf(() => history.makeSnapshot('m2'))
  expect(Object.keys(counts(seen, 'lstat')).filter((path) => /@v\d+$/.test(path))).toEqual([])
})

/**
 * Runs an action, and tells how many of these operations there were in one turn of the event loop, at most. The turn of
 * the test is asked for at the first of them, so before the one that the history asks for, and comes first.
 */
async function mostInOneTurn(
  wanted: string,
  action: () => Promise<unknown>,
): Promise<{ most: number; all: number }> {
  const turns: number[] = []
  let isCounting = false
  setFaultHook((operation) => {
    if (operation !== wanted) return undefined
    if (!isCounting) {
      turns.push(0)
      setImmediate(() => (isCounting = false))
    }
    isCounting = true
    turns[turns.length - 1] = (turns.at(-1) ?? 0) + 1
    return undefined
  })
  try {
    await action()
  } finally {
    setFaultHook(undefined)
  }
  return { most: Math.max(...turns), all: turns.reduce((sum, count) => sum + count, 0) }
}

/** A history with so many tracked files, all of them absent. */
function openAbsent(count: number): Promise<FileHistory> {
  const timestamp = '2026-01-01T00:00:00.000Z'
  const backup = { backupFileName: null, version: 1, backupTime: timestamp, realParentDir: work.root }
  const names = Array.from({ length: count }, (_, number) => `none${number}`)
  const trackedFileBackups = Object.fromEntries(names.map((name) => [name, backup]))
  const snapshot = { messageId: 'm', timestamp, trackedFileBackups }
  const records: LedgerRecord[] = [
    { type: 'file-history-snapshot', messageId: 'm', snapshot, isSnapshotUpdate: false },
  ]
  const ledger = { load: async () => records, append: async () => undefined }
  return work.open({ dir: work.beside('many'), ledger })
}

test('the event loop has its turn after every 500 stats', async () => {
  const many = await openAbsent(1700)
  for (const action of [() => many.makeSnapshot('n'), () => many.planRewind('m')]) {
    const { most, all } = await mostInOneTurn('lstat', action)
    expect(all).toBeGreaterThanOrEqual(1700)
    expect(most).toBeLessThanOrEqual(505)
  }
  await many.close()
})

test('an edit announced after the call waits until its file was looked at, also where that takes turns', async () => {
  const many = await openAbsent(6000)
  const taking = many.makeSnapshot('n')
  await many.trackEdit('none5999', 'b')
  await work.write('none5999', 'new')
  const { trackedFileBackups } = await taking
  expect(trackedFileBackups['none5999']?.backupFileName).toBeNull()
  await many.close()
})

test('the event loop has its turn after every 256 KiB', async () => {
  for (const name of NAMES) await work.write(name, name.padEnd(100_000))
  // Readings of 100,000 bytes that belong together are not torn apart: two of a young file that is copied, three where
  // it is compared.
  const { most, all } = await mostInOneTurn('read', () => history.makeSnapshot('m1'))
  expect(all).toBeGreaterThanOrEqual(30)
  expect(most).toBeLessThanOrEqual(4)
  for (const name of NAMES) await fs.utimes(work.path(name), 1, 1)
  const compared = await mostInOneTurn('read', () => history.makeSnapshot('m2'))
  expect(compared.all).toBeGreaterThanOrEqual(60)
  expect(compared.most).toBeLessThanOrEqual(5)
})

test('a hundred first edits at once are written in a few lots, and each file is made, looked at and read once', async () => {
  const names = Array.from({ length: 100 }, (_, number) => `d${number % 3}/new${number}.txt`)
  for (const name of names) await work.write(name, name.padEnd(1000))
  const seen = await operationsOf(() => Promise.all(names.map((name) => history.trackEdit(name, 'a'))))
  const of = (operation: string, wanted: (path: string) => boolean): number =>
    seen.filter(([name, path]) => name === operation && wanted(path)).length
  const records = (path: string): boolean =>
    path === work.inDir('snapshots.jsonl') || path === work.inDir('edits.jsonl')
  // Three for each turn of the event loop; there is one after 256 KiB read and written, or 500 looks.
  expect(of('open', records)).toBeLessThanOrEqual(12)
  expect(of('write', records)).toBe(of('open', records))
  const files = names.map((name) => work.path(name))
  expect(
    counts(
      seen.filter(([, path]) => path.startsWith(work.root)),
      'lstat',
    ),
  ).toEqual(once(files))
  expect(
    counts(
      seen.filter(([, path]) => path.startsWith(work.root)),
      'open',
    ),
  ).toEqual(once(files))
  expect(of('open', (path) => basename(path).startsWith('.stage-'))).toBe(100)
  expect(of('mkdir', () => true)).toBeLessThanOrEqual(1)
  const [newest] = history.snapshots()
  expect(names.filter((name) => newest?.trackedFileBackups[name]?.version !== 1)).toEqual([])
})

test('a snapshot of what nobody touched is written without waiting for another thread', async () => {
  // Lines of 60 KB and more, as of some hundred files.
  const long = Array.from({ length: 150 }, (_, number) => `${'n'.repeat(200)}${number}/${'n'.repeat(200)}`)
  await Promise.all(long.map((name) => history.trackEdit(name, 'a')))
  await history.makeSnapshot('m1')
  let turns = 0
  const between: number[] = []
  setFaultHook((operation, path) => {
    if (basename(path) !== 'snapshots.jsonl') return undefined
    if (operation === 'open') setImmediate(() => (turns += 1))
    if (operation === 'close') between.push(turns)
    return undefined
  })
  await history.makeSnapshot('m2')
  setFaultHook(undefined)
  expect(between).toEqual([0])
  const text = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
  expect(text.split('\n').at(-2)?.length).toBeGreaterThan(65_536)
})

test('a fork looks at each backup once and links it, and opens none', async () => {
  const toDir = work.beside('fork')
  const seen = await operationsOf(() => linkBackups({ fromDir: work.dir, toDir }))
  const names = Object.values(history.snapshots().at(-1)?.trackedFileBackups ?? {}).flatMap(
    ({ backupFileName }) => backupFileName ?? [],
  )
  expect(names).toHaveLength(NAMES.length)
  const backups = names.map((name) => work.inDir(name))
  const ofBackups = seen.filter(([, path]) => /@v\d+$/.test(path))
  expect(counts(ofBackups, 'lstat')).toEqual(once(backups))
  expect(counts(ofBackups, 'link')).toEqual(once(names.map((name) => join(toDir, name))))
  expect(
    ofBackups.map(([operation]) => operation).filter((name) => name !== 'lstat' && name !== 'link'),
  ).toEqual([])
})
