import * as fs from 'node:fs/promises'
import { backupFileName, linkBackups, openFileHistory, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// Public bug reports, each by its id: the right outcome, and the other members of its kind.

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'a0', 'ignored.log': 'i0', '.gitignore': '*.log\n' })
  history = await work.open()
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

async function turn(id: string, edits: Record<string, string | null>): Promise<void> {
  await history.makeSnapshot(id)
  for (const [name, text] of Object.entries(edits)) await edit(work, history, name, text, `${id}-answer`)
}

describe('F11: only the file itself goes, never a directory, and only where it certainly was absent', () => {
  test('in new directories with a file of the user among them', async () => {
    await turn('m1', { 'a/b/c/new.txt': 'new' })
    await work.write('a/b/user.txt', 'mine')
    expect(await history.rewind('m1')).toMatchObject({ deleted: [work.path('a/b/c/new.txt')] })
    expect(await work.read('a/b/user.txt')).toBe('mine')
    // The rule: directories stay, empty or not, new or not.
    expect((await fs.readdir(work.path('a/b'))).toSorted()).toEqual(['c', 'user.txt'])
    expect(await fs.readdir(work.path('a/b/c'))).toEqual([])
    await history.undoRewind()
    expect(await work.read('a/b/c/new.txt')).toBe('new')
  })

  test.each(['missing', 'empty', 'a directory', 'a link'])(
    'a backup that is %s is no absence',
    async (how) => {
      await turn('m1', { 'a.txt': 'a1' })
      const backup = work.inDir(backupFileName(work.path('a.txt'), 1))
      await fs.rm(backup)
      if (how === 'empty') await fs.writeFile(backup, '')
      if (how === 'a directory') await fs.mkdir(backup)
      if (how === 'a link') await fs.symlink(work.path('ignored.log'), backup)
      expect(await history.rewind('m1', { onConflict: 'overwrite' })).toMatchObject({
        restored: [],
        deleted: [],
        skipped: [{ path: work.path('a.txt'), reason: expect.stringContaining('backup') }],
      })
      expect(await work.read('a.txt')).toBe('a1')
    },
  )
})

describe('F12: only files that this session tracked are ever written', () => {
  test('from a subdirectory, with the rest changed by git meanwhile; also by undo and redo', async () => {
    await work.write('front/x', 'x0')
    await work.write('back/y', 'y0')
    await history.close()
    history = await work.open({ root: work.path('front'), dir: work.beside('sub') })
    await history.makeSnapshot('m1')
    await history.trackEdit('x', 'm1')
    await work.write('front/x', 'x1')
    await history.recordEdit('x', 'm1')
    await work.write('back/y', 'weeks later')
    await work.write('front/z', 'checked out')
    await history.makeSnapshot('m2')
    const others = async (): Promise<unknown[]> =>
      Object.entries(await work.files()).filter(([name]) => name !== 'front/x')
    const before = await others()
    for (const [step, text] of [
      [() => history.rewind('m2'), 'x1'],
      [() => history.rewind('m1'), 'x0'],
      [() => history.undoRewind(), 'x1'],
      [() => history.undoRewind(), 'x0'],
    ] as const) {
      await step()
      expect(await work.read('front/x')).toBe(text)
      expect(await others()).toEqual(before)
    }
  })

  test('a turn without edits changes nothing, however old it is', async () => {
    await turn('m1', {})
    await turn('m2', { 'a.txt': 'a1' })
    await turn('m3', {})
    await work.write('ignored.log', 'by git')
    const before = await work.files()
    const result = await history.rewind('m3')
    expect(result).toMatchObject({
      restored: [],
      deleted: [],
      undoable: false,
      unchanged: [work.path('a.txt')],
    })
    expect(await work.files()).toEqual(before)
    await history.rewind('m1')
    expect(await work.files()).toEqual({ ...before, 'a.txt': { mode: 0o644, text: 'a0' } })
  })
})

describe('F20: only an explicit rewind, undo or resolve writes into the project', () => {
  /** Every name below the root with all that a write would change, directories too. */
  async function stamps(): Promise<string[]> {
    const names = await fs.readdir(work.root, { recursive: true })
    return Promise.all(
      ['', ...names].map(async (name) => {
        const { ino, mode, size, mtimeNs, ctimeNs } = await fs.lstat(work.path(name), { bigint: true })
        return [name, ino, mode, size, mtimeNs, ctimeNs].join(' ')
      }),
    )
  }

  test('nothing else does, with files newer than all backups', async () => {
    await turn('m1', { 'a.txt': 'a1', 'd/new.txt': 'n1' })
    await turn('m2', { 'a.txt': 'a2' })
    await work.write('a.txt', 'newer than all')
    await work.remove('d/new.txt')
    const before = await stamps()
    const written: string[] = []
    const isWrite = /^(write|rename|unlink|rmdir|remove|mkdir|chmod|truncate|link|copy)$/
    setFaultHook((operation, path) => {
      if (isWrite.test(operation) && path.startsWith(`${work.root}/`)) written.push(`${operation} ${path}`)
      return undefined
    })
    const steps: (() => Promise<unknown>)[] = [
      () => history.planRewind('m1'),
      () => history.diff('m1', 'm2', { patch: true }),
      () => history.diff('m1'),
      () => history.readFileAt('m1', 'a.txt'),
      () => history.usage(),
      () => failure(history.rewind('m1')),
      () => history.makeSnapshot('m3'),
      () => history.trackEdit('a.txt', 'm3'),
      () => history.recordEdit('a.txt', 'm3'),
      () => history.trackCommand('m3', async () => undefined),
      () => history.rewind('m3'),
      () => history.gc(),
      () => verifyFileHistory(work),
      () => linkBackups({ fromDir: work.dir, toDir: work.beside('fork') }),
      async () => (await work.open({ dir: work.beside('fork'), maxSnapshots: 1 })).close(),
      async () => (await openFileHistory({ ...work, mode: 'read' })).close(),
      async () => {
        await history.close()
        history = await work.open({ maxSnapshots: 1, maxBytes: 1 })
        await history.makeSnapshot('m4')
      },
    ]
    for (const step of steps) {
      await step()
      expect(await stamps()).toEqual(before)
    }
    expect(written).toEqual([])
  })
})
