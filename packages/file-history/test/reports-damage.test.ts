import * as fs from 'node:fs/promises'
import { backupFileName, verifyFileHistory } from '@loci/file-history'
import type { FileHistory, LedgerRecord } from '@loci/file-history'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ledgerOf, parseRecords } from './ledgers.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// Public bug reports, each by its id: the right outcome, and the other members of its kind.

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'f.txt': 'V0', 'other.txt': 'o0' })
  history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'f.txt', 'V1')
  await edit(work, history, 'other.txt', 'o1')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const injected = (code: string): Error => Object.assign(new Error('injected'), { code })

describe('F13: what somebody did after the agent is never overwritten unasked, and never lost', () => {
  const hands: Record<string, () => Promise<void>> = {
    'adds a line': () => work.write('f.txt', 'V1\nmine'),
    'changes it to the same size': () => work.write('f.txt', 'V2'),
    'changes the mode only': () => fs.chmod(work.path('f.txt'), 0o600),
    'deletes it': () => work.remove('f.txt'),
    'saves by a rename over it': async () => {
      await work.write('f.tmp', 'mine')
      await fs.rename(work.path('f.tmp'), work.path('f.txt'))
    },
    'sets the time back as well': async () => {
      const { atime, mtime } = await fs.stat(work.path('f.txt'))
      await work.write('f.txt', 'V2')
      await fs.utimes(work.path('f.txt'), atime, mtime)
    },
  }
  test.each(Object.keys(hands))('somebody %s: named, left without consent, kept with it', async (how) => {
    await hands[how]?.()
    const mine = await work.files()
    const path = work.path('f.txt')
    expect((await history.planRewind('m1')).conflicts).toMatchObject([{ path }])
    expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'REWIND_CONFLICT' })
    expect(await work.files()).toEqual(mine)
    expect(await history.rewind('m1', { onConflict: 'skip' })).toMatchObject({ conflicts: [{ path }] })
    expect(await work.files()).toEqual({ ...mine, 'other.txt': { mode: 0o644, text: 'o0' } })
    await history.rewind('m1', { onConflict: 'overwrite' })
    expect(await work.read('f.txt')).toBe('V0')
    // Also after a restart and after making room.
    await history.close()
    history = await work.open({ maxSnapshots: 1 })
    await history.makeSnapshot('m2')
    await history.gc()
    await history.undoRewind()
    await history.undoRewind({ id: history.rewinds().at(-1)?.id ?? '' })
    expect(await work.files()).toEqual(mine)
  })

  test.each(Object.keys(hands))(
    'somebody %s between preview and consent: that file stops it',
    async (how) => {
      const plan = await history.planRewind('m1')
      expect(plan.conflicts).toEqual([])
      await hands[how]?.()
      const mine = await work.files()
      expect(await failure(history.rewind(plan))).toMatchObject({ code: 'REWIND_CONFLICT' })
      expect(await work.files()).toEqual(mine)
    },
  )

  test.each(Object.keys(hands))(
    'somebody %s after a rewind: the undo leaves that file and names it',
    async (how) => {
      await history.rewind('m1')
      await hands[how]?.()
      const mine = await work.files()
      const result = await history.undoRewind()
      expect(result).toMatchObject({ conflicts: [{ path: work.path('f.txt') }] })
      expect(await work.files()).toEqual({ ...mine, 'other.txt': { mode: 0o644, text: 'o1' } })
    },
  )
})

