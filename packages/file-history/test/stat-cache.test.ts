import { writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { basename } from 'node:path'
import { backupFileName } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { goOn, operationsOf } from './aged.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
let taken = 0
beforeEach(async () => {
  work = await project({ 'a.txt': 'one', 'b.txt': 'two' })
  history = await work.open()
  taken = 0
})
afterEach(async () => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
  await history.close()
  await work.dispose()
})

/** Takes a snapshot; resolves to the version of `a.txt` in it, and which files it opened. */
async function snapshot(): Promise<{ version: number | undefined; opened: string[] }> {
  taken += 1
  const seen = await operationsOf(() => history.makeSnapshot(`m${taken}`))
  const files = seen.filter(([operation, path]) => operation === 'open' && path.startsWith(work.root))
  const opened = [...new Set(files.map(([, path]) => basename(path)))]
  return { version: history.snapshots().at(-1)?.trackedFileBackups['a.txt']?.version, opened }
}

/** Tracks `a.txt` and brings it so far that a snapshot need not read it. */
async function settle(): Promise<void> {
  // A time that can be set again to the nanosecond.
  await fs.utimes(path(), 1_000_000_000, 1_000_000_000)
  await history.trackEdit('a.txt', 'a')
  goOn(5)
  await snapshot()
  expect(await snapshot()).toEqual({ version: 1, opened: [] })
}

async function reopen(): Promise<void> {
  await history.close()
  history = await work.open()
}

const path = (): string => work.path('a.txt')

/** Edits of a settled file. Each leaves size and mtime as they were, unless it is about just that. */
const edits: Record<string, () => Promise<void>> = {
  'the same size and the mtime set back': async () => {
    const { atime, mtime } = await fs.stat(path())
    await fs.writeFile(path(), 'ONE')
    await fs.utimes(path(), atime, mtime)
  },
  'another file of the same size and mtime, moved over it': async () => {
    const { atime, mtime } = await fs.stat(path())
    await fs.writeFile(work.beside('other'), 'ONE')
    await fs.utimes(work.beside('other'), atime, mtime)
    await fs.rename(work.beside('other'), path())
  },
  'another size, the mtime set back': async () => {
    const { atime, mtime } = await fs.stat(path())
    await fs.writeFile(path(), 'longer')
    await fs.utimes(path(), atime, mtime)
  },
  'other permissions': () => fs.chmod(path(), 0o600),
  'a write through another name': async () => {
    await fs.link(path(), work.beside('other'))
    await fs.writeFile(work.beside('other'), 'ONE')
  },
  'a deletion': () => fs.rm(path()),
}

test.each(Object.keys(edits))('an edit is seen: %s', async (name) => {
  await settle()
  await edits[name]?.()
  expect((await snapshot()).version).toBe(2)
})

test.each(Object.keys(edits))('an edit while the history is closed is seen: %s', async (name) => {
  await settle()
  await history.close()
  await edits[name]?.()
  history = await work.open()
  expect((await snapshot()).version).toBe(2)
})

test('times that moved without an edit cost a reading, and no version', async () => {
  await settle()
  await fs.utimes(path(), 1, 1)
  expect(await snapshot()).toEqual({ version: 1, opened: ['a.txt'] })
})

test('a file that changed within the last second is read each time: its times prove nothing', async () => {
  await history.trackEdit('a.txt', 'a')
  expect((await snapshot()).opened).toEqual(['a.txt'])
  expect((await snapshot()).opened).toEqual(['a.txt'])
  const { atime, mtime } = await fs.stat(path())
  for (let round = 0; round < 50; round += 1) {
    await fs.writeFile(path(), String(round).padEnd(3, '!'))
    await fs.utimes(path(), atime, mtime)
    expect((await snapshot()).version).toBe(round + 2)
  }
})

test('an edit while the file is read is seen, now or with the next snapshot', async () => {
  goOn(5)
  let looks = 0
  setFaultHook((operation, opened) => {
    // The second is after its bytes were read.
    if (operation === 'fstat' && opened === path() && (looks += 1) === 2) writeFileSync(path(), 'ONE')
    return undefined
  })
  await history.trackEdit('a.txt', 'a')
  expect(looks).toBeGreaterThan(1)
  await snapshot()
  expect(await history.readFileAt(`m${taken}`, 'a.txt')).toEqual(Buffer.from('ONE'))
})

test('a clock that was set back makes stats prove nothing', async () => {
  await settle()
  goOn(-3600)
  expect((await snapshot()).opened).toEqual(['a.txt'])
  expect((await snapshot()).opened).toEqual(['a.txt'])
  goOn(7)
  await snapshot()
  expect((await snapshot()).opened).toEqual([])
})

test('where the file system cannot be told, or is not local, files are read', async () => {
  await settle()
  setFaultHook((operation) =>
    operation === 'statfs' ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined,
  )
  const seen: string[] = []
  const { version } = await snapshotSeeing(seen, 'statfs')
  expect(version).toBe(1)
  expect(seen).toContain(path())
})

/** A snapshot for which each of one operation fails; `seen` gets what was opened. */
async function snapshotSeeing(seen: string[], failing: string): Promise<{ version: number | undefined }> {
  setFaultHook((operation, opened) => {
    if (operation === 'open') seen.push(opened)
    return operation === failing ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
  })
  const { trackedFileBackups } = await history.makeSnapshot('failing')
  setFaultHook(undefined)
  return { version: trackedFileBackups['a.txt']?.version }
}

