import { createHash } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { backupFileName, openFileHistory, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// Public bug reports, each by its id: the right outcome, and the other members of its kind.

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project()
  history = await work.open()
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

describe('F07: modes come back, and nothing of the history is more readable than its file', () => {
  test.each([0, 0o077])('under umask %o: edited, deleted and changed in mode alone', async (mask) => {
    const modes = mask === 0 ? [0o755, 0o600, 0o444, 0o4755] : [0o2755, 0o000, 0o666]
    const previous = process.umask(mask)
    try {
      for (const mode of modes)
        for (const kind of ['edit', 'gone', 'mode']) await work.write(`${kind}${mode}`, kind, mode)
      const before = await work.files()
      await history.makeSnapshot('m1')
      for (const mode of modes) {
        await edit(work, history, `edit${mode}`, 'edited')
        await edit(work, history, `gone${mode}`, null)
        await history.trackEdit(`mode${mode}`, 'a')
        await fs.chmod(work.path(`mode${mode}`), 0o640)
        await history.recordEdit(`mode${mode}`, 'a')
      }
      const edited = await work.files()
      expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
      expect(await work.files()).toEqual(before)
      await history.undoRewind()
      expect(await work.files()).toEqual(edited)
      await history.undoRewind()
      expect(await work.files()).toEqual(before)
    } finally {
      process.umask(previous)
    }
  })

  test('at no moment, under no name: backups, kept bytes, copies of the tree, files in the making', async () => {
    const previous = process.umask(0)
    let looks = 0
    /** Every file of history and project that holds the secret may be read by its owner only. */
    const check = (folder: string): void => {
      for (const entry of readdirSync(folder, { withFileTypes: true })) {
        const path = `${folder}/${entry.name}`
        if (entry.isDirectory()) check(path)
        else if (!entry.name.endsWith('.jsonl') && statSync(path).size === 6) {
          looks += 1
          expect(statSync(path).mode & 0o077, path).toBe(0)
        }
      }
    }
    try {
      await work.write('key', 'secret', 0o600)
      await work.write('id', 'secret', 0o400)
      setFaultHook(() => {
        for (const folder of readdirSync(work.beside('.'))) {
          if (statSync(work.beside(folder)).isDirectory()) check(work.beside(folder))
        }
        return undefined
      })
      await history.makeSnapshot('m1')
      await history.trackEdit('key', 'a')
      await fs.writeFile(work.path('key'), 'hidden')
      await history.recordEdit('key', 'a')
      await history.trackCommand('b', () => fs.rm(work.path('id'), { force: true }))
      await history.makeSnapshot('m2')
      await history.rewind('m1')
      await history.undoRewind()
      await history.undoRewind()
      expect(await work.files()).toEqual({
        id: { mode: 0o400, text: 'secret' },
        key: { mode: 0o600, text: 'secret' },
      })
    } finally {
      process.umask(previous)
    }
    expect(looks).toBeGreaterThan(300)
  })
})

/** More than one chunk of everything that reads in chunks. The long run has the size of the report. */
const LARGE_BYTES = process.env['LOCI_LONG'] === '1' ? 50 << 20 : 3 << 20

describe('F09: bytes are bytes, under every name', () => {
  const random = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, (_, index) => (index * index * 31 + index * 7 + 13) % 256))
  const contents: Record<string, Buffer> = {
    random: random(4096),
    'picture.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d]),
    gb18030: Buffer.from([0xc4, 0xe3, 0xba, 0xc3, 0x81, 0x30, 0x81, 0x30, 0x0a]),
    'utf-16 with a mark': Buffer.from('\uFEFFhi\r\n', 'utf16le'),
    'utf-8 with a mark': Buffer.from('\uFEFFhi\n'),
    'half a character': Buffer.from([0xe2, 0x82]),
    crlf: Buffer.from('a\r\nb\r\n'),
    'mixed ends': Buffer.from('a\rb\nc\r\n\n\r'),
    'no final newline': Buffer.from('a\nb'),
    empty: Buffer.alloc(0),
    zeros: Buffer.alloc(70_000),
    large: Buffer.concat([random(1 << 16), Buffer.alloc(LARGE_BYTES, 'x'), random(1 << 16)]),
    'new\nline': random(100),
    'quote"\'`$(x)': random(101),
    'emoji 🙂': random(102),
    'na\u0308me and n\u00e4me': random(103),
    '-rf': random(104),
    ['l'.repeat(255)]: random(105),
  }

  test('edited, deleted, replaced; by the tool and by a command; the backup too', async () => {
    for (const [name, bytes] of Object.entries(contents)) await work.write(name, bytes)
    const hashes = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        await Promise.all(
          (await fs.readdir(work.root)).map(
            async (name) => [name, sha256(await fs.readFile(work.path(name)))] as const,
          ),
        ),
      )
    const before = await hashes()
    await history.makeSnapshot('m1')
    const put = (name: string, index: number): Promise<void> =>
      index % 3 === 0 ? work.remove(name) : work.write(name, index % 3 === 1 ? 'text' : random(200 + index))
    const all = [...Object.keys(contents).entries()]
    for (const [index, name] of all.filter(([number]) => number % 2 === 0)) {
      await history.trackEdit(name, 'a')
      await put(name, index)
      await history.recordEdit(name, 'a')
    }
    await history.trackCommand('c', async () => {
      for (const [index, name] of all.filter(([number]) => number % 2 === 1)) await put(name, index)
    })
    for (const name of Object.keys(contents)) {
      const backup = await fs.readFile(work.inDir(backupFileName(work.path(name), 1)))
      expect(sha256(backup), name).toBe(before[name])
    }
    const after = await hashes()
    expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
    expect(await hashes()).toEqual(before)
    await history.undoRewind()
    expect(await hashes()).toEqual(after)
    await history.undoRewind()
    expect(await hashes()).toEqual(before)
    expect(await verifyFileHistory(work)).toEqual([])
  }, 60_000)
})

