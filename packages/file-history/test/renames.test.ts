import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'src/a.txt': { text: 'a1', mode: 0o755 }, 'src/d/b.txt': 'b1', 'other.txt': 'o1' })
  history = await work.open()
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const move = (from: string, to: string): Promise<void> => fs.rename(work.path(from), work.path(to))
const sh = (script: string) => async (): Promise<string> =>
  execFileSync('sh', ['-c', script], { cwd: work.root, encoding: 'utf8' })

/** The kinds and names of what the plan would do, with where it says a file was moved from. */
async function plan(messageId: string): Promise<string[]> {
  const { changes, conflicts, skipped } = await history.planRewind(messageId)
  expect([conflicts, skipped]).toEqual([[], []])
  const short = (path: string): string => path.slice(work.root.length + 1)
  return changes.map(
    ({ kind, path, renamedFrom }) =>
      `${kind} ${short(path)}${renamedFrom ? ` from ${short(renamedFrom)}` : ''}`,
  )
}

test('a file that somebody moved goes on under its new name; a rewind puts the old name back, an undo the new', async () => {
  const before = await work.files()
  await edit(work, history, 'src/a.txt', 'a2')
  await move('src/a.txt', 'src/renamed.txt')
  await history.makeSnapshot('m2')
  await edit(work, history, 'src/renamed.txt', 'a3', 'e2')
  const after = await work.files()
  expect(await plan('m1')).toEqual(['create src/a.txt from src/renamed.txt', 'delete src/renamed.txt'])
  expect((await history.diff('m1')).map(({ kind, renamedFrom }) => [kind, renamedFrom])).toEqual([
    ['delete', undefined],
    ['create', work.path('src/a.txt')],
  ])
  expect(Buffer.from((await history.readFileAt('m2', 'src/renamed.txt')) ?? []).toString()).toBe('a2')
  expect(await history.readFileAt('m1', 'src/renamed.txt')).toBeNull()
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
  await history.undoRewind()
  expect(await work.files()).toEqual(after)
  await history.rewind('m2')
  expect(await work.read('src/renamed.txt')).toBe('a2')
  expect(await verifyFileHistory(work)).toEqual([])
})

test('moved while nobody had it open: it is found all the same; what somebody writes there since is a conflict', async () => {
  await edit(work, history, 'src/a.txt', 'a2')
  await history.makeSnapshot('before')
  await history.close()
  await move('src/a.txt', 'other')
  history = await work.open()
  await history.makeSnapshot('m2')
  await history.close()
  history = await work.open()
  await work.write('other', 'the user’s')
  expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'REWIND_CONFLICT' })
  expect(await history.rewind('m1', { onConflict: 'skip' })).toMatchObject({
    restored: [work.path('src/a.txt')],
    conflicts: [{ path: work.path('other') }],
  })
  expect(await work.read('other')).toBe('the user’s')
})

test('a moved folder: its files are found in it', async () => {
  const before = await work.files()
  await edit(work, history, 'src/a.txt', 'a2')
  await edit(work, history, 'src/d/b.txt', 'b2')
  await move('src', 'lib')
  await history.makeSnapshot('m2')
  expect(await plan('m1')).toEqual([
    'delete lib/a.txt',
    'delete lib/d/b.txt',
    'create src/a.txt from lib/a.txt',
    'create src/d/b.txt from lib/d/b.txt',
  ])
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
})

test('moved twice, between snapshots: the first name comes back, and both moves are one in a diff', async () => {
  await edit(work, history, 'src/a.txt', 'a2')
  await move('src/a.txt', 'src/second.txt')
  await history.makeSnapshot('m2')
  await history.trackCommand('c1', sh('mv src/second.txt third.txt'))
  await history.makeSnapshot('m3')
  expect(await plan('m1')).toEqual(['create src/a.txt from third.txt', 'delete third.txt'])
  expect(await plan('m2')).toEqual(['create src/second.txt from third.txt', 'delete third.txt'])
  expect((await history.diff('m1', 'm3')).map(({ renamedFrom }) => renamedFrom)).toEqual([
    undefined,
    work.path('src/a.txt'),
  ])
  await history.rewind('m1')
  expect([await work.read('src/a.txt'), await work.read('third.txt')]).toEqual(['a1', null])
})

test('a file that the agent moves by a write and a deletion is named as moved', async () => {
  await edit(work, history, 'src/new.txt', 'o1')
  await edit(work, history, 'other.txt', null)
  await history.makeSnapshot('m2')
  expect(await plan('m1')).toEqual(['create other.txt from src/new.txt', 'delete src/new.txt'])
  await history.rewind('m1')
  expect([await work.read('other.txt'), await work.read('src/new.txt')]).toEqual(['o1', null])
})

test('of two files that could be the moved one, none is named', async () => {
  await edit(work, history, 'one.txt', 'o1')
  await edit(work, history, 'two.txt', 'o1')
  await edit(work, history, 'other.txt', null)
  await history.makeSnapshot('m2')
  expect(await plan('m1')).toEqual(['delete one.txt', 'create other.txt', 'delete two.txt'])
})

