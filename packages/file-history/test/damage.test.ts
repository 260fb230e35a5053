import * as fs from 'node:fs/promises'
import { backupFileName, verifyFileHistory } from '@loci/file-history'
import type { Backup, FileHistory, LedgerRecord, SnapshotLedger } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'
import { parseJsonLines } from '../src/json-lines.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1' })
})
afterEach(() => work.dispose())

/** A history with three snapshots, then its files as `change` leaves them. */
async function damaged(change: (ledger: string[]) => string[]): Promise<FileHistory> {
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', 'a3')
  await history.makeSnapshot('m3')
  await history.close()
  const lines = (await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')).trimEnd().split('\n')
  expect(lines).toHaveLength(4)
  await fs.writeFile(work.inDir('snapshots.jsonl'), change(lines).join('\n'))
  return work.open()
}

test('a lost first record is never replaced by a later state, nor by a deletion', async () => {
  const history = await damaged(([m1 = '', , m2 = '', m3 = '']) => [m1, '{"type":"file-hist', m2, m3, ''])
  expect(await history.rewind('m1')).toMatchObject({
    restored: [],
    deleted: [],
    skipped: [{ path: work.path('a.txt'), reason: expect.stringMatching(/first backup is lost/) }],
  })
  expect(await work.read('a.txt')).toBe('a3')
  expect(await verifyFileHistory(work)).toMatchObject([{ kind: 'bad-line', line: 2 }])
  await history.rewind('m2')
  expect(await work.read('a.txt')).toBe('a2')
  await history.close()
})

test('a file of which every readable record is lost is named, in plan and result', async () => {
  let history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await edit(work, history, 'd/b.txt', 'b2')
  await history.close()
  const ledger = work.inDir('snapshots.jsonl')
  const [m1 = '', , second = ''] = (await fs.readFile(ledger, 'utf8')).split('\n')
  await fs.writeFile(ledger, [m1, 'damaged', second, ''].join('\n'))
  history = await work.open()
  const skipped = [{ path: work.path('a.txt'), reason: expect.stringMatching(/record is lost/) }]
  expect(await history.planRewind('m1')).toMatchObject({ skipped })
  expect(await history.planRewind('m1', { paths: ['d'] })).toMatchObject({ skipped: [] })
  expect(await history.planRewind('m1', { paths: ['a.txt'] })).toMatchObject({ skipped })
  expect(await history.rewind('m1')).toMatchObject({ skipped })
  expect(await work.read('a.txt')).toBe('a2')
  // Nor does what is recorded of it from now on pass for its first state.
  await edit(work, history, 'a.txt', 'a3')
  await history.makeSnapshot('m2')
  expect(await history.rewind('m1')).toMatchObject({ restored: [], deleted: [] })
  expect(await work.read('a.txt')).toBe('a3')
  await history.close()
})

test('where the state in which the agent left a file cannot be read, a rewind of it is a conflict', async () => {
  let history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  const { trackedFileBackups } = await history.makeSnapshot('m2')
  await history.close()
  await fs.rm(work.inDir('edits.jsonl'))
  await fs.rm(work.inDir(trackedFileBackups['a.txt']?.backupFileName ?? ''))
  await work.write('a.txt', 'by hand')
  history = await work.open()
  expect(await history.planRewind('m1')).toMatchObject({
    conflicts: [{ path: work.path('a.txt'), reason: expect.stringMatching(/nobody can tell/) }],
  })
  await history.close()
})

test('a lost snapshot leaves the others right', async () => {
  const history = await damaged(([m1 = '', delta = '', , m3 = '']) => [m1, delta, '\0'.repeat(9), m3])
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m1', 'm3'])
  expect(await history.readFileAt('m1', 'a.txt')).toEqual(Buffer.from('a1'))
  expect(await history.readFileAt('m3', 'a.txt')).toEqual(Buffer.from('a3'))
  expect(await verifyFileHistory(work)).toMatchObject([
    { kind: 'zero-run', line: 3, offset: expect.any(Number) },
  ])
  await history.close()
})

test('a torn last line is fenced off: what comes after it loads, and nothing is rewritten', async () => {
  let history = await damaged((lines) => [...lines, '{"type":"file-history-snap'])
  const before = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
  expect(await verifyFileHistory(work)).toMatchObject([{ kind: 'torn-line', line: 5 }])
  await history.makeSnapshot('m4')
  await history.close()
  history = await work.open()
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m1', 'm2', 'm3', 'm4'])
  expect((await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')).startsWith(before)).toBe(true)
  await history.close()
})

test('a damaged edits.jsonl costs conflicts and undo, and is reported', async () => {
  let history = await damaged((lines) => lines)
  await history.rewind('m1')
  await history.close()
  const text = await fs.readFile(work.inDir('edits.jsonl'), 'utf8')
  await fs.writeFile(
    work.inDir('edits.jsonl'),
    text.replace('"type":"rewind",', '"type":"rewind","files":1,').replace(/\n\{"type":"edit".*/, '\n[]'),
  )
  const kinds = (await verifyFileHistory(work)).map(({ kind }) => kind)
  expect(kinds).toContain('bad-line')
  history = await work.open()
  expect(await history.rewind('m2', { onConflict: 'overwrite' })).toMatchObject({ skipped: [] })
  await history.close()
})

/** A ledger, in memory, of one snapshot `m` with one file. */
function ledgerOf(key: string, backup: Partial<Backup> & { backupFileName: string | null }): SnapshotLedger {
  const record: LedgerRecord = {
    type: 'file-history-snapshot',
    messageId: 'm',
    snapshot: {
      messageId: 'm',
      trackedFileBackups: { [key]: { version: 1, backupTime: '', ...backup } },
      timestamp: '2026-01-01T00:00:00.000Z',
    },
    isSnapshotUpdate: false,
  }
  return { load: async () => [record], append: async () => undefined }
}

test.each([
  ['leaves the folder', '../secret@v1'],
  ['leaves the folder by an absolute path', '/etc/hostname@v1'],
  ['is one of our own files', 'edits.jsonl'],
  ['is hidden', '.secret@v1'],
  ['is of another path', backupFileName('/somewhere/else', 1)],
])('a recorded backup name that %s is refused and named', async (_, name) => {
  await fs.mkdir(work.dir)
  await fs.writeFile(work.beside('secret@v1'), 'secret')
  if (!name.includes('/')) await fs.writeFile(work.inDir(name), '')
  const ledger = ledgerOf('a.txt', { backupFileName: name })
  const history = await work.open({ ledger })
  expect(await history.rewind('m', { onConflict: 'overwrite' })).toMatchObject({
    restored: [],
    skipped: [{ path: work.path('a.txt'), reason: expect.stringMatching(/no backup|another file/) }],
  })
  expect(await work.read('a.txt')).toBe('a1')
  expect(await verifyFileHistory({ ...work, ledger })).toMatchObject([{ kind: 'bad-backup' }])
  await history.close()
})

test.each([
  ['a name of another form', 'a3f7b291@v1'],
  ['the name for the place where the file was recorded', backupFileName('/old/place/a.txt', 1)],
])('%s is read, as the record holds it', async (_, name) => {
  await fs.mkdir(work.dir)
  await fs.writeFile(work.inDir(name), 'old')
  const realParentDir = name.length > 16 ? '/old/place' : undefined
  const ledger = ledgerOf('a.txt', { backupFileName: name, ...(realParentDir ? { realParentDir } : {}) })
  const history = await work.open({ ledger })
  expect(await history.readFileAt('m', 'a.txt')).toEqual(Buffer.from('old'))
  const result = await history.rewind('m')
  // The file is restored only where it was.
  if (realParentDir) expect(result.skipped).toMatchObject([{ path: work.path('a.txt') }])
  else expect(result.restored).toEqual([work.path('a.txt')])
  await history.close()
})

test.each(['../victim.txt', 'd/../../victim.txt', '/tmp/../victim.txt', '', '.'])(
  'a recorded path %j is damage: it is named and never written',
  async (key) => {
    await fs.writeFile(work.beside('victim.txt'), 'victim')
    const ledger = ledgerOf(key, { backupFileName: null })
    const history = await work.open({ ledger })
    expect((await history.rewind('m')).skipped).toMatchObject([
      { reason: expect.stringMatching(/recorded path/) },
    ])
    await history.makeSnapshot('n')
    expect(await verifyFileHistory({ ...work, ledger })).toMatchObject([{ kind: 'bad-path' }])
    expect(await fs.readFile(work.beside('victim.txt'), 'utf8')).toBe('victim')
    await history.close()
  },
)

test('a recorded path that leads into the backup folder is named and never written', async () => {
  await fs.mkdir(work.dir)
  await fs.writeFile(work.inDir('notes'), 'kept')
  const ledger = ledgerOf(work.inDir('notes'), { backupFileName: null })
  const history = await work.open({ ledger })
  expect((await history.rewind('m', { onConflict: 'overwrite' })).skipped).toMatchObject([
    { path: work.inDir('notes'), reason: expect.stringMatching(/history itself/) },
  ])
  expect(await fs.readFile(work.inDir('notes'), 'utf8')).toBe('kept')
  await history.close()
})

test('a record without realParentDir, of an old client, is accepted, but leads through no link', async () => {
  await work.write('d/b.txt', 'now')
  await fs.mkdir(work.dir)
  await fs.writeFile(work.inDir(backupFileName(work.path('d/b.txt'), 1)), 'then')
  const ledger = ledgerOf('d/b.txt', { backupFileName: backupFileName(work.path('d/b.txt'), 1) })
  const history = await work.open({ ledger })
  await fs.rename(work.path('d'), work.path('e'))
  await fs.symlink('e', work.path('d'))
  expect((await history.rewind('m')).skipped).toMatchObject([{ path: work.path('d/b.txt') }])
  await fs.rm(work.path('d'))
  await fs.rename(work.path('e'), work.path('d'))
  expect((await history.rewind('m')).restored).toEqual([work.path('d/b.txt')])
  expect(await work.read('d/b.txt')).toBe('then')
  await history.close()
})

test('records that make no sense are left out, one by one, and reported', async () => {
  const nonsense: unknown[] = [
    null,
    7,
    { type: 'file-history-snapshot' },
    { type: 'file-history-snapshot', messageId: 'm', snapshot: { messageId: 'm', timestamp: 1 } },
    {
      type: 'file-history-delta',
      messageId: 'm',
      snapshotMessageId: 'm',
      trackingPath: 'a.txt',
      backup: null,
    },
    {
      type: 'file-history-snapshot',
      messageId: 'm',
      snapshot: {
        messageId: 'm',
        trackedFileBackups: {
          'a.txt': { backupFileName: 7, version: 1, backupTime: '' },
          'b.txt': { backupFileName: null, version: -1, backupTime: '' },
          'c.txt': { backupFileName: null, version: 1, realParentDir: 1 },
          'd.txt': { backupFileName: null, version: 1, unknown: 'field' },
        },
        timestamp: '',
      },
    },
    { type: 'user', message: 'not ours' },
  ]
  const ledger: SnapshotLedger = {
    // Foreign data, as it may come out of a file.
    load: async () => nonsense as LedgerRecord[],
    append: async () => undefined,
  }
  const history = await work.open({ ledger })
  expect(history.snapshots()[0]?.trackedFileBackups).toEqual({
    'd.txt': { backupFileName: null, version: 1, backupTime: '', unknown: 'field' },
  })
  expect((await verifyFileHistory({ ...work, ledger })).map(({ kind }) => kind)).toEqual(
    Array.from({ length: 8 }, () => 'bad-record'),
  )
  await history.close()
})

test('a history that does not exist has no damage, and looking makes nothing', async () => {
  expect(await verifyFileHistory(work)).toEqual([])
  expect(Object.keys(await work.all())).toEqual(['project/a.txt'])
})

test('lines are told apart by their bytes: marks, CRLF, blank lines, line separators inside strings', () => {
  const bytes = Buffer.concat([
    Buffer.from('\uFEFF{"a":"x\u2028y"}\r\n\n{"b":1}\n'),
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d, 0x0a]),
    Buffer.from('"text"\n{"c":'),
  ])
  const { lines, damage } = parseJsonLines(bytes, 'f')
  expect(lines.map(({ value, line }) => [value, line])).toEqual([
    [{ a: 'x\u2028y' }, 1],
    [{ b: 1 }, 3],
  ])
  expect(damage.map(({ kind, line }) => [kind, line])).toEqual([
    ['bad-line', 4],
    ['bad-line', 5],
    ['torn-line', 6],
  ])
  for (const { offset = 0 } of [...lines, ...damage.slice(0, 2)]) {
    expect(offset === 0 || bytes[offset - 1] === 0x0a).toBe(true)
  }
})

test('a backup that was damaged while a rewind was interrupted is not written by finishing it', async () => {
  await work.write('b.txt', 'b1')
  let history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await edit(work, history, 'b.txt', 'b2')
  await history.rewind('m1')
  await history.close()
  // As a crash leaves it between the intent and the first file.
  const journal = work.inDir('edits.jsonl')
  const lines = (await fs.readFile(journal, 'utf8')).split('\n')
  const begun = lines.findLastIndex((line) => line.includes('"type":"rewind"'))
  await fs.writeFile(journal, `${lines.slice(0, begun + 1).join('\n')}\n`)
  await work.write('a.txt', 'a2')
  await work.write('b.txt', 'b2')
  await fs.writeFile(work.inDir(backupFileName(work.path('a.txt'), 1)), 'XX')

  history = await work.open()
  expect(history.pendingRewind).toMatchObject({ left: [work.path('a.txt'), work.path('b.txt')] })
  expect(await history.resolveRewind('finish')).toMatchObject({
    restored: [work.path('b.txt')],
    skipped: [{ path: work.path('a.txt'), reason: 'its backup is missing or damaged' }],
  })
  expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a2', 'b1'])
  await history.close()
})
