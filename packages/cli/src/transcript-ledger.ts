import { files, orAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
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
      const records: LedgerRecord[] = []
      for await (const { record } of itemsOf(options.path)) {
        if (record !== undefined && isLedgerRecord(record)) records.push(record)
      }
      return records
    },
    append: (record) => options.record({ ...record }),
    async damage() {
      const all: Damage[] = []
      for await (const { damage } of itemsOf(options.path)) if (damage !== undefined) all.push(damage)
      return all
    },
  }
}

/** The lines of a transcript; none before its first. */
async function* itemsOf(path: string): ReturnType<typeof readTranscript> {
  if ((await orAbsent(files.stat(path))) !== undefined) yield* readTranscript(path)
}

/** By kind alone: what a damaged snapshot line holds is for the file history to judge and to report. */
function isLedgerRecord(record: object): record is LedgerRecord {
  const type: unknown = 'type' in record ? record.type : undefined
  return type === 'file-history-snapshot' || type === 'file-history-delta'
}
