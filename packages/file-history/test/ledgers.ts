import type { LedgerRecord, Snapshot, SnapshotLedger } from '@loci/file-history'

/** A ledger in memory, over `records`. */
export function ledgerOf(records: LedgerRecord[]): SnapshotLedger {
  return { load: async () => records, append: async (record) => void records.push(record) }
}

/** The records of a JSON Lines text that has no others. */
export function parseRecords(text: string): LedgerRecord[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line): LedgerRecord => JSON.parse(line))
}

/** The same in the older form: instead of each delta the whole snapshot again, in the name of the edit. */
export function asUpdates(records: readonly LedgerRecord[]): LedgerRecord[] {
  const latest = new Map<string, Snapshot>()
  return records.map((record) => {
    if (record.type === 'file-history-snapshot') {
      latest.set(record.snapshot.messageId, record.snapshot)
      return record
    }
    const { messageId, snapshotMessageId, trackingPath, backup } = record
    const before = latest.get(snapshotMessageId)
    if (before === undefined) throw new Error('a delta without its snapshot')
    const trackedFileBackups = { ...before.trackedFileBackups, [trackingPath]: backup }
    const snapshot = { ...before, trackedFileBackups }
    latest.set(snapshotMessageId, snapshot)
    return { type: 'file-history-snapshot', messageId, snapshot, isSnapshotUpdate: true }
  })
}
