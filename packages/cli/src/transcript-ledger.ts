import { orAbsent, files } from '@loci/disk'
import type { LedgerRecord, SnapshotLedger } from '@loci/file-history'
import { readTranscript } from '@loci/session-jsonl'
import type { RecordDraft } from '@loci/session-jsonl'

/**
 * The ledger of a session's file history: the snapshot lines in its transcript, where other clients look for them.
 * @param options.record writes one line to the transcript
 */
export function transcriptLedger(options: {
  path: string
  record: (draft: RecordDraft) => Promise<void>
}): SnapshotLedger {
  return {
    async load() {
      if ((await orAbsent(files.stat(options.path))) === undefined) return []
      const records: LedgerRecord[] = []
      for await (const { record } of readTranscript(options.path)) {
        if (record !== undefined && isLedgerRecord(record)) records.push(record)
      }
      return records
    },
    append: (record) => options.record({ ...record }),
  }
}

/** By kind alone: what a damaged snapshot line holds is for the file history to judge and to report. */
function isLedgerRecord(record: object): record is LedgerRecord {
  const type: unknown = 'type' in record ? record.type : undefined
  return type === 'file-history-snapshot' || type === 'file-history-delta'
}