describe('F17: damage never leads to a later state, a deletion or a success', () => {
  const path = (): string => work.path('f.txt')
  const backup = (version: number): string => work.inDir(backupFileName(path(), version))
  /** What is done to the first backup of the file, with the history closed; perhaps another ledger to open with. */
  const damages: Record<string, () => Promise<LedgerRecord[] | undefined>> = {
    'truncated backup': async () => (await fs.truncate(backup(1), 1), undefined),
    'emptied backup': async () => (await fs.truncate(backup(1)), undefined),
    'backup with other bytes': async () => (await fs.writeFile(backup(1), 'XX'), undefined),
    'backup replaced by a later one': async () => (await fs.copyFile(backup(2), backup(1)), undefined),
    'missing backup': async () => (await fs.rm(backup(1)), undefined),
    'backup that is a link out of the folder': async () => {
      await fs.rm(backup(1))
      await fs.symlink(work.path('other.txt'), backup(1))
      return undefined
    },
    'record that names a backup outside': () => renamed('../../x@v1'),
    'record that names a backup of another file': () => renamed(backupFileName(work.path('other.txt'), 1)),
    'record that names another file of the folder': () => renamed('edits.jsonl'),
    'record of its first state lost': async () =>
      (await records()).filter(
        (record) => record.type !== 'file-history-delta' || record.trackingPath !== 'f.txt',
      ),
    'record of its first state torn': async () => {
      const text = await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8')
      const torn = text.replace(/^(.*"trackingPath":"f\.txt").*$/m, '$1')
      expect(torn).not.toBe(text)
      await fs.writeFile(work.inDir('snapshots.jsonl'), torn)
      return undefined
    },
  }
  const records = async (): Promise<LedgerRecord[]> =>
    parseRecords(await fs.readFile(work.inDir('snapshots.jsonl'), 'utf8'))
  const renamed = async (name: string): Promise<LedgerRecord[]> =>
    (await records()).map((record) =>
      record.type === 'file-history-delta' && record.trackingPath === 'f.txt'
        ? { ...record, backup: { ...record.backup, backupFileName: name } }
        : record,
    )

  test.each(Object.keys(damages))('%s: that file is named and left, the others come back', async (kind) => {
    await history.makeSnapshot('m2')
    await edit(work, history, 'f.txt', 'V2')
    await history.makeSnapshot('m3')
    await history.close()
    const ledger = await damages[kind]?.()
    history = await work.open(ledger ? { ledger: ledgerOf(ledger) } : {})
    const result = await history.rewind('m1', { onConflict: 'overwrite' })
    expect(result).toMatchObject({ restored: [work.path('other.txt')], deleted: [], conflicts: [] })
    expect(result.skipped).toEqual([{ path: path(), reason: expect.stringMatching(/\w/) }])
    expect([await work.read('f.txt'), await work.read('other.txt')]).toEqual(['V2', 'o0'])
    // What is whole still comes back.
    await history.rewind('m2', { onConflict: 'overwrite' })
    expect(await work.read('f.txt')).toBe('V1')
  })

  test('a tracked path that climbs is named; its victim is neither written nor deleted', async () => {
    await fs.writeFile(work.beside('victim.txt'), 'victim')
    await history.close()
    // As of an old client, which records no directory.
    const absent = { backupFileName: null, version: 1, backupTime: '2026-01-01T00:00:00.000Z' }
    const climbing = (await records()).map((record) =>
      record.type === 'file-history-delta' && record.trackingPath === 'f.txt'
        ? { ...record, trackingPath: '../victim.txt', backup: absent }
        : record,
    )
    history = await work.open({ ledger: ledgerOf(climbing) })
    expect(await history.rewind('m1', { onConflict: 'overwrite' })).toMatchObject({
      restored: [work.path('other.txt')],
      deleted: [],
      skipped: [{ path: path() }, { path: work.beside('victim.txt') }],
    })
    expect(await fs.readFile(work.beside('victim.txt'), 'utf8')).toBe('victim')
  })

  test('a backup folder that cannot be read is an error or a named file, and nothing is written', async () => {
    const before = await work.files()
    setFaultHook((_, at) =>
      at.startsWith(`${work.dir}/`) && at.includes('@v') ? injected('EACCES') : undefined,
    )
    const result = await history.rewind('m1', { onConflict: 'overwrite' })
    expect(result.skipped.map((file) => file.path)).toEqual([path(), work.path('other.txt')])
    expect(result).toMatchObject({ restored: [], deleted: [], undoable: false })
    await history.close()
    setFaultHook((_, at) =>
      at === work.dir || at.startsWith(`${work.dir}/`) ? injected('EACCES') : undefined,
    )
    expect(await failure(work.open())).toMatchObject({ code: 'DISK_IO' })
    expect(await failure(verifyFileHistory(work))).toMatchObject({ code: 'DISK_IO' })
    expect(await work.files()).toEqual(before)
  })
})

