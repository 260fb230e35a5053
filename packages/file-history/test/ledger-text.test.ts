import { emptyFileHistoryState } from '@loci/file-history'
import type { Backup, LedgerRecord, Snapshot } from '@loci/file-history'
import { expect, test } from 'vitest'
import { recordText } from '../src/ledger.ts'
import { addSnapshot, joinSnapshot, nextRecord } from '../src/snapshot.ts'

const timestamp = '2026-01-01T00:00:00.000Z'
const backup = (version: number): Backup => ({
  backupFileName: `a@v${version}`,
  version,
  backupTime: timestamp,
})
const snapshotOf = (messageId: string, trackedFileBackups: Record<string, Backup>): Snapshot => ({
  messageId,
  trackedFileBackups,
  timestamp,
})
const line = (snapshot: Snapshot): LedgerRecord => ({
  type: 'file-history-snapshot',
  messageId: snapshot.messageId,
  snapshot,
  isSnapshotUpdate: false,
})

test('the line of a snapshot is its JSON, also where it has the files of the one before', () => {
  const first = { 'a "b"\n': backup(1), __proto__: backup(2) }
  const second = { 'a "b"\n': backup(3) }
  const textOf = recordText()
  const snapshots = [
    snapshotOf('m "1"', first),
    snapshotOf('m\u2028\ud800', first),
    snapshotOf('m3', second),
    snapshotOf('m4', first),
  ]
  for (const snapshot of snapshots) expect(textOf(line(snapshot))).toBe(JSON.stringify(line(snapshot)))
  const { snapshots: joined } = joinSnapshot(
    addSnapshot(emptyFileHistoryState(), snapshotOf('m5', second)),
    'c',
    backup(4),
  )
  for (const snapshot of joined) expect(textOf(line(snapshot))).toBe(JSON.stringify(line(snapshot)))
  const delta: LedgerRecord = {
    type: 'file-history-delta',
    messageId: 'a',
    snapshotMessageId: 'm5',
    trackingPath: 'c',
    backup: backup(4),
    timestamp,
  }
  expect(textOf(delta)).toBe(JSON.stringify(delta))
})

test('a snapshot shares the record of the one before only where it holds the same files in the same states', () => {
  const [one, two] = [backup(1), backup(2)]
  const former = snapshotOf('m', { a: one, b: two })
  const next = (looks: Record<string, Backup>, inherited: string[] = []): Record<string, Backup> =>
    nextRecord(
      former,
      Object.entries(looks).map(([key, at]) => ({ key, backup: at })),
      (key) => inherited.includes(key),
    )
  expect(next({ a: one, b: two })).toBe(former.trackedFileBackups)
  expect(next({ b: two, a: one })).toBe(former.trackedFileBackups)
  expect(next({ a: one })).toEqual({ a: one })
  expect(next({ a: one }, ['b'])).toEqual({ a: one, b: two })
  expect(next({ a: one, b: one }, ['b'])).toEqual({ a: one, b: one })
  expect(next({ a: one, c: two })).toEqual({ a: one, c: two })
  expect(next({ a: one, b: two, c: one })).toEqual({ a: one, b: two, c: one })
  expect(nextRecord(undefined, [{ key: 'a', backup: one }], () => true)).toEqual({ a: one })
  expect(former.trackedFileBackups).toEqual({ a: one, b: two })
})
