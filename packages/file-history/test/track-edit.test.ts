import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createServer } from 'node:net'
import { backupFileName, verifyFileHistory } from '@loci/file-history'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'one', 'dir/b.txt': 'two' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

test('the backup is named for the absolute path, holds bytes and mode, and is on an inode of its own', async () => {
  await fs.chmod(work.path('a.txt'), 0o754)
  const history = await work.open()
  const backup = await history.trackEdit('a.txt', 'a')
  expect(backup).toEqual({
    backupFileName: backupFileName(work.path('a.txt'), 1),
    version: 1,
    backupTime: expect.stringMatching(/^2026-01-01T.*Z$/),
    realParentDir: work.root,
  })
  expect((await work.all())[`history/${backup.backupFileName}`]).toEqual({ mode: 0o754, text: 'one' })
  const [live, kept] = [
    await fs.stat(work.path('a.txt')),
    await fs.stat(work.inDir(backup.backupFileName ?? '')),
  ]
  expect(kept.ino).not.toBe(live.ino)
  expect(kept.nlink).toBe(1)
  await history.close()
})

test('a file that does not exist is tracked as absent, without a blob', async () => {
  const history = await work.open()
  expect(await history.trackEdit('new/c.txt', 'a')).toMatchObject({
    backupFileName: null,
    version: 1,
    realParentDir: work.path('new'),
  })
  expect(Object.keys(await work.all()).filter((name) => name.includes('@v'))).toEqual([])
  await history.close()
})

test('without a snapshot a first one is made, and edits of parallel workers join it', async () => {
  const history = await work.open()
  await Promise.all([history.trackEdit('a.txt', 'w1'), history.trackEdit('dir/b.txt', 'w2')])
  expect(history.snapshots()).toHaveLength(1)
  expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {}).toSorted()).toEqual([
    'a.txt',
    'dir/b.txt',
  ])
  await history.close()
})

test('the ledger holds the shapes of the format, in its key order', async () => {
  const history = await work.open({ clock: () => new Date(0) })
  await history.makeSnapshot('U')
  await history.trackEdit('a.txt', 'A')
  await history.close()
  const name = backupFileName(work.path('a.txt'), 1)
  const time = '1970-01-01T00:00:00.000Z'
  expect(await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')).toBe(
    `{"type":"file-history-snapshot","messageId":"U","snapshot":{"messageId":"U","trackedFileBackups":{},"timestamp":"${time}"},"isSnapshotUpdate":false}\n` +
      `{"type":"file-history-delta","messageId":"A","snapshotMessageId":"U","trackingPath":"a.txt","backup":{"backupFileName":"${name}","version":1,"backupTime":"${time}","realParentDir":"${work.root}"},"timestamp":"${time}"}\n`,
  )
})

test('a second edit in the turn gives the same backup and writes no ledger line', async () => {
  const history = await work.open()
  const before = await history.trackEdit('a.txt', 'a')
  const ledger = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
  await work.write('a.txt', 'changed')
  expect(await history.trackEdit('a.txt', 'b')).toEqual(before)
  expect(await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')).toBe(ledger)
  await history.close()
})

test('several spellings of a file are one entry, and the oldest state is restored', async () => {
  await fs.symlink('dir', work.path('link'))
  await fs.symlink(work.root, `${work.root}-link`)
  const spellings = [
    'dir/b.txt',
    './dir/b.txt',
    'dir/../dir/b.txt',
    'link/b.txt',
    work.path('dir//b.txt'),
    `${work.root}-link/dir/b.txt`,
    'link/../dir/./b.txt',
  ]
  const history = await work.open()
  for (const [number, spelling] of spellings.entries()) {
    await history.trackEdit(spelling, 'a')
    await work.write('dir/b.txt', `edit ${number}`)
    await history.recordEdit(spelling, 'a')
  }
  expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {})).toEqual(['dir/b.txt'])
  await history.rewind('a')
  expect(await work.read('dir/b.txt')).toBe('two')
  await fs.rm(`${work.root}-link`)
  await history.close()
})

