import * as fileHistory from '@loci/file-history'
import * as ignoring from '@loci/file-history/ignore'
import type {
  Backup,
  FileBackup,
  FileChange,
  FileHistory,
  FileHistoryState,
  HistoryCell,
  LedgerRecord,
  RewindPlan,
  RewindResult,
  Snapshot,
  SnapshotLedger,
} from '@loci/file-history'
import { expect, test } from 'vitest'

test('the public names', () => {
  expect(Object.keys(fileHistory).toSorted()).toEqual([
    'MAX_SNAPSHOTS',
    'backupFile',
    'backupFileName',
    'compareStatsAndContent',
    'emptyFileHistoryState',
    'isFileHistoryEnabled',
    'linkBackups',
    'loadCheckpoints',
    'makeCheckpoint',
    'openFileHistory',
    'rewindToCheckpoint',
    'unlockFileHistory',
    'verifyFileHistory',
  ])
  expect(fileHistory.MAX_SNAPSHOTS).toBe(100)
})

test('the public names of what git ignores', () => {
  expect(Object.keys(ignoring).toSorted()).toEqual(['IgnoreRules', 'loadRulesAbove', 'readRules'])
})

/** The shape of `Store<T>` of `@loci/app-state`. */
interface Store<T> {
  getState(): T
  setState(updater: (previous: T) => T): void
  subscribe(listener: (state: T, previous: T) => void): () => void
}

test('a store of app-state fits HistoryCell, and the types say what must not compile', () => {
  const fits = (store: Store<FileHistoryState>): HistoryCell => store
  const backup: Backup = { backupFileName: null, version: 1, backupTime: '' }
  const snapshot: Snapshot = { messageId: 'm', trackedFileBackups: { 'a.txt': backup }, timestamp: '' }
  const record: LedgerRecord = {
    type: 'file-history-snapshot',
    messageId: 'm',
    snapshot,
    isSnapshotUpdate: false,
  }
  const ledger: SnapshotLedger = { load: async () => [record], append: async () => undefined }
  const state = fileHistory.emptyFileHistoryState()
  const change: FileChange = {
    path: '/a',
    kind: 'create',
    insertions: 1,
    deletions: 0,
    binary: false,
    before: null,
    after: 'f'.repeat(64),
  }
  const plan: RewindPlan = { messageId: 'm', changes: [change], conflicts: [], skipped: [] }
  const copy: FileBackup = { filePath: '/a', backupPath: null }
  const mistakes = (history: FileHistory, result: RewindResult): void => {
    // @ts-expect-error the state is not to be written to
    state.snapshots.push(snapshot)
    // @ts-expect-error the set neither
    state.trackedFiles.add('a.txt')
    // @ts-expect-error an edit belongs to a message
    void history.trackEdit('a.txt')
    // @ts-expect-error there are three ways with conflicts
    void history.rewind('m', { onConflict: 'ask' })
    // @ts-expect-error and two ways out of an interrupted rewind
    void history.resolveRewind('retry')
    // @ts-expect-error what happens meanwhile is not for the caller to set
    history.pendingRewind = null
    // @ts-expect-error a result names files, it does not count them
    const count: number = result.restored
    // @ts-expect-error the root is needed: keys are relative to it
    void fileHistory.openFileHistory({ dir: '/x' })
    return void count
  }
  expect([fits, ledger, plan, copy, mistakes]).toHaveLength(5)
})
