import { resolve } from 'node:path'
import type { Damage } from '@loci/disk'
import type { EditLog } from './edits.ts'
import { defaultLedgerPath, parseLedgerRecord, readLedger } from './ledger.ts'
import type { SnapshotLedger } from './ledger.ts'
import { evict, foldLedger, identityOf } from './snapshot.ts'
import type { FileHistoryState, LedgerRecord, Snapshot } from './snapshot.ts'
import { realDirectory } from './track-path.ts'

/** The real paths of the two folders, as far as they exist. */
export async function resolveFolders(options: {
  dir: string
  root: string
}): Promise<{ dir: string; root: string }> {
  const [dir, root] = await Promise.all([
    realDirectory(resolve(options.dir)),
    realDirectory(resolve(options.root)),
  ])
  return { dir, root }
}

/** The records of a history's ledger, and all that is wrong with it. */
export async function readSnapshots(
  dir: string,
  ledger: SnapshotLedger | undefined,
): Promise<{ records: readonly unknown[]; damage: Damage[] }> {
  if (ledger === undefined) return readLedger(defaultLedgerPath(dir))
  const records: readonly unknown[] = await ledger.load()
  const problems = records.flatMap((record) => parseLedgerRecord(record).problems)
  const damage = problems.map((message): Damage => ({ kind: 'bad-record', path: dir, message }))
  return { records, damage: [...((await ledger.damage?.()) ?? []), ...damage] }
}

/**
 * The state that ledger and log tell, after eviction, and the highest version of each file. Pure.
 *
 * @returns `overdue`: snapshots that are evicted now, of which the log does not say so yet
 */
export function loadHistory(
  foreign: readonly unknown[],
  log: Pick<EditLog, 'evicted'>,
  maxSnapshots: number,
): { state: FileHistoryState; versions: Map<string, number>; overdue: readonly Snapshot[] } {
  const records: LedgerRecord[] = []
  for (const value of foreign) {
    const { record } = parseLedgerRecord(value)
    if (record) records.push(record)
  }
  const { state: whole, versions } = foldLedger(records)
  const gone = new Map(log.evicted)
  const present = evict(whole, (snapshot) => {
    const identity = identityOf(snapshot)
    const count = gone.get(identity) ?? 0
    if (count > 0) gone.set(identity, count - 1)
    return count > 0
  })
  const overdue = present.snapshots.slice(0, Math.max(0, present.snapshots.length - maxSnapshots))
  return { state: evict(present, (_, index) => index < overdue.length), versions, overdue }
}
