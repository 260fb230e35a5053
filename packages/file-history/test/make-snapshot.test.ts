import { appendFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { backupFileName, emptyFileHistoryState, openFileHistory, verifyFileHistory } from '@loci/file-history'
import type {
  FileHistory,
  FileHistoryState,
  HistoryCell,
  LedgerRecord,
  SnapshotLedger,
} from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'one', 'b.txt': 'two' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.dispose()
})

interface MemoryLedger extends SnapshotLedger {
  records: LedgerRecord[]
  /** Sees each record first, and may hold it up or refuse it. */
  before: (record: LedgerRecord) => void | Promise<void>
}

function memoryLedger(): MemoryLedger {
  const ledger: MemoryLedger = {
    records: [],
    before: () => undefined,
    load: async () => ledger.records,
    append: async (record) => {
      await ledger.before(record)
      ledger.records.push(record)
    },
  }
  return ledger
}

const refuse = (): void => {
  throw new Error('the ledger is full')
}

/** A cell that remembers its states, and tells when one comes that is waited for. */
function spyCell(): HistoryCell & {
  states: FileHistoryState[]
  listener: () => void
  until(is: (state: FileHistoryState) => boolean): Promise<void>
} {
  let state = emptyFileHistoryState()
  const waiting: { is: (state: FileHistoryState) => boolean; resolve: () => void }[] = []
  const cell = {
    states: [state],
    listener: (): void => undefined,
    getState: () => state,
    setState(updater: (previous: FileHistoryState) => FileHistoryState) {
      const next = updater(state)
      if (next === state) return
      state = next
      cell.states.push(next)
      for (const { is, resolve } of waiting) if (is(next)) resolve()
      cell.listener()
    },
    until: (is: (state: FileHistoryState) => boolean) =>
      new Promise<void>((resolve) => {
        waiting.push({ is, resolve })
      }),
  }
  return cell
}

test('a version moves only with bytes, mode or existence', async () => {
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  const versions = async (change: () => Promise<void>): Promise<number | undefined> => {
    await change()
    const { trackedFileBackups } = await history.makeSnapshot('m')
    return trackedFileBackups['a.txt']?.version
  }
  const seen = [
    await versions(async () => undefined),
    await versions(() => work.write('a.txt', 'One')),
    await versions(() => fs.utimes(work.path('a.txt'), 1, 1)),
    await versions(() => fs.chmod(work.path('a.txt'), 0o600)),
    await versions(() => work.remove('a.txt')),
    await versions(async () => undefined),
    await versions(() => work.write('a.txt', 'One')),
  ]
  expect(seen).toEqual([1, 2, 2, 3, 4, 4, 5])
  expect(history.snapshots().at(-2)?.trackedFileBackups['a.txt']?.backupFileName).toBeNull()
  await history.close()
})

test('same size and same mtime, set back or not, is no proof: the bytes are read', async () => {
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  for (const [number, mtime] of [1000, 1, 4_000_000_000].entries()) {
    const before = await fs.stat(work.path('a.txt'))
    await work.write('a.txt', `x${number}e`)
    await fs.utimes(work.path('a.txt'), before.atime, mtime === 1000 ? before.mtime : mtime)
    const { trackedFileBackups } = await history.makeSnapshot(`m${number}`)
    expect(trackedFileBackups['a.txt']?.version).toBe(number + 2)
    expect(await history.readFileAt(`m${number}`, 'a.txt')).toEqual(Buffer.from(`x${number}e`))
  }
  await history.close()
})

test('a file that is gone together with its backup is recorded as gone', async () => {
  const history = await work.open()
  const { backupFileName: name } = await history.trackEdit('a.txt', 'a')
  await work.remove('a.txt')
  await fs.rm(work.inDir(name ?? ''))
  const { trackedFileBackups } = await history.makeSnapshot('m')
  expect(trackedFileBackups['a.txt']).toMatchObject({ backupFileName: null, version: 2 })
  // And one whose backup alone is gone is backed up again.
  await history.trackEdit('b.txt', 'a')
  await fs.rm(work.inDir(backupFileName(work.path('b.txt'), 1)))
  expect((await history.makeSnapshot('n')).trackedFileBackups['b.txt']).toMatchObject({ version: 2 })
  expect(await history.readFileAt('n', 'b.txt')).toEqual(Buffer.from('two'))
  await history.close()
})

test('a rename over the file, as editors save, is seen', async () => {
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  await work.write('tmp', 'oNe')
  await fs.rename(work.path('tmp'), work.path('a.txt'))
  expect((await history.makeSnapshot('m')).trackedFileBackups['a.txt']?.version).toBe(2)
  await history.close()
})

