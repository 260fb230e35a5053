import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { isLociError } from '@loci/disk'
import { linkBackups, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkpointProject } from './checkpoint-project.ts'
import { filesBelow } from './fault-scene.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'plain.txt': 'p1' })
  history = await work.open()
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

/** Bytes that a path may have, without the NUL at its end. */
const PATH_BYTES = process.platform === 'linux' ? 4095 : 1023
/** What the name of a file in the making needs beside another, with the slash. */
const SCRATCH_BYTES = 27

/** Makes a directory below the project whose path has so many bytes. */
function makeDeep(bytes: number): string {
  let path = work.root
  while (bytes - path.length > 202) path += `/${'d'.repeat(199)}`
  path += `/${'d'.repeat(bytes - path.length - 1)}`
  mkdirSync(path, { recursive: true })
  return path
}

describe('long paths', () => {
  test('as long as a file in the making fits beside it: as any file', async () => {
    const deep = makeDeep(PATH_BYTES - SCRATCH_BYTES)
    writeFileSync(`${deep}/f`, 'one', { mode: 0o640 })
    await history.makeSnapshot('m1')
    await edit(work, history, relative(work.root, `${deep}/f`), 'two')
    await history.trackCommand('c', async () => writeFileSync(`${deep}/g`, 'made'))
    const after = filesBelow(work.root)
    const result = await history.rewind('m1')
    expect(result).toMatchObject({
      restored: [`${deep}/f`],
      deleted: [`${deep}/g`],
      skipped: [],
      conflicts: [],
    })
    expect(readFileSync(`${deep}/f`, 'utf8')).toBe('one')
    await history.undoRewind()
    expect(filesBelow(work.root)).toEqual(after)
    expect(await verifyFileHistory(work)).toEqual([])
  })

  test('where none fits it keeps its bytes and is named, and the others come back', async () => {
    const deep = makeDeep(PATH_BYTES - SCRATCH_BYTES + 1)
    writeFileSync(`${deep}/f`, 'one')
    await history.makeSnapshot('m1')
    await edit(work, history, relative(work.root, `${deep}/f`), 'two')
    await edit(work, history, 'plain.txt', 'two')
    expect(await history.rewind('m1')).toMatchObject({
      restored: [work.path('plain.txt')],
      skipped: [{ path: `${deep}/f`, reason: expect.stringContaining('too long') }],
    })
    expect(readFileSync(`${deep}/f`, 'utf8')).toBe('two')
    expect(history.pendingRewind).toBeNull()
  })

  test.each([
    ['a name of 256 bytes', () => 'n'.repeat(256)],
    ['a name of 86 characters that have 258 bytes', () => '語'.repeat(86)],
    ['a path beyond the limit of the system', () => `${`${'d'.repeat(200)}/`.repeat(21)}f`],
  ])('%s is refused as no path of a file, by all who take one', async (_, nameOf) => {
    const name = nameOf()
    await history.makeSnapshot('m1')
    for (const call of [
      history.trackEdit(name, 'e'),
      history.recordEdit(name, 'e'),
      history.readFileAt('m1', name),
    ]) {
      expect(isLociError(await failure(call), 'PATH_INVALID', 'BACKUP_MISSING')).toBe(true)
    }
    await edit(work, history, 'plain.txt', 'p2')
    await history.rewind('m1')
    expect(await work.read('plain.txt')).toBe('p1')
  })
})

describe('names that mean something elsewhere', () => {
  const NAMES = [
    '__proto__',
    'constructor',
    'toString/hasOwnProperty',
    '__proto__x/__proto__',
    'new\nline',
    '"quoted" \'and\' `more` $(x)',
    '\\u0000 \\n',
    ' spaces ',
    '\u2028\u2029\u0085',
    '\x1b[31mred',
    '~',
    '*.txt',
    'a.txt@v1',
    '語'.repeat(85),
  ]

  test('through edit, command, snapshot, reopening, fork, diff, rewind, undo and the four functions', async () => {
    for (const [index, name] of NAMES.entries()) await work.write(name, `${index} one`)
    const before = filesBelow(work.root)
    await history.makeSnapshot('__proto__')
    for (const name of NAMES.slice(0, 7)) await edit(work, history, name, 'two', 'constructor')
    const { changed, untracked } = await history.trackCommand('toString', async () => {
      for (const name of NAMES.slice(7)) writeFileSync(work.path(name), 'two')
      rmSync(work.path('__proto__'))
    })
    expect([changed.length, untracked]).toEqual([NAMES.length - 6, []])
    const after = filesBelow(work.root)
    await history.makeSnapshot('m2')
    await history.close()
    const fork = work.beside('__proto__')
    await linkBackups({ fromDir: work.dir, toDir: fork })
    for (const dir of [fork, work.dir]) {
      history = await work.open({ dir })
      const paths = (await history.diff('__proto__', 'm2')).map(({ path }) => path)
      expect(paths.toSorted()).toEqual(NAMES.map((name) => work.path(name)).toSorted())
      expect(await history.readFileAt('__proto__', '__proto__')).toEqual(Buffer.from('0 one'))
      expect(await history.rewind('__proto__')).toMatchObject({ skipped: [], conflicts: [] })
      expect(filesBelow(work.root)).toEqual(before)
      await history.undoRewind()
      expect(filesBelow(work.root)).toEqual(after)
      await history.close()
      expect(await verifyFileHistory({ dir, root: work.root })).toEqual([])
    }
    const checkpoints = await checkpointProject()
    for (const [index, name] of NAMES.entries()) await checkpoints.write(name, `${index} one`)
    await checkpoints.make('__proto__', ...NAMES)
    for (const name of NAMES) await checkpoints.remove(name).catch(() => undefined)
    await checkpoints.rewind('__proto__')
    expect({ ...filesBelow(checkpoints.root), 'plain.txt': before['plain.txt'] }).toEqual(before)
    await checkpoints.dispose()
  })
})

