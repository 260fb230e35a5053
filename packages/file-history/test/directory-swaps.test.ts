import * as fs from 'node:fs/promises'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'd/f': 'f1', 'd/deep/er': 'e1', g: { text: 'g1', mode: 0o640 }, keep: 'k' })
  history = await work.open()
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const BLOCKED = 'a file stands where its directory has to be'
const OCCUPIED = 'a directory is in its place now'

/** A command that makes a file of the directory `d`. */
async function makeFileOfDirectory(): Promise<void> {
  await history.trackCommand('m1', async () => {
    await work.remove('d')
    await work.write('d', 'now a file')
  })
}

/** A command that makes a directory of the file `g`. */
async function makeDirectoryOfFile(): Promise<void> {
  await history.trackCommand('m1', async () => {
    await work.remove('g')
    await work.write('g/in', 'inside')
  })
}

test('a directory that a command made a file of is put back in one go; undone and redone too', async () => {
  const before = await work.files()
  await makeFileOfDirectory()
  const swapped = await work.files()
  const plan = await history.planRewind('m1')
  expect(plan).toMatchObject({ conflicts: [], skipped: [] })
  expect(await history.rewind(plan)).toMatchObject({
    restored: [work.path('d/deep/er'), work.path('d/f')],
    deleted: [work.path('d')],
    skipped: [],
    conflicts: [],
  })
  expect(await work.files()).toEqual(before)
  for (const expected of [swapped, before, swapped]) {
    await history.close()
    history = await work.open()
    expect(await history.undoRewind()).toMatchObject({ skipped: [], conflicts: [] })
    expect(await work.files()).toEqual(expected)
  }
})

test('to where the directory was a file: what was in it goes, itself it stays, and the file is named', async () => {
  const before = await work.files()
  await history.trackCommand('m1', () => work.remove('d'))
  await history.makeSnapshot('m2')
  await history.trackCommand('m2', () => work.write('d', 'now a file'))
  await history.makeSnapshot('m3')
  expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
  expect(await work.files()).toEqual(before)
  expect(await history.rewind('m3')).toMatchObject({
    deleted: [work.path('d/deep/er'), work.path('d/f')],
    skipped: [{ path: work.path('d'), reason: OCCUPIED }],
  })
  expect((await fs.stat(work.path('d'))).isDirectory()).toBe(true)
})

test('a file that somebody put in the place of a directory stays, and what cannot be made is named', async () => {
  await history.trackCommand('m1', () => work.remove('d'))
  await work.write('d', 'by hand')
  const named = [
    { path: work.path('d/deep/er'), reason: BLOCKED },
    { path: work.path('d/f'), reason: BLOCKED },
  ]
  expect((await history.planRewind('m1')).skipped).toEqual(named)
  expect(await history.rewind('m1')).toMatchObject({ restored: [], deleted: [], skipped: named })
  expect(await work.read('d')).toBe('by hand')
})

test('where the file in its place is a conflict that is left, the directory is not made', async () => {
  await makeFileOfDirectory()
  await work.write('d', 'by hand')
  const { skipped, conflicts } = await history.rewind('m1', { onConflict: 'skip' })
  expect(conflicts.map(({ path }) => path)).toEqual([work.path('d')])
  expect(skipped).toEqual([
    { path: work.path('d/deep/er'), reason: BLOCKED },
    { path: work.path('d/f'), reason: BLOCKED },
  ])
  expect(await work.read('d')).toBe('by hand')
})

test('of a file that is in the way and not asked for, the rest is named', async () => {
  await makeFileOfDirectory()
  expect(await history.rewind('m1', { paths: ['d/f'] })).toMatchObject({
    restored: [],
    skipped: [{ path: work.path('d/f'), reason: BLOCKED }],
  })
  expect(await work.read('d')).toBe('now a file')
})

test.each([['d/deep/er'], ['d/deep'], ['./d/deep/../deep/er']])(
  'of %s, deeper below a file that is in the way, likewise; with that file it is put back',
  async (asked) => {
    await makeFileOfDirectory()
    const named = [{ path: work.path('d/deep/er'), reason: BLOCKED }]
    expect(await history.planRewind('m1', { paths: [asked] })).toMatchObject({ changes: [], skipped: named })
    expect(await history.rewind('m1', { paths: [asked] })).toMatchObject({ restored: [], skipped: named })
    expect(await history.rewind('m1', { paths: [asked, 'd'] })).toMatchObject({
      restored: expect.arrayContaining([work.path('d/deep/er')]),
      deleted: [work.path('d')],
      skipped: [],
    })
  },
)

