import { Commits } from './commits.ts'
import type { Look } from './compare.ts'
import type { EditLog } from './edits.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { SnapshotLedger } from './ledger.ts'
import type { HistoryCell, Snapshot } from './snapshot.ts'
import { VersionedBackups } from './versioned-backups.ts'

/** What an open history works on. */
export interface RecordingOptions {
  dir: string
  root: string
  cell: HistoryCell
  ledger: SnapshotLedger
  log: EditLog
  clock: () => Date
  maxSnapshots: number
  maxBytes: number | undefined
  maxFileBytes: number
  /** Highest version of each file that the ledger names, evicted snapshots too. */
  versions: Map<string, number>
  /** Snapshots over the limit when the history was opened: to be recorded as evicted with the first write. */
  overdue: readonly Snapshot[]
  /** Whether the ledger has lines that could not be read: they may name backups, so none is removed. */
  isLedgerDamaged: boolean
}

/** What the commands that run know of the time before them. */
export interface CommandView {
  /**
   * The copy of a file as it was before the first of the commands that run; `null`: it was absent; `undefined`: none can
   * tell.
   */
  before: (key: string) => string | null | undefined
  /** Whether a command may have found a file of that name. */
  mayHaveBeen: (key: string) => boolean
}

/** What edits, snapshots and commands have in common while they are recorded. */
export class Recording {
  readonly options: RecordingOptions
  /** By key: what is done with one file. */
  readonly paths: KeyedQueue = new KeyedQueue()
  readonly commits: Commits
  readonly backups: VersionedBackups
  /** The commands that run are asked what files were before them. */
  commands: CommandView = { before: () => undefined, mayHaveBeen: () => false }

  constructor(options: RecordingOptions) {
    this.options = options
    this.commits = new Commits(options)
    this.backups = new VersionedBackups(options, options.cell.getState().snapshots)
  }

  /** Whether the ledger may hold records that are not in the state: then no backup is removed. */
  get isLedgerUnsure(): boolean {
    return this.options.isLedgerDamaged || this.commits.isUnsure
  }

  /** Notes in which state the agent left a file. */
  async noteState(key: string, look: Look, messageId: string): Promise<void> {
    // Something else has taken its place just now: no state in which anybody left the file.
    if (look.kind !== 'file' && look.kind !== 'absent') return
    const state = look.kind === 'file' ? look.state : null
    const place = look.kind === 'file' && look.links === 1 ? { inode: look.inode } : {}
    const timestamp = this.commits.now()
    await this.options.log.append([
      {
        type: 'edit',
        messageId,
        trackingPath: key,
        state,
        ...place,
        snapshot: this.commits.anchor,
        timestamp,
      },
    ])
  }
}