/** Does it as a user who may not do everything. Root becomes one for that while; any other user is one. */
async function asUser<T>(action: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return action()
  for (const path of ['', ...readdirSync(work.beside('.'), { recursive: true, encoding: 'utf8' })]) {
    chownSync(work.beside(path), 65534, 65534)
  }
  process.seteuid?.(65534)
  try {
    return await action()
  } finally {
    process.seteuid?.(0)
  }
}

describe('as a user who may not read everything', () => {
  test('a file of mode 0000 is refused before the edit; nothing of it is recorded, and others go on', () =>
    asUser(async () => {
      await work.write('secret', 'mine', 0o000)
      await history.makeSnapshot('m1')
      const error = await failure(history.trackEdit('secret', 'e'))
      expect(error).toMatchObject({ code: 'DISK_IO', details: { errno: 'EACCES' } })
      expect((await history.planRewind('m1')).skipped).toEqual([])
      await edit(work, history, 'plain.txt', 'p2')
      expect(await history.rewind('m1')).toMatchObject({ restored: [work.path('plain.txt')] })
      chmodSync(work.path('secret'), 0o600)
      expect(await work.read('secret')).toBe('mine')
      await edit(work, history, 'secret', 'edited')
      await history.rewind('m1')
      expect(await work.read('secret')).toBe('mine')
    }))

  test('a tracked file that becomes one keeps its last state and is named, never overwritten or deleted', () =>
    asUser(async () => {
      await work.write('a.txt', 'a1')
      await history.makeSnapshot('m1')
      for (const name of ['a.txt', 'plain.txt', 'made.txt']) await edit(work, history, name, 'two')
      await history.makeSnapshot('m2')
      for (const name of ['a.txt', 'made.txt']) {
        writeFileSync(work.path(name), 'by hand')
        chmodSync(work.path(name), 0o000)
      }
      await history.makeSnapshot('m3')
      expect((await verifyFileHistory(work)).map(({ kind, path }) => [kind, path])).toEqual([
        ['unseen-file', work.path('a.txt')],
        ['unseen-file', work.path('made.txt')],
      ])
      expect(await history.readFileAt('m3', 'a.txt')).toEqual(Buffer.from('two'))
      const { restored, skipped, deleted } = await history.rewind('m1', { onConflict: 'overwrite' })
      expect([restored, deleted]).toEqual([[work.path('plain.txt')], []])
      expect(skipped.map(({ path }) => path)).toEqual([work.path('a.txt'), work.path('made.txt')])
      for (const name of ['a.txt', 'made.txt']) {
        chmodSync(work.path(name), 0o600)
        expect(await work.read(name)).toBe('by hand')
      }
    }))

  test('in a directory that may not be written a file stays and is named; the next rewind finishes', () =>
    asUser(async () => {
      await work.write('d/a.txt', 'a1')
      await history.makeSnapshot('m1')
      for (const name of ['d/a.txt', 'd/made.txt', 'plain.txt']) await edit(work, history, name, 'two')
      chmodSync(work.path('d'), 0o555)
      const { restored, skipped } = await history.rewind('m1')
      expect(restored).toEqual([work.path('plain.txt')])
      expect(skipped.map(({ path }) => path)).toEqual([work.path('d/a.txt'), work.path('d/made.txt')])
      expect(await work.read('d/a.txt')).toBe('two')
      chmodSync(work.path('d'), 0o755)
      expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
      expect([await work.read('d/a.txt'), await work.read('d/made.txt')]).toEqual(['a1', null])
    }))

  test('a directory that may not be entered: its files are named by a command and a rewind, and nothing is taken for absent', () =>
    asUser(async () => {
      await work.write('d/a.txt', 'a1')
      await history.makeSnapshot('m1')
      await edit(work, history, 'd/a.txt', 'a2')
      const { untracked } = await history.trackCommand('c', async () => chmodSync(work.path('d'), 0o000))
      expect(untracked.length).toBeGreaterThan(0)
      await history.makeSnapshot('m2')
      expect(await history.readFileAt('m2', 'plain.txt').catch(() => 'not tracked')).toBe('not tracked')
      const { skipped, deleted } = await history.rewind('m1')
      expect(skipped.map(({ path }) => path)).toContain(work.path('d/a.txt'))
      expect(deleted).toEqual([])
      chmodSync(work.path('d'), 0o755)
      expect(await work.read('d/a.txt')).toBe('a2')
      await history.rewind('m1', { onConflict: 'overwrite' })
      expect(await work.read('d/a.txt')).toBe('a1')
    }))

  test('a history that may not be written refuses the edit, and stays as it is', () =>
    asUser(async () => {
      await history.makeSnapshot('m1')
      await edit(work, history, 'plain.txt', 'p2')
      await work.write('other.txt', 'o1')
      chmodSync(work.dir, 0o555)
      const before = filesBelow(work.dir)
      expect(await failure(history.trackEdit('other.txt', 'e'))).toMatchObject({ code: 'DISK_IO' })
      expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'DISK_IO' })
      expect(filesBelow(work.dir)).toEqual(before)
      expect(await work.read('plain.txt')).toBe('p2')
      chmodSync(work.dir, 0o755)
      await history.rewind('m1')
      expect(await work.read('plain.txt')).toBe('p1')
    }))
})
