import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MAX_SNAPSHOTS, loadCheckpoints, makeCheckpoint } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkpointProject, emptyCheckpoints, failedOf } from './checkpoint-project.ts'
import type { CheckpointProject } from './checkpoint-project.ts'
import { failure } from './project.ts'

let work: CheckpointProject
beforeEach(async () => {
  work = await checkpointProject({ 'a.txt': 'a1', 'b.txt': 'b1', 'secret.txt': 'secret' })
})
afterEach(() => work.dispose())

interface Written {
  checkpoints: { messageId: string; files: Record<string, unknown>[] }[]
}

/** Changes the index as somebody would who wants to get at other files. */
async function tamper(change: (index: Written) => void): Promise<void> {
  const index = JSON.parse(await fs.readFile(work.file, 'utf8')) as Written
  change(index)
  await fs.writeFile(work.file, JSON.stringify(index))
}

async function aside(): Promise<string[]> {
  const names = await fs.readdir(dirname(work.file))
  return names.filter((name) => name.includes('.damaged-')).toSorted()
}

describe('an index that cannot be read', () => {
  const BROKEN: [string, string | Uint8Array][] = [
    ['cut short', '{"checkpoints":[{"messageId":"m1","files":['],
    ['empty', ''],
    ['zero bytes', new Uint8Array(64)],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a list', '[]'],
    ['null', 'null'],
    ['without checkpoints', '{"snapshots":[]}'],
    ['with checkpoints that are no list', '{"checkpoints":{"length":1}}'],
    ['nested without end', '['.repeat(10_000)],
  ]

  test.each(BROKEN)('%s reads as empty and says so', async (_, bytes) => {
    await fs.mkdir(dirname(work.file), { recursive: true })
    await fs.writeFile(work.file, bytes)
    expect((await loadCheckpoints(work.file)).checkpoints).toEqual([])
    expect(await work.damage()).toEqual(['bad-index'])
    expect(await failure(work.rewind('m1'))).toMatchObject({
      code: 'SNAPSHOT_NOT_FOUND',
      details: { damage: [{ kind: 'bad-index', path: work.file }] },
    })
    expect(await fs.readFile(work.file)).toEqual(Buffer.from(bytes))
  })

  test.each(BROKEN)(
    '%s is put aside whole before it is replaced, and reported from then on',
    async (_, bytes) => {
      await fs.mkdir(dirname(work.file), { recursive: true })
      await fs.writeFile(work.file, bytes)
      await work.make('m1', 'a.txt')
      expect(await aside()).toEqual(['checkpoints.json.damaged-1'])
      expect(await fs.readFile(`${work.file}.damaged-1`)).toEqual(Buffer.from(bytes))
      expect(await work.damage()).toEqual(['put-aside'])
      await work.write('a.txt', 'a2')
      await work.rewind('m1')
      expect(await work.read('a.txt')).toBe('a1')
      expect(await aside()).toEqual(['checkpoints.json.damaged-1'])
    },
  )

  test('a second one has a name of its own, and no backup goes as long as one is there', async () => {
    await work.make('m0', 'a.txt')
    await fs.writeFile(work.file, 'broken')
    await work.make('m1', 'a.txt')
    await fs.writeFile(work.file, 'broken again')
    await work.make('m2', 'b.txt')
    await tamper(({ checkpoints }) => checkpoints.push(...emptyCheckpoints(MAX_SNAPSHOTS - 1)))
    await work.make('m3', 'b.txt')
    expect(await work.ids()).not.toContain('m2')
    expect(await aside()).toEqual(['checkpoints.json.damaged-1', 'checkpoints.json.damaged-2'])
    expect(await fs.readFile(`${work.file}.damaged-1`, 'utf8')).toBe('broken')
    expect(await fs.readdir(`${work.file}.backups`)).toHaveLength(4)
  })

  test('put aside by a call that was cut off, it is not put aside again', async () => {
    await fs.mkdir(dirname(work.file), { recursive: true })
    await fs.writeFile(work.file, 'broken')
    await fs.link(work.file, `${work.file}.damaged-1`)
    await work.make('m1', 'a.txt')
    expect(await aside()).toEqual(['checkpoints.json.damaged-1'])
  })

  test('one that may not be read is an error, not an empty one', async () => {
    await work.make('m1', 'a.txt')
    const inFile = join(work.path('a.txt'), 'index.json')
    expect(await failure(loadCheckpoints(inFile))).toMatchObject({ code: 'PATH_INVALID' })
  })

  test('a link, or a directory, in the place of the index or the backups is refused and reported', async () => {
    await fs.mkdir(dirname(work.file), { recursive: true })
    await fs.symlink(work.path('secret.txt'), work.file)
    expect(await work.damage()).toEqual(['bad-index'])
    expect(await failure(work.make('m1', 'a.txt'))).toMatchObject({ code: 'PATH_LINK' })
    await fs.unlink(work.file)
    await fs.mkdir(work.file)
    expect(await work.damage()).toEqual(['bad-index'])
    expect(await failure(work.make('m1', 'a.txt'))).toMatchObject({ code: 'PATH_INVALID' })
    await fs.rmdir(work.file)
    await fs.symlink(work.root, `${work.file}.backups`)
    expect(await work.damage()).toEqual(['bad-folder'])
    expect(await failure(work.make('m1', 'a.txt'))).toMatchObject({ code: 'PATH_LINK' })
    await fs.unlink(`${work.file}.backups`)
    await fs.writeFile(`${work.file}.backups`, '')
    expect(await failure(work.make('m1', 'a.txt'))).toMatchObject({ code: 'PATH_INVALID' })
    expect(await work.read('secret.txt')).toBe('secret')
  })
})

