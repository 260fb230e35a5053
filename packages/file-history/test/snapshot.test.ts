import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Backup, LedgerRecord, Snapshot } from '@loci/file-history'
import {
  addSnapshot,
  backupOf,
  emptyFileHistoryState,
  evict,
  foldLedger,
  identityOf,
  joinSnapshot,
  namedBackups,
  removeJoined,
  removeSnapshot,
  targetBackup,
} from '../src/snapshot.ts'

const backup = (version: number, name: string | null = `b@v${version}`): Backup => ({
  backupFileName: name,
  version,
  backupTime: '',
})
const snapshot = (messageId: string, backups: Record<string, Backup> = {}): Snapshot => ({
  messageId,
  trackedFileBackups: backups,
  timestamp: `t-${messageId}`,
})
const whole = (of: Snapshot, isSnapshotUpdate = false): LedgerRecord => ({
  type: 'file-history-snapshot',
  messageId: of.messageId,
  snapshot: of,
  isSnapshotUpdate,
})
const delta = (snapshotMessageId: string, trackingPath: string, of: Backup): LedgerRecord => ({
  type: 'file-history-delta',
  messageId: 'a',
  snapshotMessageId,
  trackingPath,
  backup: of,
  timestamp: '',
})
const first = (): boolean => false

test('a delta joins the last snapshot with its id', () => {
  const { state } = foldLedger([
    whole(snapshot('m')),
    whole(snapshot('m')),
    whole(snapshot('n')),
    delta('m', 'f', backup(1)),
  ])
  expect(state.snapshots.map(({ trackedFileBackups }) => Object.keys(trackedFileBackups))).toEqual([
    [],
    ['f'],
    [],
  ])
  expect([...state.trackedFiles]).toEqual(['f'])
})

test('the older form, a snapshot that updates another, gives the same as a delta', () => {
  const joined = snapshot('m', { f: backup(1) })
  const older = foldLedger([whole(snapshot('m')), whole(snapshot('n')), whole(joined, true)])
  const newer = foldLedger([whole(snapshot('m')), whole(snapshot('n')), delta('m', 'f', backup(1))])
  expect(older).toEqual(newer)
})

test('an update whose snapshot is lost stands for it', () => {
  expect(foldLedger([whole(snapshot('m', { f: backup(1) }), true)]).state.snapshots).toHaveLength(1)
})

test('a file that joins twice keeps the older state', () => {
  const { state } = foldLedger([whole(snapshot('m')), delta('m', 'f', backup(1)), delta('m', 'f', backup(2))])
  expect(backupOf(state.snapshots[0], 'f')?.version).toBe(1)
})

test('a delta whose snapshot line is lost joins the snapshot before it', () => {
  const { state } = foldLedger([
    whole(snapshot('m')),
    delta('lost', 'f', backup(1)),
    whole(snapshot('n', { f: backup(2) })),
  ])
  expect(targetBackup(state, 0, 'f', first)).toMatchObject({ version: 1 })
})

test('a delta that comes before its snapshot joins it all the same', () => {
  const { state } = foldLedger([whole(snapshot('l')), delta('m', 'f', backup(1)), whole(snapshot('m'))])
  expect(backupOf(state.snapshots[0], 'f')).toBeUndefined()
  expect(backupOf(state.snapshots[1], 'f')?.version).toBe(1)
})

test('a file called like a property of every object is a file like others', () => {
  for (const key of ['constructor', '__proto__', 'toString']) {
    const { state } = foldLedger([whole(snapshot('m')), delta('m', key, backup(1))])
    expect(backupOf(snapshot('m'), key)).toBeUndefined()
    expect(backupOf(state.snapshots[0], key)?.version).toBe(1)
    expect([...state.trackedFiles]).toEqual([key])
  }
})

test('a file that a snapshot lacks has its first backup after it, never a later one', () => {
  const { state } = foldLedger([
    whole(snapshot('m')),
    whole(snapshot('n', { f: backup(1), g: backup(2), h: backup(3) })),
    whole(snapshot('o', { f: backup(4), g: backup(1) })),
  ])
  expect(targetBackup(state, 0, 'f', first)).toMatchObject({ version: 1 })
  expect(targetBackup(state, 0, 'g', first)).toHaveProperty('problem')
  expect(targetBackup(state, 0, 'h', ({ version }) => version === 3)).toMatchObject({ version: 3 })
  expect(targetBackup(state, 2, 'h', first)).toHaveProperty('problem')
  // Its own backup counts whatever its version.
  expect(targetBackup(state, 1, 'h', first)).toMatchObject({ version: 3 })
})

test('evicted ids are remembered, unless a kept snapshot has the same or it comes again', () => {
  const { state } = foldLedger(['m', 'n', 'm', 'o'].map((id) => whole(snapshot(id))))
  const evicted = evict(state, (_, index) => index < 2)
  expect([...evicted.evictedIds]).toEqual(['n'])
  expect([...addSnapshot(evicted, snapshot('n')).evictedIds]).toEqual([])
})

test('what is added and taken back leaves no trace', () => {
  const { state } = foldLedger([whole(snapshot('m', { f: backup(1) }))])
  const added = addSnapshot(state, snapshot('n', { f: backup(2) }))
  expect(removeSnapshot(added, snapshot('n'))).toEqual(state)
  const one = backup(1)
  const joined = joinSnapshot(state, 'g', one)
  expect(removeJoined(joined, identityOf(snapshot('m')), 'g', one)).toEqual(state)
})

test('a file that joined a snapshot which is taken back goes where the ledger would put it', () => {
  const base = foldLedger([whole(snapshot('m'))]).state
  const joined = joinSnapshot(addSnapshot(base, snapshot('n')), 'f', backup(1))
  const { state } = foldLedger([whole(snapshot('m')), delta('n', 'f', backup(1))])
  expect(removeSnapshot(joined, snapshot('n'))).toEqual(state)
})

test('what a snapshot that is taken back has seen is not known of the one before', () => {
  const { state } = foldLedger([whole(snapshot('m', { f: backup(1) })), whole(snapshot('n'))])
  const added = snapshot('o', { f: backup(2) })
  expect(removeSnapshot(addSnapshot(state, added), added)).toEqual(state)
})

test('the state in memory equals the state that its ledger tells, for random histories', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('snapshot' as const), id: fc.constantFrom('m', 'n', 'o') }),
    fc.record({ kind: fc.constant('join' as const), key: fc.constantFrom('f', 'g', '__proto__') }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let state = emptyFileHistoryState()
      const records: LedgerRecord[] = []
      for (const [number, next] of steps.entries()) {
        const newest = state.snapshots.at(-1)
        if (next.kind === 'snapshot') {
          const made = {
            ...snapshot(next.id, { ...newest?.trackedFileBackups }),
            timestamp: String(number),
          }
          state = addSnapshot(state, made)
          records.push(whole(made))
        } else if (newest && backupOf(newest, next.key) === undefined) {
          const of = backup(number, `n@v${number}`)
          state = joinSnapshot(state, next.key, of)
          records.push(delta(newest.messageId, next.key, of))
        }
      }
      const folded = foldLedger(records).state
      expect(folded.snapshots).toEqual(state.snapshots)
      expect(folded.trackedFiles).toEqual(state.trackedFiles)
      expect(namedBackups(folded)).toEqual(namedBackups(state))
    }),
  )
})
