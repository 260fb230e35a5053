import * as fs from 'node:fs/promises'
import { basename } from 'node:path'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { goOn, operationsOf } from './aged.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

const NAMES = Array.from({ length: 40 }, (_, number) => `d${number % 3}/f${number}.txt`)

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project(Object.fromEntries(NAMES.map((name) => [name, `text of ${name}`])))
  history = await work.open()
  goOn(5)
  await history.makeSnapshot('m0')
  await Promise.all(NAMES.map((name) => history.trackEdit(name, 'a')))
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
  await history.close()
  await work.dispose()
})

/** How often each path was worked on so. */
function counts(seen: readonly [string, string][], wanted: string): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [operation, path] of seen) if (operation === wanted) found[path] = (found[path] ?? 0) + 1
  return found
}

const backupOf = (name: string): string =>
  work.inDir(history.snapshots().at(-1)?.trackedFileBackups[name]?.backupFileName ?? '')

test('with nothing to do nothing is opened, made or written', async () => {
  const seen = await operationsOf(() => history.rewind('m1'))
  expect(counts(seen, 'lstat')).toMatchObject(Object.fromEntries(NAMES.map((name) => [work.path(name), 1])))
  const others = seen.filter(([operation]) => !['lstat', 'realpath', 'statfs', 'readdir'].includes(operation))
  expect(others).toEqual([])
})

test('bits that file and backup have both lost are known from the note, also where stats prove the rest', async () => {
  const [name = ''] = NAMES
  for (const path of [work.path(name), backupOf(name)]) await fs.chmod(path, 0o600)
  await history.makeSnapshot('m2')
  expect(await history.planRewind('m2')).toMatchObject({
    changes: [{ path: work.path(name), kind: 'mode', modeBefore: 0o600, modeAfter: 0o644 }],
  })
})

test('a small file is read to plan and to keep it, written to twice, and nothing of it is read back', async () => {
  const names = NAMES.slice(0, 3)
  for (const name of names) await edit(work, history, name, `other ${name}`)
  const backups = names.map(backupOf)
  const seen = await operationsOf(() => history.rewind('m1'))
  const opened = counts(seen, 'open')
  for (const [place, name] of names.entries()) {
    // To plan and to keep it.
    expect(opened[work.path(name)], name).toBe(2)
    // To plan and to write it: how much changed nobody asks.
    expect(opened[backups[place] ?? ''], name).toBe(2)
    expect(opened[work.inDir(`undo/r1/${place}`)], name).toBe(1)
  }
  const made = Object.keys(opened).filter((path) => basename(path).startsWith('.loci-'))
  expect(made).toHaveLength(3)
  expect(Object.keys(opened)).toHaveLength(3 * 4 + 1)
  expect(Object.values(counts(seen, 'write')).reduce((sum, count) => sum + count)).toBe(3 * 2 + 2)
})

test('the journal is written when it begins, then once for 32 files, and at the end', async () => {
  for (const [count, appends] of [
    [2, 2],
    [40, 3],
  ] as const) {
    const names = NAMES.slice(0, count)
    for (const name of names) await edit(work, history, name, `other ${name} ${count}`)
    const seen = await operationsOf(() => history.rewind('m1'))
    expect(counts(seen, 'open')[work.inDir('edits.jsonl')]).toBe(appends)
    expect(counts(seen, 'write')[work.inDir('edits.jsonl')]).toBe(appends)
  }
})

test.each(['finish', 'undo'] as const)(
  'cut off when all is written and nothing of it is marked, it is resolved by %s as if it were',
  async (how) => {
    const before = await work.files()
    for (const name of NAMES.slice(0, 3)) await edit(work, history, name, `other ${name}`)
    await edit(work, history, 'made.txt', 'made')
    const edited = await work.files()
    let writes = 0
    setFaultHook((operation, path) => {
      if (operation !== 'write' || path !== work.inDir('edits.jsonl')) return undefined
      writes += 1
      return writes > 1 ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
    })
    expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    await history.close()
    history = await work.open()
    expect(await work.files()).toEqual(before)
    const touched = [...NAMES.slice(0, 3), 'made.txt'].map((name) => work.path(name)).toSorted()
    expect(history.pendingRewind).toEqual({ messageId: 'm1', done: [], left: touched })
    const result = await history.resolveRewind(how)
    expect(result).toMatchObject({ skipped: [], conflicts: [], undoable: how === 'finish' })
    expect([...result.restored, ...result.deleted].toSorted()).toEqual(touched)
    expect(await work.files()).toEqual(how === 'finish' ? before : edited)
    if (how === 'undo') return
    await history.close()
    history = await work.open()
    await history.undoRewind()
    expect(await work.files()).toEqual(edited)
  },
)