test('phase 1 reads through an updater that changes nothing, and wakes nobody', async () => {
  const cell = spyCell()
  const history = await work.open({ state: cell })
  const before = cell.states.length
  const making = history.makeSnapshot('m')
  expect(cell.states).toHaveLength(before)
  await making
  expect(cell.states).toHaveLength(before + 1)
  await history.close()
})

test('the state is committed before the ledger is written, and the call ends after it', async () => {
  const cell = spyCell()
  const ledger = memoryLedger()
  const order: string[] = []
  ledger.before = () => void order.push(`append ${cell.getState().snapshots.length}`)
  const history = await work.open({ state: cell, ledger })
  await history.makeSnapshot('m').then(() => order.push('resolved'))
  expect(order).toEqual(['append 1', 'resolved'])
  await history.close()
})

test('what is tracked while a snapshot is being made is inherited by it', async () => {
  const ledger = memoryLedger()
  const cell = spyCell()
  const history = await work.open({ ledger, state: cell })
  await history.makeSnapshot('m1')
  // The look at a.txt waits for the record of a.txt, which waits until b.txt has joined m1.
  const joined = cell.until(({ trackedFiles }) => trackedFiles.has('b.txt'))
  ledger.before = () => joined
  const captured = cell.until(({ trackedFiles }) => trackedFiles.has('a.txt'))
  const first = history.trackEdit('a.txt', 'a')
  await captured
  const making = history.makeSnapshot('m2')
  const second = history.trackEdit('b.txt', 'a')
  const [snapshot] = await Promise.all([making, first, second])
  expect(Object.keys(snapshot.trackedFileBackups).toSorted()).toEqual(['a.txt', 'b.txt'])
  expect(history.snapshots()[0]?.trackedFileBackups['b.txt']).toEqual(snapshot.trackedFileBackups['b.txt'])
  expect(ledger.records.map(({ type }) => type)).toEqual([
    'file-history-snapshot',
    'file-history-delta',
    'file-history-delta',
    'file-history-snapshot',
  ])
  await history.close()
})

test('an edit recorded after the look at its file, and before the commit, is newer than the snapshot', async () => {
  const ledger = memoryLedger()
  const cell = spyCell()
  const history = await work.open({ ledger, state: cell })
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  // The snapshot waits for b.txt, whose record waits until a.txt has been edited again.
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  ledger.before = () => held
  const captured = cell.until(({ trackedFiles }) => trackedFiles.has('b.txt'))
  const tracking = history.trackEdit('b.txt', 'a')
  await captured
  const making = history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', 'a3')
  release()
  await Promise.all([making, tracking])
  expect(await history.readFileAt('m2', 'a.txt')).toEqual(Buffer.from('a2'))
  expect((await history.planRewind('m1')).conflicts).toEqual([])
  await work.write('a.txt', 'by hand')
  expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
  await history.close()
})

test('an edit announced after the call of makeSnapshot is not in the snapshot', async () => {
  await work.write('a.txt', 'x'.repeat(3 << 20))
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  for (const round of ['m2', 'm3', 'm4']) {
    const before = await work.read('a.txt')
    const making = history.makeSnapshot(round)
    await edit(work, history, 'a.txt', `${round} edit`)
    await making
    expect(Buffer.from((await history.readFileAt(round, 'a.txt')) ?? []).toString()).toBe(before)
    // And the edit is the agent's, although it was recorded before the snapshot was.
    expect((await history.planRewind(round)).conflicts).toEqual([])
  }
  await history.close()
})

test('that holds for each of many files', async () => {
  const names = Array.from({ length: 50 }, (_, number) => `f${number}`)
  const history = await work.open()
  for (const name of names) await edit(work, history, name, 'before')
  const making = history.makeSnapshot('m')
  await Promise.all(names.toReversed().map((name) => edit(work, history, name, 'after')))
  await making
  for (const name of names) expect(await history.readFileAt('m', name)).toEqual(Buffer.from('before'))
  await history.close()
})

test('snapshots made side by side keep the order of the calls, in state and ledger', async () => {
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  const ids = Array.from({ length: 10 }, (_, number) => `m${number}`)
  await Promise.all(ids.map((id) => history.makeSnapshot(id)))
  const order = history.snapshots().map(({ messageId }) => messageId)
  expect(order).toEqual(['a', ...ids])
  await history.close()
  const again = await work.open({ mode: 'read' })
  expect(again.snapshots().map(({ messageId }) => messageId)).toEqual(order)
  await again.close()
})

