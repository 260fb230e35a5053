import { Batches } from './batches.ts'
import type { Anchor } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { BatchLedger, SnapshotLedger } from './ledger.ts'
import { identityOf, joinSnapshot, removeJoined } from './snapshot.ts'
import type { Backup, FileHistoryState, HistoryCell, LedgerRecord, Snapshot } from './snapshot.ts'

/**
 * Changes of the state of a history, each with its record in the ledger: a change is made inside one `setState`, its
 * record queued in the same moment, so that the ledger has the order of the changes.
 */
export class Commits {
  readonly #cell: HistoryCell
  readonly #log: EditLog
  readonly #clock: () => Date
  readonly #append: (record: LedgerRecord) => Promise<void>
  #isUnsure = false
  /** Snapshots over the limit at opening, until it is recorded that they are evicted. */
  #overdue: readonly Snapshot[]

  constructor(parts: {
    cell: HistoryCell
    ledger: SnapshotLedger | BatchLedger
    log: EditLog
    clock: () => Date
    overdue: readonly Snapshot[]
  }) {
    this.#cell = parts.cell
    this.#append = inOrder(parts.ledger)
    this.#log = parts.log
    this.#clock = parts.clock
    this.#overdue = parts.overdue
  }

  /** Whether a record that was taken back may stand in the ledger: the backups that it names have to stay. */
  get isUnsure(): boolean {
    return this.#isUnsure
  }

  now(): string {
    return this.#clock().toISOString()
  }

  /** The newest snapshot. */
  get anchor(): Anchor {
    const newest = this.#cell.getState().snapshots.at(-1)
    return newest ? { messageId: newest.messageId, timestamp: newest.timestamp } : null
  }

  /** Whether a record that names the snapshot's id is of this snapshot. */
  isTarget({ messageId, timestamp }: Snapshot | NonNullable<Anchor>): boolean {
    const { snapshots } = this.#cell.getState()
    const named = snapshots.findLast((snapshot) => snapshot.messageId === messageId)
    return named?.timestamp === timestamp
  }

  /** Now; later by milliseconds where a snapshot with that id has that time already. */
  timeOfSnapshot(messageId: string): string {
    const taken = new Set(this.#cell.getState().snapshots.map(identityOf))
    let timestamp = this.now()
    while (taken.has(identityOf({ messageId, timestamp }))) {
      timestamp = new Date(Date.parse(timestamp) + 1).toISOString()
    }
    return timestamp
  }

  /** A file joins the newest snapshot, or the one that is given, which has to be there. */
  async join(key: string, backup: Backup, messageId: string, anchor?: NonNullable<Anchor>): Promise<void> {
    const timestamp = this.now()
    let joined: Snapshot | undefined
    await this.commit(
      (previous) => {
        const identity = anchor && identityOf(anchor)
        joined =
          identity === undefined
            ? previous.snapshots.at(-1)
            : previous.snapshots.findLast((snapshot) => identityOf(snapshot) === identity)
        return joinSnapshot(previous, key, backup, identity)
      },
      (previous) => (joined ? removeJoined(previous, identityOf(joined), key, backup) : previous),
      () => ({
        type: 'file-history-delta',
        messageId,
        snapshotMessageId: joined?.messageId ?? messageId,
        trackingPath: key,
        backup,
        timestamp,
      }),
    )
  }

  /** One change of state and its ledger record. Where the record cannot be written, the change is taken back. */
  async commit(
    change: (previous: FileHistoryState) => FileHistoryState,
    takeBack: (previous: FileHistoryState) => FileHistoryState,
    record: () => LedgerRecord,
  ): Promise<void> {
    try {
      this.#cell.setState(change)
      const line = record()
      await this.#append(line)
    } catch (error) {
      this.#isUnsure = true
      try {
        this.#cell.setState(takeBack)
      } catch {
        // A listener of the cell that throws has thrown before: its first error is the one to report.
      }
      throw error
    }
    // What was written is written; without this line the snapshots are evicted at the next open again.
    await this.recordOverdue().catch(() => undefined)
  }

  /** Records that the snapshots over the limit at opening are evicted, once. */
  async recordOverdue(): Promise<void> {
    const overdue = this.#overdue
    if (overdue.length === 0) return
    this.#overdue = []
    const snapshots = overdue.map(({ messageId, timestamp }) => ({ messageId, timestamp }))
    try {
      await this.#log.append([{ type: 'evicted', snapshots, timestamp: this.now() }])
    } catch (error) {
      this.#overdue = overdue
      throw error
    }
  }
}

/** Appends in the order of the calls: one record after another where the ledger is somebody's own. */
function inOrder(ledger: SnapshotLedger | BatchLedger): (record: LedgerRecord) => Promise<void> {
  if ('appendAll' in ledger) {
    const batches = new Batches<LedgerRecord>((records) => ledger.appendAll(records))
    return (record) => batches.add([record])
  }
  const queue = new KeyedQueue()
  return (record) => queue.run('ledger', () => ledger.append(record))
}