test('a file outside the root is recorded by its absolute path', async () => {
  const outside = `${work.root}-outside.txt`
  await fs.writeFile(outside, 'out')
  const history = await work.open()
  await history.trackEdit('../project-outside.txt', 'a')
  expect(Object.keys(history.snapshots()[0]?.trackedFileBackups ?? {})).toEqual([outside])
  await fs.writeFile(outside, 'changed')
  await history.recordEdit(outside, 'a')
  expect((await history.rewind('a')).restored).toEqual([outside])
  expect(await fs.readFile(outside, 'utf8')).toBe('out')
  await history.close()
})

test('a link is refused, dangling or not, and nothing of its target is read', async () => {
  await fs.symlink('a.txt', work.path('to-file'))
  await fs.symlink('/nowhere', work.path('dangling'))
  const history = await work.open()
  for (const name of ['to-file', 'dangling']) {
    const error = await failure(history.trackEdit(name, 'a'))
    expect(isLociError(error, 'PATH_LINK')).toBe(true)
    expect(await failure(history.recordEdit(name, 'a'))).toMatchObject({ code: 'PATH_LINK' })
  }
  expect(Object.keys(await work.all()).filter((name) => name.includes('@v'))).toEqual([])
  await history.close()
})

test('directories, FIFOs, sockets and paths that name no file are refused', async () => {
  execFileSync('mkfifo', [work.path('fifo')])
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(work.path('socket'), resolve)
  })
  const history = await work.open()
  for (const name of [
    'dir',
    'fifo',
    'socket',
    '',
    '.',
    '..',
    '/',
    work.root,
    'a\0b',
    'a.txt/under',
    '\uD800.txt',
  ]) {
    expect(await failure(history.trackEdit(name, 'a')), name).toMatchObject({ code: 'PATH_INVALID' })
  }
  server.close()
  await history.close()
})

test('wrong types are a TypeError', async () => {
  const history = await work.open()
  // @ts-expect-error a number is no path
  expect(await failure(history.trackEdit(1, 'a'))).toBeInstanceOf(TypeError)
  // @ts-expect-error nor an id
  expect(await failure(history.makeSnapshot(1))).toBeInstanceOf(TypeError)
  expect(await failure(work.open({ maxSnapshots: 0 }))).toBeInstanceOf(TypeError)
  await history.close()
})

test('the history never tracks its own files, nor those of other sessions beside it', async () => {
  const home = `${work.root}/home/file-history`
  const history = await work.open({ dir: `${home}/s1` })
  await fs.mkdir(`${home}/s2`, { recursive: true })
  for (const path of [`${home}/s1/edits.jsonl`, `${home}/s2/x@v1`, `${home}/s1/base/x`]) {
    expect(await failure(history.trackEdit(path, 'a')), path).toMatchObject({ code: 'PATH_INVALID' })
  }
  expect(await history.trackEdit(`${work.root}/home.txt`, 'a')).toMatchObject({ version: 1 })
  await history.close()
})

test('a config home under the root is no part of it: not tracked, not covered, not rewound', async () => {
  const files = ['projects/p/s.jsonl', 'settings.json', 'file-history/other/x'].map((name) => `.loci/${name}`)
  for (const name of files) await work.write(name, 'old')
  await work.write('.loci-notes.txt', 'old')
  const history = await work.open({ dir: work.path('.loci/file-history/sid') })
  await history.makeSnapshot('m1')
  for (const name of files) {
    expect(await failure(history.trackEdit(name, 'a'))).toMatchObject({ code: 'PATH_INVALID' })
  }
  const { changed, untracked } = await history.trackCommand('c1', async () => {
    for (const name of [...files, '.loci-notes.txt']) await work.write(name, 'new')
  })
  expect([changed, untracked]).toEqual([[work.path('.loci-notes.txt')], []])
  await history.close()
  // A record of an older version that tracked it.
  const ledger = work.path('.loci/file-history/sid/snapshots.jsonl')
  const delta = {
    type: 'file-history-delta',
    messageId: 'a',
    snapshotMessageId: 'm1',
    trackingPath: '.loci/settings.json',
    backup: { backupFileName: null, version: 1, backupTime: '' },
    timestamp: '',
  }
  await fs.appendFile(ledger, `${JSON.stringify(delta)}\n`)
  const again = await work.open({ dir: work.path('.loci/file-history/sid') })
  expect(await again.rewind('m1', { onConflict: 'overwrite' })).toMatchObject({
    deleted: [],
    skipped: [{ path: work.path('.loci/settings.json'), reason: expect.stringMatching(/config home/) }],
  })
  await again.close()
})