test('a snapshot that the ledger does not take is taken back, and the next one works', async () => {
  const ledger = memoryLedger()
  const history = await work.open({ ledger })
  await history.trackEdit('a.txt', 'a')
  const before = history.snapshots()
  ledger.before = refuse
  expect(await failure(history.makeSnapshot('m'))).toMatchObject({ message: 'the ledger is full' })
  expect(history.snapshots()).toEqual(before)
  ledger.before = () => undefined
  await history.makeSnapshot('m')
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['a', 'm'])
  await history.close()
})

test('an edit that the ledger does not take is taken back, and can be announced again', async () => {
  const ledger = memoryLedger()
  const history = await work.open({ ledger })
  await history.makeSnapshot('m')
  ledger.before = refuse
  expect(await failure(history.trackEdit('a.txt', 'a'))).toMatchObject({ message: 'the ledger is full' })
  expect(history.snapshots()[0]?.trackedFileBackups).toEqual({})
  ledger.before = () => undefined
  expect(await history.trackEdit('a.txt', 'a')).toMatchObject({ version: 1 })
  await history.close()
})

test.each(['changed', 'deleted'])(
  'after an edit that the ledger did not take, the file being %s meanwhile, the next backup is its first',
  async (how) => {
    const ledger = memoryLedger()
    const history = await work.open({ ledger })
    await history.makeSnapshot('m1')
    await history.makeSnapshot('m2')
    ledger.before = () => {
      throw new Error('refused')
    }
    expect(await failure(history.trackEdit('a.txt', 'a'))).toMatchObject({ message: 'refused' })
    ledger.before = () => undefined
    if (how === 'changed') await work.write('a.txt', 'by hand')
    else await work.remove('a.txt')
    await edit(work, history, 'a.txt', 'edited')
    expect(await history.rewind('m1')).toMatchObject({ skipped: [], conflicts: [] })
    expect(await work.read('a.txt')).toBe(how === 'changed' ? 'by hand' : null)
    await history.close()
  },
)

test('a file that joined a snapshot which then failed is still rewindable, now and after reopening', async () => {
  const ledger = memoryLedger()
  const cell = spyCell()
  const history = await work.open({ ledger, state: cell })
  await history.makeSnapshot('m1')
  const joined = cell.until(({ trackedFiles }) => trackedFiles.has('a.txt'))
  let tracking: Promise<unknown> | undefined
  ledger.before = async (record) => {
    if (record.messageId !== 'm2') return
    // m2 is the newest snapshot at this moment, and is about to be taken back.
    tracking = history.trackEdit('a.txt', 'a')
    await joined
    refuse()
  }
  expect(await failure(history.makeSnapshot('m2'))).toMatchObject({ message: 'the ledger is full' })
  await tracking
  await edit(work, history, 'a.txt', 'changed')
  const check = async (of: FileHistory): Promise<void> => {
    expect(of.snapshots().map(({ messageId }) => messageId)).toEqual(['m1'])
    expect(await of.readFileAt('m1', 'a.txt')).toEqual(Buffer.from('one'))
  }
  await check(history)
  await history.close()
  const again = await work.open({ ledger })
  await check(again)
  expect((await again.rewind('m1')).restored).toEqual([work.path('a.txt')])
  await again.close()
})

test('a listener of the cell that throws makes the call fail, with state and ledger in accord', async () => {
  const cell = spyCell()
  const ledger = memoryLedger()
  const history = await work.open({ state: cell, ledger })
  cell.listener = () => {
    throw new Error('from a listener')
  }
  expect(await failure(history.makeSnapshot('m'))).toMatchObject({ message: 'from a listener' })
  cell.listener = () => undefined
  expect(history.snapshots()).toEqual([])
  expect(ledger.records).toEqual([])
  await history.close()
})

test('the ledger is the truth on open: a state that was passed in is replaced', async () => {
  const ledger = memoryLedger()
  const first = await work.open({ ledger })
  await first.makeSnapshot('m')
  await first.close()
  const cell = spyCell()
  cell.setState((previous) => ({ ...previous, trackedFiles: new Set(['ghost']) }))
  const again = await work.open({ ledger, state: cell })
  expect(cell.getState().trackedFiles.size).toBe(0)
  expect(cell.getState().snapshots.map(({ messageId }) => messageId)).toEqual(['m'])
  await again.close()
})