describe('records that make no sense', () => {
  const outside: [string, (own: string) => unknown][] = [
    ['leads out of the folder', () => '../../project/secret.txt'],
    ['leads out of the folder in the middle', () => `${work.file}.backups/../../project/secret.txt`],
    ['is a file elsewhere', () => work.path('secret.txt')],
    ['is elsewhere and has the right name', (own) => work.path(own)],
    ['is a name in a folder of the folder', () => 'x/0123456789abcdef@v1'],
    ['is the folder', () => '.'],
    ['is no text', () => 7],
    ['is empty', () => ''],
    ['has a NUL', () => 'a\0@v1'],
  ]

  test.each(outside)('a backup that %s is damage, not followed, and named by the rewind', async (_, path) => {
    await work.make('m1', 'a.txt', 'b.txt')
    await tamper(({ checkpoints: [first] }) => {
      const file = first?.files[0] ?? {}
      file['backupPath'] = path(String(file['backupPath']))
    })
    await work.write('a.txt', 'a2')
    await work.write('b.txt', 'b2')
    const { checkpoints, damage } = await loadCheckpoints(work.file)
    expect(damage).toMatchObject([{ kind: 'bad-record', path: work.file }])
    expect(damage[0]?.message).toContain(work.path('a.txt'))
    expect(checkpoints[0]?.files.map(({ filePath }) => filePath)).toEqual([work.path('b.txt')])
    expect(failedOf(await failure(work.rewind('m1')))).toEqual([`${work.path('a.txt')} BACKUP_MISSING`])
    expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a2', 'b1'])
  })

  test.each([
    ['relative', () => 'a.txt'],
    ['not in its shortest form', () => `${work.root}/x/../a.txt`],
    ['the index', () => work.file],
    ['a backup', () => `${work.file}.backups/0123456789abcdef@v1`],
    ['no text', () => null],
    ['with a NUL', () => '/a\0b'],
  ] satisfies [string, () => unknown][])('a path that is %s is damage and never written', async (_, path) => {
    await work.make('m1', 'a.txt', 'b.txt')
    await tamper((index) => {
      Object.assign(index.checkpoints[0]?.files[0] ?? {}, { filePath: path(), backupPath: null })
    })
    await work.write('b.txt', 'b2')
    const before = await work.files()
    expect(await work.damage()).toEqual(['bad-record'])
    expect(await failure(work.rewind('m1'))).toMatchObject({ code: 'BACKUP_MISSING' })
    expect(await work.files()).toEqual({ ...before, 'b.txt': { mode: 0o644, text: 'b1' } })
    expect(await work.ids()).toEqual(['m1', 'before-rewind-1'])
  })

  test('a record that makes no sense stays as it was when others are added', async () => {
    await work.make('m1', 'a.txt')
    const odd = JSON.parse('{"__proto__":{"messageId":"m9","timestamp":"","files":[]},"kept":[1]}') as never
    await tamper((index) => index.checkpoints.unshift(odd, 'text' as never, { messageId: 'm0' } as never))
    await tamper((index) => Object.assign(index, { note: 'of another tool' }))
    await work.make('m2', 'b.txt')
    expect(await work.ids()).toEqual(['m1', 'm2'])
    expect(await work.damage()).toEqual(['bad-record', 'bad-record', 'bad-record'])
    expect(await failure(work.rewind('m9'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
    const text = await fs.readFile(work.file, 'utf8')
    const { checkpoints, note } = JSON.parse(text) as Written & { note: string }
    expect(checkpoints.slice(0, 3)).toEqual([odd, 'text', { messageId: 'm0' }])
    expect(Object.hasOwn(checkpoints[0] ?? {}, '__proto__')).toBe(true)
    expect(note).toBe('of another tool')
    expect(({} as { messageId?: string }).messageId).toBe(undefined)
    expect(await aside()).toEqual([])
  })

  test('a file that is named twice counts once, and that is damage', async () => {
    await work.make('m1', 'a.txt')
    await tamper(({ checkpoints: [first] }) => first?.files.push({ ...first.files[0], backupPath: null }))
    expect(await work.damage()).toEqual(['bad-record'])
    await work.write('a.txt', 'a2')
    expect(await failure(work.rewind('m1'))).toMatchObject({ code: 'BACKUP_MISSING' })
    expect(await work.read('a.txt')).toBe('a1')
  })

  test('a backup that two checkpoints name, as others may write it, stays as long as one does', async () => {
    await work.make('m1', 'a.txt')
    await tamper(({ checkpoints }) => {
      checkpoints.push({ ...checkpoints[0], messageId: 'm2', files: checkpoints[0]?.files ?? [] })
      checkpoints.push(...emptyCheckpoints(MAX_SNAPSHOTS - 2))
    })
    await work.make('m3', 'b.txt')
    expect((await work.ids()).slice(0, 1)).toEqual(['m2'])
    await work.write('a.txt', 'a2')
    await work.rewind('m2')
    expect(await work.read('a.txt')).toBe('a1')
  })

  test('an index with whole paths and nothing noted, as others may write it, is read', async () => {
    await work.make('m1', 'a.txt')
    await tamper(({ checkpoints: [first] }) => {
      const { filePath, backupPath } = first?.files[0] ?? {}
      first?.files.splice(0, 1, { filePath, backupPath: join(`${work.file}.backups`, String(backupPath)) })
    })
    expect(await work.damage()).toEqual([])
    await work.write('a.txt', 'a2')
    await work.rewind('m1')
    expect(await work.read('a.txt')).toBe('a1')
  })
})

describe('backups that are lost', () => {
  async function backupOf(name: string): Promise<string> {
    const { checkpoints } = await loadCheckpoints(work.file)
    const files = checkpoints.flatMap((one) => one.files)
    return files.find(({ filePath }) => filePath === work.path(name))?.backupPath ?? ''
  }

  test.each([
    ['missing', (path) => fs.unlink(path)],
    ['cut short', (path) => fs.truncate(path, 1)],
    ['empty', (path) => fs.truncate(path, 0)],
    ['other bytes of the same length', (path) => fs.writeFile(path, 'XX')],
    [
      'a link',
      async (path) => {
        await fs.unlink(path)
        await fs.symlink(work.path('secret.txt'), path)
      },
    ],
    [
      'a directory',
      async (path) => {
        await fs.unlink(path)
        await fs.mkdir(path)
      },
    ],
  ] satisfies [string, (path: string) => Promise<void>][])(
    '%s: that file is left and named, the rest comes back',
    async (_, lose) => {
      await work.make('m1', 'a.txt', 'b.txt')
      await lose(await backupOf('a.txt'))
      await work.write('a.txt', 'a2')
      await work.write('b.txt', 'b2')
      const error = await failure(work.rewind('m1'))
      expect(error).toMatchObject({
        code: 'BACKUP_MISSING',
        details: { kept: 'before-rewind-1', messageId: 'm1' },
      })
      expect(failedOf(error)).toEqual([`${work.path('a.txt')} BACKUP_MISSING`])
      expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a2', 'b1'])
    },
  )

  test('the backup of another file is not taken', async () => {
    await work.make('m1', 'a.txt', 'b.txt')
    await tamper(({ checkpoints: [first] }) => {
      const [a, b] = first?.files ?? []
      Object.assign(a ?? {}, { ...b, filePath: a?.['filePath'] })
    })
    expect(await work.damage()).toEqual(['bad-record'])
    await work.write('a.txt', 'a2')
    expect(await failure(work.rewind('m1'))).toMatchObject({ code: 'BACKUP_MISSING' })
    expect(await work.read('a.txt')).toBe('a2')
  })

  test('a lost backup is not shared by the next checkpoint', async () => {
    await work.make('m1', 'a.txt')
    await fs.writeFile(await backupOf('a.txt'), 'XX')
    await work.make('m2', 'a.txt')
    await work.write('a.txt', 'a2')
    await work.rewind('m2')
    expect(await work.read('a.txt')).toBe('a1')
  })

  test('the scratch of a call that was killed goes with the next', async () => {
    await work.make('m1', 'a.txt')
    await fs.writeFile(`${work.file}.backups/.stage-01234567.tmp`, 'half')
    await makeCheckpoint('m2', [work.path('b.txt')], { file: work.file })
    expect((await fs.readdir(`${work.file}.backups`)).filter((name) => name.startsWith('.'))).toEqual([])
  })
})