test('a project inside the config home is tracked, the histories in it are not', async () => {
  const history = await work.open({ dir: work.beside('file-history/sid') })
  await history.trackEdit('a.txt', 'a')
  expect(await failure(history.trackEdit(work.beside('file-history/other/x'), 'a'))).toMatchObject({
    code: 'PATH_INVALID',
  })
  await history.close()
})

test('a file over the limit is refused and named, with both sizes', async () => {
  const history = await work.open({ maxFileBytes: 2 })
  const error = await failure(history.trackEdit('a.txt', 'a'))
  expect(error).toMatchObject({
    code: 'FILE_TOO_LARGE',
    details: { path: work.path('a.txt'), sizeBytes: 3, maxFileBytes: 2 },
  })
  await history.close()
})

test.each([0o600, 0o444, 0o755, 0o4755, 0o640])(
  'a backup has mode %o like its file, and both come back',
  async (mode) => {
    await fs.chmod(work.path('a.txt'), mode)
    const history = await work.open()
    const backup = await history.trackEdit('a.txt', 'a')
    expect((await fs.stat(work.inDir(backup.backupFileName ?? ''))).mode & 0o7777).toBe(mode)
    await work.remove('a.txt')
    await work.write('a.txt', 'other', 0o666)
    await history.recordEdit('a.txt', 'a')
    await history.rewind('a')
    expect((await work.files())['a.txt']).toEqual({ mode, text: 'one' })
    await history.undoRewind()
    expect((await work.files())['a.txt']).toEqual({ mode: 0o666, text: 'other' })
    await history.close()
  },
)

test('under umask 077 and 0 modes are kept as well', async () => {
  const previous = process.umask(0o077)
  try {
    for (const [umask, name] of [
      [0o077, 'x'],
      [0, 'y'],
    ] as const) {
      process.umask(umask)
      await work.write(name, 'text', 0o664)
      const history = await work.open({ dir: work.inDir(name) })
      const backup = await history.trackEdit(name, 'a')
      expect((await fs.stat(`${work.inDir(name)}/${backup.backupFileName}`)).mode & 0o7777).toBe(0o664)
      await work.write(name, 'changed', 0o600)
      await history.recordEdit(name, 'a')
      await history.rewind('a')
      expect((await work.files())[name]).toEqual({ mode: 0o664, text: 'text' })
      await history.close()
    }
  } finally {
    process.umask(previous)
  }
})

test.each([
  ['random bytes', Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 197 + 31) % 256))],
  ['GB18030', Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 0x0a])],
  ['UTF-16 with a mark', Buffer.from('\uFEFFhi\r\n', 'utf16le')],
  ['CRLF without a last one', Buffer.from('a\r\nb')],
  ['nothing', Buffer.alloc(0)],
  ['5 MB', Buffer.alloc(5 << 20, 'x')],
])('%s come back byte for byte', async (_, bytes) => {
  await work.write('f', bytes)
  const history = await work.open()
  await edit(work, history, 'f', 'text')
  expect(Buffer.from((await history.readFileAt('a', 'f')) ?? [1]).equals(bytes)).toBe(true)
  await history.rewind('a')
  expect((await fs.readFile(work.path('f'))).equals(bytes)).toBe(true)
  await history.close()
})

test.each([
  'new\nline',
  'quote"\'',
  'emoji 🙂',
  ' space ',
  'constructor',
  '__proto__',
  'ü'.repeat(100),
  '..dots',
])('the name %j is a name', async (name) => {
  await work.write(name, 'before')
  const history = await work.open()
  await edit(work, history, name, 'after')
  await history.makeSnapshot('m2')
  await history.close()
  const again = await work.open()
  expect((await again.rewind('a')).restored).toEqual([work.path(name)])
  expect(await work.read(name)).toBe('before')
  expect(await verifyFileHistory(work)).toEqual([])
  await again.close()
})

