import * as fs from 'node:fs/promises'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': { text: 'a1', mode: 0o755 }, 'b.txt': 'b1' })
  history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await fs.chmod(work.path('a.txt'), 0o600)
  await history.recordEdit('a.txt', 'a')
  await edit(work, history, 'new.txt', 'new')
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

test('brings back bytes, modes and presence; an undo can be undone, also after reopening', async () => {
  const edited = await work.files()
  await history.rewind('m1')
  const rewound = await work.files()
  expect(rewound['a.txt']).toEqual({ mode: 0o755, text: 'a1' })
  for (const expected of [edited, rewound, edited, rewound]) {
    await history.close()
    history = await work.open()
    expect(await history.undoRewind()).toMatchObject({ messageId: 'm1', undoable: true })
    expect(await work.files()).toEqual(expected)
  }
})

test('a file changed since the rewind is left and named; the others are undone', async () => {
  await history.rewind('m1')
  await work.write('a.txt', 'by hand')
  expect(await history.undoRewind()).toMatchObject({
    restored: [work.path('new.txt')],
    conflicts: [{ path: work.path('a.txt'), reason: 'it was changed after the rewind' }],
  })
  expect(await work.read('a.txt')).toBe('by hand')
})

test('told to overwrite, it is undone too, and what was there is kept for the next undo', async () => {
  await history.rewind('m1')
  await work.write('a.txt', 'by hand')
  expect(await history.undoRewind({ onConflict: 'overwrite' })).toMatchObject({ conflicts: [] })
  expect(await work.read('a.txt')).toBe('a2')
  await history.undoRewind()
  expect(await work.read('a.txt')).toBe('by hand')
})

test('a link or directory that came since is left and named', async () => {
  await history.rewind('m1')
  await work.remove('a.txt')
  await fs.symlink('b.txt', work.path('a.txt'))
  await fs.mkdir(work.path('new.txt'))
  expect(await history.undoRewind()).toMatchObject({
    restored: [],
    skipped: [{ path: work.path('a.txt') }, { path: work.path('new.txt') }],
    undoable: false,
  })
  expect(await work.read('b.txt')).toBe('b1')
})

test('kept bytes that are damaged are not written', async () => {
  await history.rewind('m1')
  await fs.writeFile(work.inDir('undo/r1/0'), 'bad')
  expect(await history.undoRewind()).toMatchObject({
    restored: [work.path('new.txt')],
    skipped: [{ path: work.path('a.txt'), reason: expect.stringMatching(/damaged/) }],
  })
  expect(await work.read('a.txt')).toBe('a1')
})

test('with nothing rewound there is nothing to undo, and it says so', async () => {
  expect(await failure(history.undoRewind())).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  await history.rewind('m1', { paths: ['b.txt'] })
  expect(await failure(history.undoRewind())).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  expect(await failure(history.resolveRewind('finish'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  // @ts-expect-error there are two ways
  expect(await failure(history.resolveRewind('maybe'))).toBeInstanceOf(TypeError)
})

test('a rewind that changed nothing leaves the one before it undoable', async () => {
  await history.rewind('m1')
  await history.rewind('m1')
  await history.undoRewind()
  expect(await work.read('a.txt')).toBe('a2')
})

test('without the journal there is no undo, and no snapshot is lost', async () => {
  await history.rewind('m1')
  await history.close()
  await fs.rm(work.inDir('edits.jsonl'))
  await fs.rm(work.inDir('undo'), { recursive: true })
  history = await work.open()
  expect(await failure(history.undoRewind())).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
})

test('gc keeps what a rewind that is not undone wrote over; by its id it is undone, also after others', async () => {
  await history.makeSnapshot('m2')
  await work.write('a.txt', 'by hand')
  await history.rewind('m1', { onConflict: 'overwrite' })
  await history.rewind('m2')
  await history.undoRewind()
  await history.undoRewind()
  expect(history.rewinds()).toMatchObject([
    { id: 'r4', kind: 'undo', messageId: 'm2', since: 'm2', undone: false },
    { id: 'r3', kind: 'undo', messageId: 'm2', since: 'm2', undone: true },
    { id: 'r2', kind: 'rewind', messageId: 'm2', since: 'm2', undone: false },
    { id: 'r1', kind: 'rewind', messageId: 'm1', since: 'm2', undone: false },
  ])
  await history.gc()
  await history.close()
  history = await work.open()
  await history.undoRewind({ id: 'r1', onConflict: 'overwrite' })
  expect(await work.read('a.txt')).toBe('by hand')
  expect(await failure(history.undoRewind({ id: 'r1' }))).toMatchObject({
    code: 'SNAPSHOT_NOT_FOUND',
    message: expect.stringMatching(/undone already/),
  })
  expect(await failure(history.undoRewind({ id: 'r9' }))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
  const { removed } = await history.gc()
  expect(removed).toContain('undo/r1')
  expect(removed).not.toContain('undo/r2')
})

test('what a conflict left out of an undo is still there for another', async () => {
  await history.rewind('m1')
  await work.write('a.txt', 'by hand')
  await history.undoRewind()
  expect(history.rewinds().map(({ undone }) => undone)).toEqual([false, false])
  await history.gc()
  expect(await history.undoRewind({ id: 'r1', onConflict: 'overwrite' })).toMatchObject({
    restored: [work.path('a.txt')],
    conflicts: [],
  })
  expect([await work.read('a.txt'), await work.read('new.txt')]).toEqual(['a2', 'new'])
  expect(history.rewinds().map(({ undone }) => undone)).toEqual([false, false, true])
})

test('ways to treat conflicts that do not exist are a TypeError', async () => {
  await work.write('a.txt', 'by hand')
  // @ts-expect-error there are three ways
  expect(await failure(history.rewind('m1', { onConflict: 'Stop' }))).toBeInstanceOf(TypeError)
  // @ts-expect-error there are two ways
  expect(await failure(history.undoRewind({ onConflict: 'stop' }))).toBeInstanceOf(TypeError)
  expect(await work.read('a.txt')).toBe('by hand')
})

test('of an undo that does not say what it undoes, it is the operation before', async () => {
  await history.rewind('m1')
  await history.undoRewind()
  await history.close()
  const journal = await fs.readFile(work.inDir('edits.jsonl'), 'utf8')
  await fs.writeFile(work.inDir('edits.jsonl'), journal.replace('"undoes":"r1","settled":[],', ''))
  history = await work.open()
  expect(history.rewinds().map(({ undone }) => undone)).toEqual([false, true])
})
