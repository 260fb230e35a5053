import { appendFileSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { backupFileName, linkBackups, verifyFileHistory } from '@loci/file-history'
import type { LedgerRecord } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'a0', 'b.txt': 'b0' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

const blobs = async (dir = 'history'): Promise<string[]> =>
  Object.keys(await work.all())
    .filter((name) => name.startsWith(`${dir}/`) && name.includes('@v'))
    .map((name) => name.slice(dir.length + 1))

describe('eviction', () => {
  test('first in, first out: an evicted id stays so after reopening, also with a larger limit', async () => {
    let history = await work.open({ maxSnapshots: 3 })
    await history.trackEdit('a.txt', 'm0')
    for (const number of [1, 2, 3, 4]) {
      await work.write('a.txt', `a${number}`)
      await history.makeSnapshot(`m${number}`)
    }
    for (const maxSnapshots of [3, 100]) {
      expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m2', 'm3', 'm4'])
      for (const action of [history.rewind('m1'), history.diff('m0'), history.readFileAt('m1', 'a.txt')]) {
        expect(await failure(action)).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
      }
      expect(await failure(history.rewind('m9'))).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
      await history.close()
      history = await work.open({ maxSnapshots })
    }
    // What only they named is gone, what a kept snapshot names is there.
    expect(await blobs()).toEqual(
      [3, 4, 5].map((version) => backupFileName(work.path('a.txt'), version)).toSorted(),
    )
    expect(await verifyFileHistory(work)).toEqual([])
    await history.rewind('m2')
    expect(await work.read('a.txt')).toBe('a2')
    await history.makeSnapshot('m1')
    expect(await history.rewind('m1')).toMatchObject({ messageId: 'm1' })
    await history.close()
  })

  test.each(['makeSnapshot', 'gc'] as const)(
    'what a lower limit evicts at opening stays evicted once something is written (%s)',
    async (write) => {
      let history = await work.open()
      await history.trackEdit('a.txt', 'm0')
      for (const number of [1, 2, 3]) {
        await work.write('a.txt', `a${number}`)
        await history.makeSnapshot(`m${number}`)
      }
      await history.close()
      history = await work.open({ maxSnapshots: 2 })
      expect(await failure(history.planRewind('m1'))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
      await history.close()
      history = await work.open()
      expect(history.snapshots()).toHaveLength(4)
      await history.close()
      history = await work.open({ maxSnapshots: 2 })
      await (write === 'gc' ? history.gc() : history.makeSnapshot('m4'))
      await history.close()
      history = await work.open()
      expect(await failure(history.planRewind('m1'))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
      expect(history.snapshots().map(({ messageId }) => messageId)).toContain('m3')
      expect(await verifyFileHistory(work)).toEqual([])
      await history.close()
    },
  )

  test('with a clock that stands still and one id, an eviction takes one snapshot', async () => {
    const clock = (): Date => new Date(0)
    let history = await work.open({ maxSnapshots: 2, clock })
    await history.trackEdit('a.txt', 'm')
    for (const number of [1, 2, 3]) {
      await work.write('a.txt', `a${number}`)
      await history.makeSnapshot('m')
    }
    const before = history.snapshots()
    await history.close()
    history = await work.open({ maxSnapshots: 2, clock })
    expect(history.snapshots()).toEqual(before)
    await history.rewind('m')
    expect(await work.read('a.txt')).toBe('a3')
    await history.close()
  })

  test('an edit before an evicted snapshot is older than what came after it, also where its id came again', async () => {
    let history = await work.open({ maxSnapshots: 3 })
    await history.makeSnapshot('m1')
    await history.trackEdit('a.txt', 'e')
    await work.write('a.txt', 'a1')
    for (const id of ['m1', 'm2', 'm3']) await history.makeSnapshot(id)
    await work.write('a.txt', 'by hand')
    for (const maxSnapshots of [3, 2]) {
      expect((await history.planRewind('m2')).conflicts).toHaveLength(1)
      await history.close()
      history = await work.open({ maxSnapshots })
    }
    expect((await history.planRewind('m2')).conflicts).toHaveLength(1)
    await history.close()
  })

  test('of snapshots in a foreign ledger that have id and time in common, one is evicted at a time', async () => {
    const backup = { backupFileName: null, version: 1, backupTime: '' }
    const snapshot = {
      messageId: 'm',
      timestamp: '2026-01-01T00:00:00.000Z',
      trackedFileBackups: { x: backup },
    }
    const record = {
      type: 'file-history-snapshot' as const,
      messageId: 'm',
      snapshot,
      isSnapshotUpdate: false,
    }
    const records: LedgerRecord[] = [record, record, record]
    const ledger = {
      load: async () => records,
      append: async (line: LedgerRecord) => void records.push(line),
    }
    let history = await work.open({ ledger, maxSnapshots: 2 })
    await history.makeSnapshot('n')
    await history.close()
    history = await work.open({ ledger, maxSnapshots: 100 })
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m', 'n'])
    await history.close()
  })

  test('a backup that a kept snapshot shares with an evicted one stays', async () => {
    const history = await work.open({ maxSnapshots: 1 })
    await history.trackEdit('a.txt', 'm0')
    await history.makeSnapshot('m1')
    await history.makeSnapshot('m2')
    expect(await blobs()).toEqual([backupFileName(work.path('a.txt'), 1)])
    await history.close()
  })

  test('the undo of a rewind stays possible', async () => {
    let history = await work.open({ maxSnapshots: 2 })
    await history.makeSnapshot('m0')
    await edit(work, history, 'a.txt', 'a1')
    await history.rewind('m0')
    await history.makeSnapshot('m1')
    await history.makeSnapshot('m2')
    await history.gc()
    await history.close()
    history = await work.open({ maxSnapshots: 2 })
    await history.undoRewind()
    expect(await work.read('a.txt')).toBe('a1')
    await history.close()
  })

  test('maxBytes makes the oldest snapshots go, never the newest', async () => {
    const history = await work.open({ maxBytes: 25 })
    await history.trackEdit('a.txt', 'm0')
    for (const number of [1, 2, 3, 4]) {
      await work.write('a.txt', `${number}`.repeat(10))
      await history.makeSnapshot(`m${number}`)
    }
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m3', 'm4'])
    expect(await history.usage()).toEqual({ backups: 2, sizeBytes: 20, sharedBytes: 0 })
    await work.write('a.txt', 'x'.repeat(100))
    await history.makeSnapshot('m5')
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m5'])
    expect(await failure(history.rewind('m4'))).toMatchObject({ code: 'SNAPSHOT_EVICTED' })
    await history.close()
  })

  test('where a backup cannot be removed the snapshot is made all the same, and gc removes it later', async () => {
    const history = await work.open({ maxSnapshots: 1 })
    await history.trackEdit('a.txt', 'm0')
    await work.write('a.txt', 'a1')
    setFaultHook((operation, path) =>
      operation === 'unlink' && path.includes('@v')
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    expect(await history.makeSnapshot('m1')).toMatchObject({ messageId: 'm1' })
    setFaultHook(undefined)
    const first = backupFileName(work.path('a.txt'), 1)
    expect(await history.gc({ dryRun: true })).toEqual({ removed: [first], freedBytes: 2 })
    expect(await blobs()).toContain(first)
    expect(await history.gc()).toEqual({ removed: [first], freedBytes: 2 })
    expect(await blobs()).not.toContain(first)
    await history.close()
  })

  test('lines of the ledger that cannot be read may name backups: then none is removed', async () => {
    let history = await work.open()
    await history.trackEdit('a.txt', 'm0')
    await work.write('a.txt', 'a1')
    await history.makeSnapshot('m1')
    await history.close()
    const ledger = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
    await fs.writeFile(work.inDir('snapshots.jsonl'), ledger.replace(/\n\{.*m1.*/, '\n{"torn":'))
    const before = await blobs()
    history = await work.open({ maxSnapshots: 1 })
    expect(await history.gc()).toEqual({ removed: [], freedBytes: 0 })
    await history.makeSnapshot('m2')
    expect(await blobs()).toEqual(expect.arrayContaining(before))
    await history.close()
  })
})

describe('gc', () => {
  test('removes unnamed backups, scratch, old undos and the base; a second run finds nothing', async () => {
    const history = await work.open()
    await history.makeSnapshot('m0')
    await edit(work, history, 'a.txt', 'a1')
    await history.rewind('m0')
    await history.undoRewind()
    await history.trackCommand('c', async () => undefined)
    const unnamed = backupFileName(work.path('a.txt'), 7)
    await fs.writeFile(work.inDir(unnamed), 'unnamed')
    await fs.writeFile(work.inDir('.stage-x.tmp'), 'scratch')
    await fs.writeFile(work.inDir('notes'), 'not ours')
    const { removed, freedBytes } = await history.gc()
    expect(removed).toEqual(expect.arrayContaining([unnamed, '.stage-x.tmp', 'undo/r1', 'undo/r1/0']))
    expect(removed.filter((name) => name.startsWith('base/'))).toHaveLength(2)
    expect(freedBytes).toBe(7 + 7 + 2 + 4)
    expect(await fs.readFile(work.inDir('notes'), 'utf8')).toBe('not ours')
    expect(await history.gc()).toEqual({ removed: [], freedBytes: 0 })
    expect(await history.undoRewind()).toMatchObject({ restored: [work.path('a.txt')] })
    await history.trackCommand('c', () => work.write('b.txt', 'b1'))
    expect(await history.readFileAt('m0', 'b.txt')).toEqual(Buffer.from('b0'))
    await history.close()
  })
})

describe('linkBackups', () => {
  test('a fork shares every backup, has the ledger, and neither side changes the other', async () => {
    const parent = await work.open()
    await parent.makeSnapshot('m0')
    await edit(work, parent, 'a.txt', 'a1')
    await parent.makeSnapshot('m1')
    await edit(work, parent, 'a.txt', 'a2')
    const fork = work.beside('fork')
    expect(await linkBackups({ fromDir: work.dir, toDir: fork })).toEqual({ linked: 2, copied: 0 })
    const before = await work.all()
    const [name] = await blobs()
    expect((await fs.stat(`${fork}/${name}`)).ino).toBe((await fs.stat(work.inDir(name ?? ''))).ino)
    expect(await parent.usage()).toEqual({ backups: 2, sizeBytes: 4, sharedBytes: 4 })
    await parent.close()

    const forked = await work.open({ dir: fork, maxSnapshots: 1 })
    await forked.close()
    const history = await work.open({ dir: fork })
    // The agent's last edit is known in the fork too: no conflict.
    expect(await history.rewind('m0')).toMatchObject({ restored: [work.path('a.txt')], conflicts: [] })
    expect(await work.read('a.txt')).toBe('a0')
    await history.undoRewind()
    await history.makeSnapshot('f1')
    await history.gc()
    await history.close()
    const after = await work.all()
    for (const [path, file] of Object.entries(before)) {
      if (path.startsWith('history/') && !path.includes('.lock.')) expect(after[path], path).toEqual(file)
    }
    expect(await verifyFileHistory(work)).toEqual([])
    expect(await verifyFileHistory({ dir: fork, root: work.root })).toEqual([])
  })

  test('the undo of the parent is not the fork’s; what its rewind wrote is known there', async () => {
    const parent = await work.open()
    await parent.makeSnapshot('m0')
    await edit(work, parent, 'a.txt', 'a1')
    await parent.makeSnapshot('m1')
    await parent.rewind('m0')
    await linkBackups({ fromDir: work.dir, toDir: work.beside('fork') })
    await parent.close()
    const history = await work.open({ dir: work.beside('fork') })
    expect(history.pendingRewind).toBeNull()
    expect(await failure(history.undoRewind())).toMatchObject({ code: 'SNAPSHOT_NOT_FOUND' })
    expect((await history.planRewind('m1')).conflicts).toEqual([])
    await history.close()
  })

  test('a fork that ends before the parent’s last turns knows what the agent did in them, until it goes on itself', async () => {
    const parent = await work.open()
    await parent.makeSnapshot('m1')
    await edit(work, parent, 'a.txt', 'a1')
    await parent.makeSnapshot('m2')
    await edit(work, parent, 'a.txt', 'a2')
    await parent.makeSnapshot('m3')
    await edit(work, parent, 'a.txt', 'a3')
    await parent.close()
    const fork = work.beside('fork')
    await linkBackups({ fromDir: work.dir, toDir: fork })
    const ledger = await fs.readFile(`${fork}/snapshots.jsonl`, 'utf8')
    await fs.writeFile(`${fork}/snapshots.jsonl`, ledger.split('\n').slice(0, 3).join('\n'))
    let history = await work.open({ dir: fork })
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m1', 'm2'])
    expect((await history.planRewind('m1')).conflicts).toEqual([])
    await work.write('a.txt', 'seen by a snapshot of the fork')
    expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
    await history.makeSnapshot('f1')
    expect((await history.planRewind('m1')).conflicts).toEqual([])
    await history.close()
    history = await work.open({ dir: fork })
    await history.rewind('m1')
    expect(await work.read('a.txt')).toBe('a0')
    await history.close()
  })

  test('where linking fails backups are copied; a second call does nothing; an absent source makes nothing', async () => {
    const parent = await work.open()
    await parent.trackEdit('a.txt', 'm0')
    await parent.close()
    const fork = work.beside('fork')
    setFaultHook((operation, path) =>
      operation === 'link' && path === `${fork}/${backupFileName(work.path('a.txt'), 1)}` && links++ === 0
        ? Object.assign(new Error('injected'), { code: 'EXDEV' })
        : undefined,
    )
    let links = 0
    expect(await linkBackups({ fromDir: work.dir, toDir: fork })).toEqual({ linked: 0, copied: 1 })
    setFaultHook(undefined)
    const ledger = await fs.readFile(`${fork}/snapshots.jsonl`, 'utf8')
    expect(await linkBackups({ fromDir: work.dir, toDir: fork })).toEqual({ linked: 0, copied: 0 })
    expect(await fs.readFile(`${fork}/snapshots.jsonl`, 'utf8')).toBe(ledger)
    expect(await linkBackups({ fromDir: work.inDir('nowhere'), toDir: work.beside('none') })).toEqual({
      linked: 0,
      copied: 0,
    })
    expect(await failure(fs.stat(work.beside('none')))).toMatchObject({ code: 'ENOENT' })
  })

  test('a fork is as of the beginning, also if the parent goes on meanwhile', async () => {
    const parent = await work.open()
    await parent.trackEdit('a.txt', 'm0')
    await parent.close()
    const ledger = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
    const name = backupFileName(work.path('b.txt'), 1)
    const backup = { backupFileName: name, version: 1, backupTime: '' }
    const delta = { messageId: 'b', snapshotMessageId: 'm0', trackingPath: 'b.txt', backup, timestamp: '' }
    setFaultHook((operation) => {
      if (operation !== 'link') return undefined
      setFaultHook(undefined)
      writeFileSync(work.inDir(name), 'b')
      appendFileSync(
        work.inDir('snapshots.jsonl'),
        `${JSON.stringify({ type: 'file-history-delta', ...delta })}\n`,
      )
      return undefined
    })
    const fork = work.beside('fork')
    await linkBackups({ fromDir: work.dir, toDir: fork })
    expect(await verifyFileHistory({ dir: fork, root: work.root })).toEqual([])
    expect(await fs.readFile(`${fork}/snapshots.jsonl`, 'utf8')).toBe(ledger)
  })

  test('called again after both have gone on, it leaves what the fork knows of its own', async () => {
    const parent = await work.open()
    await parent.makeSnapshot('m1')
    await edit(work, parent, 'a.txt', 'a1')
    const fork = work.beside('fork')
    await linkBackups({ fromDir: work.dir, toDir: fork })
    const other = await work.open({ dir: fork })
    await work.write('a.txt', 'fork')
    await other.makeSnapshot('f2')
    await edit(work, other, 'a.txt', 'fork 2')
    await other.close()
    await work.write('a.txt', 'parent')
    await parent.makeSnapshot('m2')
    await work.write('a.txt', 'parent 2')
    await parent.makeSnapshot('m3')
    await edit(work, parent, 'a.txt', 'parent 3')
    await parent.close()
    await work.write('a.txt', 'fork 2')
    await linkBackups({ fromDir: work.dir, toDir: fork })
    expect(await verifyFileHistory({ dir: fork, root: work.root })).toEqual([])
    const history = await work.open({ dir: fork })
    expect(await history.rewind('f2')).toMatchObject({ restored: [work.path('a.txt')], conflicts: [] })
    expect(await work.read('a.txt')).toBe('fork')
    await history.close()
  })

  test('a folder that somebody hard-linked as a whole does not share our own files for long', async () => {
    let history = await work.open()
    await history.trackEdit('a.txt', 'm0')
    await history.close()
    await fs.mkdir(work.beside('twin'))
    for (const name of ['edits.jsonl', 'snapshots.jsonl']) {
      await fs.link(work.inDir(name), work.beside(`twin/${name}`))
    }
    const before = await fs.readFile(work.beside('twin/edits.jsonl'), 'utf8')
    history = await work.open()
    await edit(work, history, 'a.txt', 'a1')
    await history.makeSnapshot('m1')
    await history.close()
    expect(await fs.readFile(work.beside('twin/edits.jsonl'), 'utf8')).toBe(before)
    expect(await fs.readFile(work.beside('twin/snapshots.jsonl'), 'utf8')).not.toContain('"m1"')
    history = await work.open()
    expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m0', 'm1'])
    await history.close()
  })
})