test('a backup that is lost is noticed although the file is as it was', async () => {
  await settle()
  await fs.rm(work.inDir(backupFileName(path(), 1)))
  expect((await snapshot()).version).toBe(2)
  expect(await history.readFileAt(`m${taken}`, 'a.txt')).toEqual(Buffer.from('one'))
})

test('what is known outlives the history being closed', async () => {
  await settle()
  await reopen()
  expect(await snapshot()).toEqual({ version: 1, opened: [] })
  const before = await fs.readFile(work.inDir('stat.json'), 'utf8')
  // There is nothing new to say.
  await reopen()
  expect(await fs.readFile(work.inDir('stat.json'), 'utf8')).toBe(before)
  expect((await fs.stat(work.inDir('stat.json'))).mode & 0o777).toBe(0o600)
})

test('a rewind takes what is proven for what it is', async () => {
  await settle()
  const id = `m${taken}`
  expect(await history.rewind(id)).toMatchObject({ unchanged: [path()], restored: [] })
  await edits['the same size and the mtime set back']?.()
  expect(await history.rewind(id, { onConflict: 'overwrite' })).toMatchObject({ restored: [path()] })
  expect(await work.read('a.txt')).toBe('one')
})

/** What `stat.json` may be instead. None of it may be trusted. */
const strangers: Record<string, (text: string) => string> = {
  'no JSON': (text) => text.slice(0, -2),
  empty: () => '',
  'an array': () => '[]',
  'another version': (text) => text.replace('"version":1', '"version":2'),
  'of another boot': (text) => text.replace(/"bootId":"[^"]*"/, '"bootId":"x"'),
  'of another folder': (text) => text.replace(/"folder":"\d+/, '"folder":"1'),
  'without files': (text) => text.replace('"files":{', '"other":{'),
  'a file that is none': (text) => text.replace(/"a\.txt":\{/, '"a.txt":[],"x":{'),
  'stats that are none': (text) => text.replace(/"ctimeMs":[\d.]+/, '"ctimeMs":"x"'),
  'another inode': (text) => text.replace(/"ino":\d+/, '"ino":1'),
  'another ctime': (text) => text.replace(/"ctimeMs":[\d.]+/, '"ctimeMs":1'),
  'another backup': (text) => text.replace(/"backup":"[^"]*"/, '"backup":"0000000000000000@v1"'),
  'other stats of the backup': (text) => text.replace(/"stored":"\d+:\d+/, '"stored":"1:1'),
  'a look in the future': (text) => text.replace(/"lookedAtMs":\d+/, '"lookedAtMs":9999999999999'),
}

test.each(Object.keys(strangers))('a stat.json that is not ours costs a reading: %s', async (name) => {
  await settle()
  await history.close()
  const text = await fs.readFile(work.inDir('stat.json'), 'utf8')
  const changed = strangers[name]?.(text) ?? text
  expect(changed).not.toBe(text)
  await fs.writeFile(work.inDir('stat.json'), changed)
  history = await work.open()
  expect(await snapshot()).toEqual({ version: 1, opened: ['a.txt'] })
})

test('what is known of one backup says nothing of another that the ledger names', async () => {
  await settle()
  await fs.writeFile(work.inDir(backupFileName(path(), 7)), 'ONE')
  await history.close()
  const backup = {
    backupFileName: backupFileName(path(), 7),
    version: 7,
    backupTime: '2026-06-01T00:00:00.000Z',
    realParentDir: work.root,
  }
  const snapshotLine = {
    messageId: 'x',
    timestamp: '2026-06-01T00:00:00.000Z',
    trackedFileBackups: { 'a.txt': backup },
  }
  const line = {
    type: 'file-history-snapshot',
    messageId: 'x',
    snapshot: snapshotLine,
    isSnapshotUpdate: false,
  }
  await fs.appendFile(work.inDir('snapshots.jsonl'), `${JSON.stringify(line)}\n`)
  history = await work.open()
  expect((await snapshot()).version).toBe(8)
  expect(await history.readFileAt(`m${taken}`, 'a.txt')).toEqual(Buffer.from('one'))
})

test('a backup that was replaced while the history was closed is noticed', async () => {
  await settle()
  await history.close()
  const stored = work.inDir(backupFileName(path(), 1))
  const { atime, mtime } = await fs.stat(stored)
  await fs.writeFile(`${stored}.new`, 'ONE')
  await fs.utimes(`${stored}.new`, atime, mtime)
  await fs.rename(`${stored}.new`, stored)
  history = await work.open()
  expect((await snapshot()).version).toBe(2)
})

test('a copy of the folder vouches for nothing', async () => {
  await settle()
  await history.close()
  await fs.cp(work.dir, work.beside('copy'), { recursive: true, preserveTimestamps: true })
  history = await work.open({ dir: work.beside('copy') })
  expect((await snapshot()).opened).toEqual(['a.txt'])
})

test('a disk that is full when the history is closed keeps nobody from closing it', async () => {
  await settle()
  setFaultHook((operation, place) =>
    operation === 'open' && place.includes('stat.json')
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined,
  )
  await history.close()
  setFaultHook(undefined)
  expect((await fs.readdir(work.dir)).filter((name) => name.includes('stat.json'))).toEqual([])
  history = await work.open()
  expect(await snapshot()).toEqual({ version: 1, opened: ['a.txt'] })
})

test('opening for reading leaves nothing behind', async () => {
  await settle()
  await history.close()
  await fs.rm(work.inDir('stat.json'))
  const before = await fs.readdir(work.dir)
  const reader = await work.open({ mode: 'read' })
  await reader.planRewind(`m${taken}`)
  await reader.close()
  expect(await fs.readdir(work.dir)).toEqual(before)
})
