import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import {
  MAX_SNAPSHOTS,
  backupFile,
  loadCheckpoints,
  makeCheckpoint,
  rewindToCheckpoint,
} from '@loci/file-history'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkpointProject, emptyCheckpoints, failedOf } from './checkpoint-project.ts'
import type { CheckpointProject } from './checkpoint-project.ts'
import { failure } from './project.ts'

let work: CheckpointProject
beforeEach(async () => {
  work = await checkpointProject({ 'a.txt': 'a1', 'run.sh': { text: '#!/bin/sh\n', mode: 0o755 } })
})
afterEach(() => work.dispose())

describe('four functions', () => {
  test('no index is no checkpoints, and looking makes none', async () => {
    expect(await loadCheckpoints(work.file)).toEqual({ checkpoints: [], damage: [] })
    expect(Object.keys(await work.all())).toEqual(['project/a.txt', 'project/run.sh'])
  })

  test('a rewind without an index is refused and makes nothing', async () => {
    const before = await work.all()
    expect(await failure(work.rewind('m1'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
    expect(await work.all()).toEqual(before)
    await expect(fs.readdir(work.beside('state'))).rejects.toThrow('ENOENT')
  })

  test('calls of one process that nobody waits for are done in their order', async () => {
    const ids = Array.from({ length: 12 }, (_, n) => `m${n}`)
    await Promise.all([...ids.map((id) => work.make(id, 'a.txt')), work.rewind('m11'), work.backup('a.txt')])
    expect(await work.ids()).toEqual(ids)
  })

  test('bytes, modes, deletion and creation come back', async () => {
    const bytes = Buffer.from([0, 0xff, 0x0a, 0xc3, 0x28])
    await work.write('binary', bytes, 0o600)
    const before = await work.files()
    await work.make('m1', 'a.txt', 'run.sh', 'binary', 'new/file.txt')
    await work.write('a.txt', 'a2')
    await work.remove('run.sh')
    await work.write('binary', 'text', 0o644)
    await work.write('new/file.txt', 'made')
    await work.rewind('m1')
    expect(await work.files()).toEqual(before)
    expect(await fs.readFile(work.path('binary'))).toEqual(bytes)
  })

  test('a mode alone comes back', async () => {
    await work.make('m1', 'run.sh')
    await fs.chmod(work.path('run.sh'), 0o640)
    await work.rewind('m1')
    expect((await fs.stat(work.path('run.sh'))).mode & 0o7777).toBe(0o755)
  })

  test('what was loaded says where each file and its bytes are', async () => {
    await work.make('m1', 'a.txt', 'gone.txt')
    const { checkpoints, damage } = await loadCheckpoints(work.file)
    expect(damage).toEqual([])
    expect(checkpoints).toHaveLength(1)
    expect(checkpoints[0]?.messageId).toBe('m1')
    expect(checkpoints[0]?.timestamp).toBe('2026-01-01T00:00:01.000Z')
    const [a, gone] = checkpoints[0]?.files ?? []
    expect(a?.filePath).toBe(work.path('a.txt'))
    expect(a?.backupPath?.startsWith(`${work.file}.backups/`)).toBe(true)
    expect(await fs.readFile(a?.backupPath ?? '', 'utf8')).toBe('a1')
    expect(gone).toEqual({ filePath: work.path('gone.txt'), backupPath: null })
  })

  test('a file that the checkpoint does not name is left alone', async () => {
    await work.make('m1', 'a.txt')
    await work.write('other.txt', 'mine')
    await work.write('run.sh', 'mine')
    await work.rewind('m1')
    expect([await work.read('other.txt'), await work.read('run.sh')]).toEqual(['mine', 'mine'])
  })

  test('ids repeat, the last checkpoint counts; an unknown one is not found', async () => {
    await work.make('m1', 'a.txt')
    await work.write('a.txt', 'a2')
    await work.make('m1', 'a.txt')
    await work.write('a.txt', 'a3')
    await work.rewind('m1')
    expect(await work.read('a.txt')).toBe('a2')
    for (const id of ['m2', '__proto__', 'constructor', '']) {
      expect(await failure(work.rewind(id))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
    }
  })

  test('ids that are names of every object are ids like others', async () => {
    for (const id of ['__proto__', 'constructor', 'toString', '', 'line\nend']) {
      await work.write('a.txt', `before ${id}`)
      await work.make(id, 'a.txt')
    }
    await work.rewind('__proto__')
    expect(await work.read('a.txt')).toBe('before __proto__')
    await work.rewind('')
    expect(await work.read('a.txt')).toBe('before ')
  })

  test('a wrong type is a TypeError', async () => {
    const wrong = 1 as unknown as string
    const { file } = work
    for (const call of [
      () => makeCheckpoint(wrong, [], { file }),
      () => makeCheckpoint('m', wrong as unknown as string[], { file }),
      () => makeCheckpoint('m', [wrong], { file }),
      () => makeCheckpoint('m', [], { file: wrong }),
      () => rewindToCheckpoint(wrong, { file }),
      () => backupFile(wrong, 'm', { file }),
      () => backupFile('a', wrong, { file }),
      () => loadCheckpoints(wrong),
    ])
      expect(await failure(call())).toBeInstanceOf(TypeError)
  })

  test('one file under several spellings is one file, through a linked directory too', async () => {
    await fs.symlink(work.root, work.beside('also'))
    await makeCheckpoint(
      'm1',
      [work.path('a.txt'), work.path('x/../a.txt'), work.beside('also/a.txt'), work.path('./a.txt')],
      { file: work.file },
    )
    const { checkpoints } = await loadCheckpoints(work.file)
    expect(checkpoints[0]?.files.map(({ filePath }) => filePath)).toEqual([work.path('a.txt')])
    expect(await work.damage()).toEqual([])
  })
})

describe('backups', () => {
  test('a backup of its own holds the bytes and the mode, and nothing removes it', async () => {
    const own = await work.backup('run.sh')
    expect(own.filePath).toBe(work.path('run.sh'))
    expect(await work.ids()).toEqual([])
    await work.make('m1', 'run.sh')
    await work.write('run.sh', 'changed')
    const index = JSON.parse(await fs.readFile(work.file, 'utf8')) as { checkpoints: unknown[] }
    index.checkpoints.push(...emptyCheckpoints(MAX_SNAPSHOTS - 1))
    await fs.writeFile(work.file, JSON.stringify(index))
    await work.make('m2', 'run.sh')
    expect(await work.ids()).not.toContain('m1')
    expect(await fs.readdir(`${work.file}.backups`)).toHaveLength(2)
    expect(await fs.readFile(own.backupPath ?? '', 'utf8')).toBe('#!/bin/sh\n')
    expect((await fs.stat(own.backupPath ?? '')).mode & 0o7777).toBe(0o755)
    expect(await work.backup('none')).toEqual({ filePath: work.path('none'), backupPath: null })
  })

  test('no backup is written again, or shares an inode with a live file', async () => {
    await work.make('m1', 'a.txt')
    const [first] = (await loadCheckpoints(work.file)).checkpoints[0]?.files ?? []
    await work.write('a.txt', 'a2')
    await work.make('m2', 'a.txt')
    await work.rewind('m1')
    await fs.appendFile(work.path('a.txt'), ' and more')
    await work.rewind('m2')
    await fs.appendFile(work.path('a.txt'), ' and more')
    await work.make('m3', 'a.txt')
    await fs.appendFile(work.path('a.txt'), ' and more')
    expect(await fs.readFile(first?.backupPath ?? '', 'utf8')).toBe('a1')
    await work.rewind('m3')
    expect(await work.read('a.txt')).toBe('a2 and more')
  })

  test('an unchanged file takes no room again', async () => {
    await work.make('m1', 'a.txt')
    await work.make('m2', 'a.txt')
    const { checkpoints } = await loadCheckpoints(work.file)
    const paths = checkpoints.map(({ files }) => files[0]?.backupPath ?? '')
    const inodes = await Promise.all(paths.map(async (path) => (await fs.stat(path)).ino))
    expect(new Set(inodes).size).toBe(1)
    await fs.chmod(work.path('a.txt'), 0o600)
    await work.make('m3', 'a.txt')
    await fs.chmod(work.path('a.txt'), 0o644)
    await work.rewind('m3')
    expect((await fs.stat(work.path('a.txt'))).mode & 0o7777).toBe(0o600)
  })

  test('a name that something else has taken is passed over', async () => {
    await work.make('m1', 'a.txt')
    const taken = (await loadCheckpoints(work.file)).checkpoints[0]?.files[0]?.backupPath ?? ''
    await fs.writeFile(taken.replace(/@v1$/, '@v7'), 'of somebody')
    await work.write('a.txt', 'a2')
    await work.make('m2', 'a.txt')
    expect(await fs.readFile(taken.replace(/@v1$/, '@v7'), 'utf8')).toBe('of somebody')
    await work.rewind('m1')
    expect(await work.read('a.txt')).toBe('a1')
  })

  test('of more than a hundred checkpoints the oldest goes with its backups, and no backup that is still named', async () => {
    for (let n = 0; n < MAX_SNAPSHOTS + 3; n += 1) {
      if (n % 2 === 0) await work.write('a.txt', `state ${n}`)
      await work.make(`m${n}`, 'a.txt')
    }
    const { checkpoints } = await loadCheckpoints(work.file)
    expect(checkpoints.map(({ messageId }) => messageId)).toEqual(
      Array.from({ length: MAX_SNAPSHOTS }, (_, n) => `m${n + 3}`),
    )
    expect(await failure(work.rewind('m2'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
    expect(await fs.readdir(`${work.file}.backups`)).toHaveLength(MAX_SNAPSHOTS)
    await work.rewind('m3')
    expect(await work.read('a.txt')).toBe('state 2')
    // A rewind makes a checkpoint too; that costs none of the others.
    expect(await work.ids()).toHaveLength(MAX_SNAPSHOTS + 1)
    await work.rewind('m3')
  })
})

describe('nobody loses work by a rewind', () => {
  test('what it overwrites, deletes and makes is a checkpoint, and so is what that one overwrites', async () => {
    await work.make('m1', 'a.txt', 'run.sh', 'new.txt')
    await work.write('a.txt', 'my work', 0o600)
    await work.write('new.txt', 'mine too')
    await work.remove('run.sh')
    const mine = await work.files()
    await work.rewind('m1')
    const rewound = await work.files()
    expect(await work.ids()).toEqual(['m1', 'before-rewind-1'])
    await work.rewind('before-rewind-1')
    expect(await work.files()).toEqual(mine)
    await work.rewind('before-rewind-2')
    expect(await work.files()).toEqual(rewound)
    expect(await work.ids()).toEqual(['m1', 'before-rewind-1', 'before-rewind-2', 'before-rewind-3'])
  })

  test('a rewind that has nothing to do makes nothing', async () => {
    await work.make('m1', 'a.txt', 'gone.txt')
    const before = await work.all()
    await work.rewind('m1')
    expect(without(await work.all(), /\.lock\./)).toEqual(without(before, /\.lock\./))
  })

  test('the ids of a user are not taken', async () => {
    await work.make('before-rewind-4', 'a.txt')
    await work.write('a.txt', 'a2')
    await work.rewind('before-rewind-4')
    expect(await work.ids()).toEqual(['before-rewind-4', 'before-rewind-5'])
  })

  test.each([
    ['looked at and kept', 'lstat', '/a.txt', 3, ['run.sh']],
    ['kept and written', 'write', '/.loci-', 1, ['a.txt', 'run.sh']],
  ])('a file that somebody saves between being %s is left, and named', async (_, at, place, nth, kept) => {
    await work.make('m1', 'a.txt', 'run.sh')
    await work.write('a.txt', 'work')
    await work.write('run.sh', 'changed')
    let count = 0
    setFaultHook((operation, path) => {
      if (operation !== at || !path.includes(place) || (count += 1) !== nth) return undefined
      writeFileSync(work.path('a.txt'), 'saved just now')
      return undefined
    })
    const error = await failure(work.rewind('m1')).finally(() => setFaultHook(undefined))
    expect(failedOf(error)).toEqual([`${work.path('a.txt')} REWIND_CONFLICT`])
    expect(await work.read('a.txt')).toBe('saved just now')
    expect(await work.read('run.sh')).toBe('#!/bin/sh\n')
    const { files = [] } = (await loadCheckpoints(work.file)).checkpoints.at(-1) ?? {}
    expect(files.map(({ filePath }) => filePath)).toEqual(kept.map((name) => work.path(name)))
    await work.rewind('m1')
    expect(await work.read('a.txt')).toBe('a1')
    await work.rewind((await work.ids()).at(-1) ?? '')
    expect(await work.read('a.txt')).toBe('saved just now')
  })

  test('a hard-linked file is written in place, and its other name with it', async () => {
    await fs.link(work.path('a.txt'), work.path('b.txt'))
    await work.make('m1', 'a.txt')
    await work.write('a.txt', 'a longer text')
    await work.rewind('m1')
    expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a1', 'a1'])
    await work.rewind('before-rewind-1')
    expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a longer text', 'a longer text'])
  })
})

describe('what is no regular file', () => {
  const inItsPlace: [string, string, (path: string) => Promise<void>][] = [
    ['a link', 'PATH_LINK', (path) => fs.symlink(work.path('run.sh'), path)],
    ['a dangling link', 'PATH_LINK', (path) => fs.symlink('nowhere', path)],
    ['a pipe', 'PATH_INVALID', async (path) => void execFileSync('mkfifo', [path])],
    ['a directory', 'PATH_INVALID', (path) => fs.mkdir(path)],
  ]

  test.each(inItsPlace)(
    '%s is refused by makeCheckpoint and backupFile, and nothing is made',
    async (_, code, put) => {
      await put(work.path('odd'))
      expect(await failure(work.make('m1', 'a.txt', 'odd', 'run.sh'))).toMatchObject({ code })
      expect(await failure(work.backup('odd'))).toMatchObject({ code })
      expect(await work.ids()).toEqual([])
      expect(await fs.readdir(`${work.file}.backups`)).toEqual([])
    },
  )

  test.each(inItsPlace)('%s that came since is left, and the rest is brought back', async (_, code, put) => {
    await work.make('m1', 'a.txt', 'run.sh', 'gone.txt')
    await work.write('run.sh', 'changed')
    await work.remove('a.txt')
    await put(work.path('a.txt'))
    await put(work.path('gone.txt'))
    const odd = await work.files()
    const error = await failure(work.rewind('m1'))
    expect(isLociError(error, code)).toBe(true)
    expect(failedOf(error)).toEqual([`${work.path('a.txt')} ${code}`, `${work.path('gone.txt')} ${code}`])
    expect(String(error)).toContain(work.path('a.txt'))
    expect(await work.read('run.sh')).toBe('#!/bin/sh\n')
    expect(without(await work.files(), /run/)).toEqual(without(odd, /run/))
  })

  test('a directory on the way that is a link now leads nowhere', async () => {
    await work.write('src/x.txt', 'x1')
    await work.write('victim/x.txt', 'not yours')
    await work.make('m1', 'src/x.txt')
    await work.remove('src')
    await fs.symlink('victim', work.path('src'))
    const error = await failure(work.rewind('m1'))
    expect(failedOf(error)).toEqual([`${work.path('src/x.txt')} PATH_LINK`])
    expect(await work.read('victim/x.txt')).toBe('not yours')
  })

  test('the index, its backups and its lock are nobody else’s', async () => {
    await work.make('m1', 'a.txt')
    const { file } = work
    const backup = (await loadCheckpoints(file)).checkpoints[0]?.files[0]?.backupPath ?? ''
    for (const path of [file, backup, `${file}.backups`, `${file}.damaged-1`]) {
      expect(await failure(makeCheckpoint('m2', [path], { file }))).toMatchObject({ code: 'PATH_INVALID' })
    }
    expect(await work.ids()).toEqual(['m1'])
  })

  test('a file that cannot be written is named, and the rest is brought back', async () => {
    await work.write('b/x.txt', 'x1')
    await work.make('m1', 'a.txt', 'b/x.txt')
    await work.write('a.txt', 'a2')
    await work.remove('b')
    await work.write('b', 'a file where its directory was')
    const error = await failure(work.rewind('m1'))
    expect(failedOf(error)).toEqual([`${work.path('b/x.txt')} PATH_INVALID`])
    expect([await work.read('a.txt'), await work.read('b')]).toEqual(['a1', 'a file where its directory was'])
  })
})

function without<T>(tree: Record<string, T>, name: RegExp): Record<string, T> {
  return Object.fromEntries(Object.entries(tree).filter(([key]) => !name.test(key)))
}