test('a link, directory or moved parent in place of a tracked file: its last state is repeated, nothing is read', async () => {
  await work.write('d/c.txt', 'three')
  const history = await work.open()
  for (const name of ['a.txt', 'b.txt', 'd/c.txt']) await history.trackEdit(name, 'a')
  const before = history.snapshots()[0]?.trackedFileBackups
  await work.remove('a.txt')
  await fs.symlink('/etc/hostname', work.path('a.txt'))
  await work.remove('b.txt')
  await fs.mkdir(work.path('b.txt'))
  await fs.rename(work.path('d'), work.path('e'))
  await fs.symlink('e', work.path('d'))
  await work.write('e/c.txt', 'other')
  expect((await history.makeSnapshot('m')).trackedFileBackups).toEqual(before)
  await work.remove('d')
  await work.write('d', 'a file')
  // Below a file there is nothing: that one is gone for certain.
  expect((await history.makeSnapshot('m')).trackedFileBackups).toEqual({
    ...before,
    'd/c.txt': expect.objectContaining({ backupFileName: null, version: 2 }),
  })
  await history.close()
})

test.each([
  ['cannot be read', 'xyz'],
  ['cannot be copied', 'of another size'],
  ['keeps changing', 'log'],
  ['has grown over the limit', 'x'.repeat(101)],
])(
  'a tracked file that %s keeps its last state; the others are recorded, and verify names it',
  async (_, text) => {
    let history = await work.open({ maxFileBytes: 100 })
    await history.trackEdit('a.txt', 'a')
    await history.trackEdit('b.txt', 'a')
    await work.write('a.txt', text)
    await work.write('b.txt', 'two!')
    let looks = 0
    setFaultHook((operation, path) => {
      if (path !== work.path('a.txt')) return undefined
      if (text === 'log') appendFileSync(path, String((looks += 1)).slice(0, 1))
      return text !== 'log' && text.length < 100 && operation === 'open'
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined
    })
    if (text === 'of another size') {
      // The copy names its destination, whichever side fails.
      await work.write('b.txt', 'two')
      setFaultHook((operation, path) =>
        operation === 'copy' || (operation === 'open' && path === work.path('a.txt'))
          ? Object.assign(new Error('injected'), { code: 'EACCES' })
          : undefined,
      )
    }
    const { trackedFileBackups } = await history.makeSnapshot('m')
    setFaultHook(undefined)
    expect(trackedFileBackups['a.txt']?.version).toBe(1)
    expect(trackedFileBackups['b.txt']?.version).toBe(text === 'of another size' ? 1 : 2)
    await history.close()
    expect(await verifyFileHistory(work)).toMatchObject([
      {
        kind: 'unseen-file',
        path: work.path('a.txt'),
        message: expect.stringMatching(/^Snapshot m holds a\.txt as it was before, .*project\/a\.txt"/),
      },
    ])
    history = await work.open()
    expect((await history.makeSnapshot('m2')).trackedFileBackups['a.txt']?.version).toBe(2)
    await history.close()
  },
)

test('a snapshot that could not read a file does not make the agent’s edit of it a conflict', async () => {
  let history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'edited')
  setFaultHook((operation, path) =>
    operation === 'lstat' && path === work.path('a.txt')
      ? Object.assign(new Error('injected'), { code: 'EACCES' })
      : undefined,
  )
  await history.makeSnapshot('m2')
  await history.makeSnapshot('m3')
  setFaultHook(undefined)
  await history.close()
  history = await work.open()
  expect((await history.planRewind('m1')).conflicts).toEqual([])
  await work.write('a.txt', 'by hand')
  expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
  await history.close()
})

test('versions go on after reopening, and above those of evicted snapshots', async () => {
  let history = await work.open({ maxSnapshots: 1 })
  await history.trackEdit('a.txt', 'a')
  for (const text of ['2', '3']) {
    await work.write('a.txt', text)
    await history.makeSnapshot(text)
  }
  await history.close()
  history = await work.open({ maxSnapshots: 1 })
  await work.write('a.txt', '4')
  expect((await history.makeSnapshot('4')).trackedFileBackups['a.txt']).toMatchObject({
    version: 4,
    backupFileName: backupFileName(work.path('a.txt'), 4),
  })
  await history.close()
})

test('opening for reading makes nothing, and writing is refused', async () => {
  const history = await openFileHistory({ dir: work.dir, root: work.root, mode: 'read' })
  expect(history.snapshots()).toEqual([])
  expect(await history.usage()).toEqual({ backups: 0, sizeBytes: 0, sharedBytes: 0 })
  for (const refused of [
    history.makeSnapshot('m'),
    history.trackEdit('a.txt', 'm'),
    history.recordEdit('a.txt', 'm'),
    history.rewind('m'),
    history.undoRewind(),
    history.gc(),
    history.trackCommand('m', async () => undefined),
  ]) {
    expect(await failure(refused)).toMatchObject({ code: 'HISTORY_LOCKED' })
  }
  await history.close()
  expect(Object.keys(await work.all())).toEqual(['project/a.txt', 'project/b.txt'])
})