test('what is no path of a file is still refused, and what nobody tracks is named', async () => {
  await makeFileOfDirectory()
  for (const bad of ['', 'keep/..', 'd/x/\0', 'keep/.']) {
    expect(await failure(history.planRewind('m1', { paths: [bad] })), bad).toMatchObject({
      code: 'PATH_INVALID',
    })
  }
  expect((await history.planRewind('m1', { paths: ['keep/in/it'] })).skipped).toEqual([
    { path: work.path('keep/in/it'), reason: 'it is not tracked' },
  ])
})

test('an undo keeps what somebody put into a directory that the rewind made', async () => {
  await makeFileOfDirectory()
  await history.rewind('m1')
  await work.write('d/deep/mine', 'by hand')
  expect(await history.undoRewind()).toMatchObject({
    deleted: [work.path('d/deep/er'), work.path('d/f')],
    skipped: [{ path: work.path('d'), reason: OCCUPIED }],
  })
  expect(await work.read('d/deep/mine')).toBe('by hand')
  await work.remove('d')
  expect(await history.undoRewind()).toMatchObject({ restored: [work.path('d')], skipped: [] })
  expect(await work.read('d')).toBe('now a file')
})

test('where the file that was in the place of a directory cannot be had, the directory stays', async () => {
  await makeFileOfDirectory()
  let writes = 0
  setFaultHook((operation, path) => {
    if (operation !== 'write' || path !== work.inDir('edits.jsonl')) return undefined
    writes += 1
    return writes > 1 ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
  })
  expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'DISK_IO' })
  setFaultHook(undefined)
  await fs.writeFile(work.inDir('undo/r1/0'), 'bad')
  expect(await history.resolveRewind('undo')).toMatchObject({
    deleted: [work.path('d/deep/er'), work.path('d/f')],
    skipped: [{ path: work.path('d'), reason: 'its backup is missing or damaged' }],
  })
  expect((await fs.stat(work.path('d/deep'))).isDirectory()).toBe(true)
})

test('a directory in the place of a file is never removed; what was in it goes, and a later rewind says no more', async () => {
  await makeDirectoryOfFile()
  expect(await history.rewind('m1')).toMatchObject({
    deleted: [work.path('g/in')],
    skipped: [{ path: work.path('g'), reason: OCCUPIED }],
  })
  expect(await fs.readdir(work.path('g'))).toEqual([])
  await fs.rmdir(work.path('g'))
  expect(await history.rewind('m1')).toMatchObject({ restored: [work.path('g')], skipped: [] })
  expect(await work.files()).toMatchObject({ g: { text: 'g1', mode: 0o640 } })
  // `g/in` cannot be there any more.
  const again = await history.rewind('m1')
  expect(again).toMatchObject({ restored: [], deleted: [], skipped: [], conflicts: [] })
  expect(again.unchanged).toContain(work.path('g/in'))
})

test('a file that should be absent, and has a directory in its place, is as it should be', async () => {
  await history.trackEdit('new', 'a')
  await work.write('new', 'made')
  await history.recordEdit('new', 'a')
  await work.remove('new')
  await work.write('new/inside', 'by hand')
  const { unchanged, skipped } = await history.rewind('m1')
  expect(unchanged).toContain(work.path('new'))
  expect(skipped).toEqual([])
  expect(await work.read('new/inside')).toBe('by hand')
})

test('a directory above that is reached through a link to a file is not the directory any more', async () => {
  await makeFileOfDirectory()
  await work.remove('d')
  await fs.symlink('keep', work.path('d'))
  const result = await history.rewind('m1')
  expect(result).toMatchObject({ restored: [], deleted: [], conflicts: [] })
  expect(result.skipped.map(({ path }) => path)).toEqual(
    ['d', 'd/deep/er', 'd/f'].map((name) => work.path(name)),
  )
  expect(await work.read('keep')).toBe('k')
  expect(await failure(history.undoRewind())).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
})

test('a snapshot made after a directory became a file knows that what was in it is gone', async () => {
  const before = await work.files()
  await makeFileOfDirectory()
  await history.makeSnapshot('m2')
  expect(await history.readFileAt('m2', 'd/f')).toBe(null)
  expect(await history.planRewind('m1')).toMatchObject({ conflicts: [], skipped: [] })
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
})