describe('F14: what a shell does is seen', () => {
  const sh = (script: string) => async (): Promise<void> =>
    void execFileSync('sh', ['-c', script], { cwd: work.root })

  test('to a tracked file by the next snapshot, announced or not; to any file where the command is covered', async () => {
    await work.write('tracked', 't0')
    await work.write('untracked', 'u0')
    await history.makeSnapshot('m1')
    await edit(work, history, 'tracked', 't1')
    await history.makeSnapshot('m2')
    await sh('printf t2 > tracked; printf u1 > untracked')()
    await history.makeSnapshot('m3')
    const { changed } = await history.trackCommand(
      'm3',
      sh('printf t3 > tracked; printf u2 > untracked; printf n > new'),
    )
    expect(changed).toEqual(['new', 'tracked', 'untracked'].map((name) => work.path(name)))
    expect((await history.diff('m2', 'm3')).map(({ path }) => path)).toEqual([work.path('tracked')])
    expect((await history.planRewind('m3')).changes.map(({ path }) => path)).toEqual(changed)
    await history.rewind('m3')
    expect(await work.files()).toMatchObject({ tracked: { text: 't2' }, untracked: { text: 'u1' } })
    expect(await work.read('new')).toBeNull()
    await history.rewind('m1')
    expect(await work.read('tracked')).toBe('t0')
  })

  test('what could not be covered is named, never silence', async () => {
    await history.close()
    history = await openFileHistory({ ...work, maxFileBytes: 4 })
    await work.write('large', 'larger than it may be')
    const { changed, untracked } = await history.trackCommand(
      'm',
      sh('printf x >> large; ln -s large link; mkfifo pipe'),
    )
    expect(changed).toEqual([])
    expect(untracked).toEqual(['large', 'link', 'pipe'].map((name) => work.path(name)))
  })
})

describe('F18: the disk is not filled', () => {
  test('a thousand edits of a large file stay within the bound, after each of them', async () => {
    await history.close()
    history = await work.open({ maxBytes: 300_000, maxSnapshots: 100 })
    const isLong = process.env['LOCI_LONG'] === '1'
    let largest = 0
    for (let number = 0; number < (isLong ? 1000 : 40); number += 1) {
      await history.makeSnapshot(`m${number}`)
      await edit(work, history, 'large', Buffer.alloc(30_000, String.fromCodePoint(number + 32)))
      largest = Math.max(largest, (await history.usage()).sizeBytes)
    }
    expect(largest).toBeLessThanOrEqual(330_000)
    expect(largest).toBeGreaterThan(200_000)
    const names = (await fs.readdir(work.dir)).filter((name) => name.includes('@v'))
    expect(names.length).toBeLessThanOrEqual(11)
    expect(await verifyFileHistory(work)).toEqual([])
    expect((await history.gc({ dryRun: true })).removed).toEqual([])
  })

  test('equal contents are stored once, also coming back to an earlier one', async () => {
    for (let number = 0; number < 12; number += 1) {
      await work.write('toggled', number % 2 === 0 ? 'on '.repeat(1000) : 'off '.repeat(1000))
      await history.trackEdit('toggled', 'a')
      await work.write(`copy${number % 3}`, 'on '.repeat(1000))
      await history.trackEdit(`copy${number % 3}`, 'a')
      await history.makeSnapshot(`m${number}`)
    }
    const { backups, sizeBytes } = await history.usage()
    expect(backups).toBeGreaterThan(12)
    expect(sizeBytes).toBe(3000 + 4000)
  })

  test('config home and backup folder are never tracked, wherever they lie', async () => {
    await history.close()
    for (const dir of [work.path('.loci/file-history/s'), work.path('own')]) {
      history = await work.open({ dir })
      await history.makeSnapshot('m1')
      await history.trackCommand('c', () => work.write('f', dir))
      const inside = [`${dir}/edits.jsonl`, `${dir}/new`, `${dir}/base/x`]
      const around = dir.includes('file-history') ? ['.loci/projects/p/s.jsonl', '.loci/settings.json'] : []
      for (const name of [...inside, ...around]) {
        expect(await failure(history.trackEdit(name, 'a'))).toMatchObject({ code: 'PATH_INVALID' })
      }
      const { changed, untracked } = await history.trackCommand('d', async () => {
        for (const name of around) await work.write(name, 'x')
        await fs.writeFile(`${dir}/stray`, 'x')
      })
      expect([...changed, ...untracked]).toEqual([])
      expect(history.snapshots().at(-1)?.trackedFileBackups).toHaveProperty('f')
      await history.close()
      await work.remove('f')
    }
    history = await work.open()
  })

  test('cleaning up removes what nothing names, of this session alone', async () => {
    await history.makeSnapshot('m1')
    await edit(work, history, 'a', 'a1')
    const other = await work.open({ dir: work.beside('live') })
    await other.makeSnapshot('m1')
    await edit(work, other, 'a', 'a2')
    await fs.writeFile(work.inDir('0123456789abcdef@v3'), 'a crash left it')
    await fs.writeFile(work.inDir('.stage-1234.tmp'), 'this too')
    await fs.writeFile(work.inDir('mine.txt'), 'not ours')
    const { removed, freedBytes } = await history.gc()
    expect(removed).toEqual(['.stage-1234.tmp', '0123456789abcdef@v3'])
    expect(freedBytes).toBe(23)
    expect(await fs.readFile(work.inDir('mine.txt'), 'utf8')).toBe('not ours')
    await other.rewind('m1')
    expect(await work.read('a')).toBe('a1')
    await other.close()
  })
})