test('a command that moves files, a folder, and over a file: all names are back, and each move is named', async () => {
  const before = await work.files()
  await edit(work, history, 'other.txt', 'o2')
  await history.trackCommand('c1', sh('mv src lib; mv other.txt lib/a.txt; cp lib/d/b.txt c.txt'))
  const after = await work.files()
  // What stands in the place of another file is no file that was made.
  expect(await plan('m1')).toEqual([
    'delete c.txt',
    'delete lib/a.txt',
    'delete lib/d/b.txt',
    'create other.txt from lib/a.txt',
    'create src/a.txt',
    'create src/d/b.txt from lib/d/b.txt',
  ])
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
  await history.undoRewind()
  expect(await work.files()).toEqual(after)
})

test('a command moves over a file that nobody tracked, and a snapshot is taken meanwhile: both come back', async () => {
  const before = await work.files()
  await edit(work, history, 'src/a.txt', 'a2')
  await history.trackCommand('c1', async () => {
    await move('src/a.txt', 'other.txt')
    await move('src/d/b.txt', 'src/new.txt')
    await history.makeSnapshot('m2')
  })
  expect((await history.rewind('m1')).skipped).toEqual([])
  expect(await work.files()).toEqual(before)
})

test.each<[string, () => Promise<void>]>([
  [
    'a copy of the same bytes',
    async () => work.write('src/b.txt', 'a2', 0o755).then(() => work.remove('src/a.txt')),
  ],
  [
    'a file that was moved and changed',
    () => move('src/a.txt', 'src/b.txt').then(() => work.write('src/b.txt', 'a3')),
  ],
  [
    'a file of other permissions',
    () => move('src/a.txt', 'src/b.txt').then(() => fs.chmod(work.path('src/b.txt'), 0o600)),
  ],
  [
    'a file with two names',
    () =>
      fs
        .link(work.path('src/a.txt'), work.path('src/b.txt'))
        .then(() => fs.link(work.path('src/a.txt'), work.beside('c.txt')))
        .then(() => work.remove('src/a.txt')),
  ],
  [
    'a file below a link',
    async () => {
      await fs.mkdir(work.beside('elsewhere/d'), { recursive: true })
      await fs.rename(work.path('src/a.txt'), work.beside('elsewhere/a.txt'))
      await fs.rm(work.path('src'), { recursive: true })
      await fs.symlink(work.beside('elsewhere'), work.path('link'))
    },
  ],
])('where it is not certain that a file was moved, nothing is taken in: %s', async (_, change) => {
  await edit(work, history, 'src/a.txt', 'a2')
  await change()
  const made = await work.files()
  await history.makeSnapshot('m2')
  expect(Object.keys(history.snapshots().at(-1)?.trackedFileBackups ?? {})).toEqual(['src/a.txt'])
  expect(await plan('m1')).toEqual(['create src/a.txt'])
  await history.rewind('m1')
  const { 'src/a.txt': back, ...others } = await work.files()
  expect([back, others]).toEqual([{ text: 'a1', mode: 0o755 }, made])
})

test('a file that had two names when it was last seen may have been under the other all along', async () => {
  await fs.link(work.path('src/a.txt'), work.path('src/b.txt'))
  await history.trackEdit('src/a.txt', 'e1')
  await history.recordEdit('src/a.txt', 'e1')
  await work.remove('src/a.txt')
  await history.makeSnapshot('m2')
  await history.rewind('m1')
  expect([await work.read('src/a.txt'), await work.read('src/b.txt')]).toEqual(['a1', 'a1'])
})

test('looking for a moved file takes a look at each name in a few folders, and only when one is gone', async () => {
  await edit(work, history, 'src/a.txt', 'a2')
  await edit(work, history, 'other.txt', 'o2')
  const listed: string[] = []
  setFaultHook((operation, path) => {
    if (operation === 'readdir' && path.startsWith(work.root)) listed.push(path)
    return undefined
  })
  await history.makeSnapshot('m2')
  expect(listed).toEqual([])
  await move('src/a.txt', 'src/b.txt')
  await history.makeSnapshot('m3')
  expect(listed.toSorted()).toEqual([work.root, work.path('src')])
  await history.makeSnapshot('m4')
  expect(listed).toHaveLength(2)
  expect(Object.keys(history.snapshots().at(-1)?.trackedFileBackups ?? {})).toContain('src/b.txt')
})

test('a moved file that cannot be read just then stays somebody’s own', async () => {
  await edit(work, history, 'src/a.txt', 'a2')
  await move('src/a.txt', 'src/b.txt')
  setFaultHook((operation, path) =>
    operation === 'open' && path === work.path('src/b.txt')
      ? Object.assign(new Error('injected'), { code: 'EACCES' })
      : undefined,
  )
  await history.makeSnapshot('m2')
  setFaultHook(undefined)
  await history.rewind('m1')
  expect([await work.read('src/a.txt'), await work.read('src/b.txt')]).toEqual(['a1', 'a2'])
})

test('without the lines that name the moves, the rewind is the same', async () => {
  await edit(work, history, 'src/a.txt', 'a2')
  await move('src/a.txt', 'src/b.txt')
  await history.makeSnapshot('m2')
  await history.close()
  await fs.rm(work.inDir('edits.jsonl'))
  history = await work.open()
  expect(await plan('m1')).toEqual(['create src/a.txt', 'delete src/b.txt'])
})
