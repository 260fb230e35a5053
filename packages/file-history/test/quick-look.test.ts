import * as fs from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FolderNames } from '../src/folder-names.ts'
import { QuickLook } from '../src/quick-look.ts'
import { StatCache } from '../src/stat-cache.ts'
import { operationsOf } from './aged.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a/b/other.txt': 'o', 'x/other.txt': 'o' })
})
afterEach(() => work.dispose())

/** Whether a look proves that `a/b/none.txt` is absent in its directory, as it was recorded. */
function proves(key = 'a/b/none.txt'): boolean {
  const backup = {
    backupFileName: null,
    version: 1,
    backupTime: '2026-01-01T00:00:00.000Z',
    realParentDir: work.path('a/b'),
  }
  const look = new QuickLook({
    root: work.root,
    names: new FolderNames(work.dir),
    latest: new Map([[key, backup]]),
    cache: new StatCache(work.dir),
    places: new Map(),
  })
  return look.atOnce(key) === backup
}

test('a file is in its directory where that is one, and every directory above it', async () => {
  expect(proves()).toBe(true)
  expect(proves(work.path('a/b/none.txt'))).toBe(true)
})

test('a link in the place of its directory, or of one above, proves nothing', async () => {
  await fs.rename(work.path('a/b'), work.path('a/c'))
  expect(proves()).toBe(false)
  await fs.symlink(work.path('a/c'), work.path('a/b'))
  expect(proves()).toBe(false)
  await fs.unlink(work.path('a/b'))
  await fs.rename(work.path('a/c'), work.path('a/b'))
  expect(proves()).toBe(true)
  await fs.rename(work.path('a'), work.path('moved'))
  await fs.symlink(work.path('moved'), work.path('a'))
  expect(proves()).toBe(false)
})

test('nor does a file in the place of its directory, nor a root that is a link now', async () => {
  await fs.rename(work.root, work.beside('moved'))
  await fs.symlink(work.beside('moved'), work.root)
  expect(proves()).toBe(false)
  await fs.unlink(work.root)
  await fs.rename(work.beside('moved'), work.root)
  await fs.rename(work.path('a/b'), work.path('a/c'))
  await work.write('a/b', 'a file')
  expect(proves()).toBe(false)
})

test('directories below the root are looked at, and the real path is asked of the root alone', async () => {
  const seen = await operationsOf(async () => expect(proves()).toBe(true))
  const looks = seen.filter(([operation]) => operation === 'lstat' || operation === 'realpath')
  expect(looks.toSorted((a, b) => (a.join() < b.join() ? -1 : 1))).toEqual([
    ['lstat', work.path('a')],
    ['lstat', work.path('a/b')],
    ['lstat', work.path('a/b/none.txt')],
    ['realpath', work.root],
  ])
})