describe('F19: a file that could not be written is no success', () => {
  const names = Array.from({ length: 10 }, (_, number) => `d${number}/f`)

  test('restored, unchanged and failed are told apart, with reasons, and a second run finishes', async () => {
    for (const name of names) await work.write(name, 'before')
    await history.makeSnapshot('m2')
    for (const name of names) await edit(work, history, name, 'after')
    await work.write('d0/f', 'before')
    // A directory in its place, a lost backup, a directory that takes no file, a disk that is full, one that fails.
    await work.remove('d1/f')
    await fs.mkdir(work.path('d1/f'))
    const backup = work.inDir(backupFileName(work.path('d2/f'), 1))
    await fs.rename(backup, `${backup}.away`)
    setFaultHook((operation, path) => {
      if (path.startsWith(work.path('d3/')) && operation === 'fchmod') return injected('EACCES')
      if (path.startsWith(work.path('d4/')) && operation === 'fchmod') return injected('ENOSPC')
      if (path.startsWith(work.path('d5/')) && operation === 'rename') return injected('EIO')
      return undefined
    })
    const result = await history.rewind('m2')
    setFaultHook(undefined)
    expect(result.skipped).toEqual(
      [1, 2, 3, 4, 5].map((number) => ({
        path: work.path(`d${number}/f`),
        reason: expect.stringMatching(
          [/directory/, /missing/, /permissions/, /space/, /disk reported/][number - 1] ?? /^$/,
        ),
      })),
    )
    expect(result.restored).toEqual([6, 7, 8, 9].map((number) => work.path(`d${number}/f`)))
    // The two files of the first turn were tracked before: they are as the snapshot has them.
    expect(result.unchanged).toEqual([work.path('d0/f'), work.path('f.txt'), work.path('other.txt')])
    expect(await Promise.all([2, 3, 4, 5].map((number) => work.read(`d${number}/f`)))).toEqual(
      Array.from({ length: 4 }, () => 'after'),
    )
    // Nothing half-made stays behind.
    expect(Object.keys(await work.files()).filter((name) => name.includes('tmp'))).toEqual([])
    await work.remove('d1/f')
    await work.write('d1/f', 'after')
    await fs.rename(`${backup}.away`, backup)
    expect(await history.rewind('m2')).toMatchObject({
      restored: [1, 2, 3, 4, 5].map((number) => work.path(`d${number}/f`)),
      skipped: [],
      conflicts: [],
    })
    expect(await Promise.all(names.map((name) => work.read(name)))).toEqual(names.map(() => 'before'))
  })
})

describe('F21: a backup is whole and readable before the edit goes on, or the edit is refused', () => {
  test.each([0o777, 0o400, 0o077, 0])('umask %o changes nothing', async (mask) => {
    const previous = process.umask(mask)
    try {
      await work.write('secret', 'bytes', 0o640)
      const backup = await history.trackEdit('secret', 'm1')
      expect((await fs.stat(work.inDir(backup.backupFileName ?? ''))).mode & 0o7777).toBe(0o640)
      await work.write('secret', 'edited')
      await history.recordEdit('secret', 'm1')
    } finally {
      process.umask(previous)
    }
    await history.rewind('m1')
    expect(await work.files()).toMatchObject({ secret: { mode: 0o640, text: 'bytes' } })
  })

  test('no half file ever stands under a final name, whichever operation fails', async () => {
    await work.write('big', 'x'.repeat(3000))
    for (const code of ['ENOSPC', 'EIO']) {
      for (const isPersistent of [false, true]) {
        let isTripped = true
        for (let nth = 1; isTripped; nth += 1) {
          isTripped = false
          let count = 0
          setFaultHook((operation, path) => {
            if (!path.startsWith(work.dir) && !path.startsWith(work.root)) return undefined
            count += 1
            if (count < nth || (count > nth && !isPersistent)) return undefined
            isTripped = true
            return operation === 'write' ? { shortWriteBytes: 1 } : injected(code)
          })
          const tracked = await history.trackEdit('big', 'm1').catch((error: unknown) => error)
          setFaultHook(undefined)
          for (const name of await fs.readdir(work.dir)) {
            if (!name.startsWith(backupFileName(work.path('big'), 0).slice(0, 16))) continue
            expect(await fs.readFile(work.inDir(name), 'utf8'), name).toBe('x'.repeat(3000))
          }
          if (tracked instanceof Error) expect(isLociError(tracked)).toBe(true)
          else expect(Buffer.from((await history.readFileAt('m1', 'big')) ?? [])).toHaveLength(3000)
        }
      }
    }
  })
})