test.each([
  // Written before its stats are looked at, and again, in the same tick, when it has been read.
  { size: 'small', more: '', operation: 'fstat', place: 'a.txt', times: [1, 2] },
  // The copy is made and about to be looked at.
  { size: 'large', more: 'x'.repeat(300_000), operation: 'open', place: '.stage-', times: [1, 2] },
])(
  'a $size file that is written while it is copied is copied again, also within one tick of the clock',
  async ({ more, operation: expected, place, times }) => {
    const history = await work.open()
    for (let round = 0; round < 20; round += 1) {
      await fs.rm(work.path('a.txt'))
      await history.makeSnapshot(`gone ${round}`)
      let looks = 0
      setFaultHook((operation, path) => {
        if (operation !== expected || !path.includes(place)) return undefined
        looks += 1
        const time = times.indexOf(looks) + 1
        if (time > 0) writeFileSync(work.path('a.txt'), `${time} of ${round}${more}`)
        return undefined
      })
      writeFileSync(work.path('a.txt'), `0 of ${round}${more}`)
      const backup =
        round === 0
          ? await history.trackEdit('a.txt', 'a')
          : (await history.makeSnapshot(`m${round}`)).trackedFileBackups['a.txt']
      setFaultHook(undefined)
      const kept = await fs.readFile(work.inDir(backup?.backupFileName ?? ''), 'utf8')
      expect(kept).toBe(`2 of ${round}${more}`)
    }
    await history.close()
  },
)

test('a file that never stops changing is refused, and says so', async () => {
  const history = await work.open()
  let round = 0
  setFaultHook((operation, path) => {
    const isLook = operation === 'open' && path.includes('.stage-')
    const isRead = operation === 'fstat' && path === work.path('a.txt')
    if (isLook || isRead) writeFileSync(work.path('a.txt'), `${(round += 1)}`)
    return undefined
  })
  expect(await failure(history.trackEdit('a.txt', 'a'))).toMatchObject({
    code: 'DISK_IO',
    message: expect.stringContaining('keeps changing'),
  })
  setFaultHook(undefined)
  expect(history.snapshots()[0]?.trackedFileBackups).toEqual({})
  expect(await fs.readdir(work.dir)).not.toContainEqual(expect.stringContaining('.stage-'))
  await history.close()
})

test('a name that a crash left with other bytes is passed over, never written to', async () => {
  const taken = backupFileName(work.path('a.txt'), 1)
  await fs.mkdir(work.dir)
  await fs.writeFile(work.inDir(taken), 'left')
  const history = await work.open()
  const backup = await history.trackEdit('a.txt', 'a')
  expect(backup).toMatchObject({ version: 2, backupFileName: backupFileName(work.path('a.txt'), 2) })
  expect(await fs.readFile(work.inDir(taken), 'utf8')).toBe('left')
  // It is the first all the same, for snapshots before it.
  await work.write('a.txt', 'changed')
  await history.recordEdit('a.txt', 'a')
  await history.rewind('a')
  expect(await work.read('a.txt')).toBe('one')
  await history.close()
})

test('equal bytes with equal mode share an inode, other modes do not', async () => {
  await work.write('c.txt', 'one')
  await work.write('d.txt', 'one', 0o600)
  const history = await work.open()
  const inodes = []
  for (const name of ['a.txt', 'c.txt', 'd.txt']) {
    const { backupFileName: backup } = await history.trackEdit(name, 'a')
    inodes.push((await fs.stat(work.inDir(backup ?? ''))).ino)
  }
  expect(inodes[1]).toBe(inodes[0])
  expect(inodes[2]).not.toBe(inodes[0])
  expect(await history.usage()).toEqual({ backups: 3, sizeBytes: 6, sharedBytes: 3 })
  await history.close()
})

test('a damaged twin is not shared', async () => {
  await work.write('c.txt', 'one')
  const history = await work.open()
  const { backupFileName: first } = await history.trackEdit('a.txt', 'a')
  await fs.writeFile(work.inDir(first ?? ''), 'bad')
  const { backupFileName: second } = await history.trackEdit('c.txt', 'a')
  expect(await fs.readFile(work.inDir(second ?? ''), 'utf8')).toBe('one')
  await history.close()
})
