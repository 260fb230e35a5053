import { dirname } from 'node:path'
import { acquireLease, breakLease, files, leaseHolder, LociError, orAbsent } from '@loci/disk'
import type { Lease } from '@loci/disk'
import type { FileChange } from './describe-change.ts'
import type { HistoryUsage } from './gc.ts'
import { loadParts } from './history-parts.ts'
import type { SnapshotLedger } from './ledger.ts'
import { resolveFolders } from './load-history.ts'
import { OpenHistory } from './open-history.ts'
import type { PastRewind } from './past-rewinds.ts'
import type { RewindPlan, RewindResult } from './plan-rewind.ts'
import type { PendingRewind } from './resolve-rewind.ts'
import { MAX_SNAPSHOTS } from './snapshot.ts'
import type { Backup, HistoryCell, Snapshot } from './snapshot.ts'

/** What `openFileHistory` takes. */
export interface FileHistoryOptions {
  /** Folder of the backups, one for each session. Made with the first write; its lease is a lock file beside it. */
  dir: string
  /** The project: paths inside it are recorded relative to it. */
  root: string
  /** `'read'` takes no lease, makes nothing and writes nothing. Default `'write'`. */
  mode?: 'write' | 'read'
  /** Default: a JSON Lines file in `dir`. */
  ledger?: SnapshotLedger
  /** Where the state lives; it is replaced by what the ledger tells. Default: a cell of its own. */
  state?: HistoryCell
  /** Default {@link MAX_SNAPSHOTS}. */
  maxSnapshots?: number
  /**
   * Bytes of backups that are kept; the oldest snapshots make room, never the newest. Default: no limit.
   * Also the limit of the copy that `trackCommand` makes of the tree, by default 512 MiB.
   */
  maxBytes?: number
  /**
   * Larger files are refused by `trackEdit` and not covered by `trackCommand`; a tracked file that grows over it
   * keeps its last state in snapshots. Default: no limit.
   */
  maxFileBytes?: number
  /** Files of the tree that `trackCommand` copies. Default 20,000. */
  maxFiles?: number
  clock?: () => Date
}

/** An open history. Methods may be called side by side; a rewind waits for the others and they for it. */
export interface FileHistory {
  /** A rewind that was interrupted. As long as there is one, edits, snapshots and rewinds are refused. */
  readonly pendingRewind: PendingRewind | null
  /**
   * Backs up a file that is about to be edited, unless the newest snapshot has it. Call it before the edit and wait.
   * The file joins the newest snapshot; without one, a first is made with the id given. Absent files are tracked as absent.
   *
   * @throws {LociError} PATH_LINK, PATH_INVALID (a directory, a device, a file of the history itself), FILE_TOO_LARGE,
   * REWIND_INCOMPLETE, DISK_FULL, DISK_IO. Do not edit the file then: it could not be brought back
   */
  trackEdit(path: string, messageId: string): Promise<Backup>
  /**
   * Records the state in which the edit left the file, so that later changes by others show as conflicts.
   *
   * @throws {LociError} PATH_LINK, PATH_INVALID, DISK_FULL, DISK_IO
   */
  recordEdit(path: string, messageId: string): Promise<void>
  /**
   * Records the state of every tracked file, as it is at the call. Ids may repeat: the last snapshot of an id counts.
   * A tracked file in whose place something else stands now (a link, a directory) keeps its last state. So does one
   * that cannot be read, keeps changing, or has grown over `maxFileBytes`: `verifyFileHistory` names those.
   *
   * @throws {LociError} REWIND_INCOMPLETE, DISK_FULL, DISK_IO: no snapshot was made
   */
  makeSnapshot(messageId: string): Promise<Snapshot>
  /** Oldest first. */
  snapshots(): readonly Snapshot[]
  /**
   * Runs something that edits files by itself, and records what it changed below the root (`.git` apart). A file
   * that cannot be covered (ignored by git, over a limit, a link, an unreadable one) is named in `untracked` if it
   * changed. May make a snapshot with this id first, which what was changed then joins.
   *
   * @throws what `run` threw, after its edits were recorded; REWIND_INCOMPLETE, DISK_FULL, DISK_IO
   */
  trackCommand<T>(
    messageId: string,
    run: () => Promise<T>,
  ): Promise<{ result: T; changed: string[]; untracked: string[] }>
  /**
   * What a rewind would do. Touches nothing.
   *
   * @param options.paths only these files, and what is below these directories
   * @throws {LociError} SNAPSHOT_NOT_FOUND, SNAPSHOT_EVICTED
   */
  planRewind(messageId: string, options?: { paths?: string[] }): Promise<RewindPlan>
  /**
   * Brings tracked files back to a snapshot. All snapshots stay. Bytes that are overwritten or deleted are kept first, for
   * `undoRewind`. With a plan, exactly its changes are made; a file that is no longer as the plan says is a conflict.
   * `signal` stops it before the first file is touched; after that it runs to its end.
   *
   * @throws {LociError} REWIND_CONFLICT with the plan in `details.plan`, nothing touched; SNAPSHOT_NOT_FOUND,
   * SNAPSHOT_EVICTED, REWIND_INCOMPLETE; DISK_FULL, DISK_IO, where `pendingRewind` tells whether a file was touched
   */
  rewind(
    target: string | RewindPlan,
    options?: { onConflict?: 'stop' | 'skip' | 'overwrite'; paths?: string[]; signal?: AbortSignal },
  ): Promise<RewindResult>
  /** The rewinds and undos that wrote something, newest first. What each wrote over is kept until it is undone. */
  rewinds(): readonly PastRewind[]
  /**
   * Brings back what a rewind, or undo, wrote over: bytes, modes, presence. The newest that is not undone, so that
   * after an undo it undoes that; or the one with this `id`. Files changed since are conflicts and stay, unless told
   * to overwrite; their bytes stay kept, for another call with the `id`.
   *
   * @throws {LociError} SNAPSHOT_NOT_FOUND when there is nothing to undo; REWIND_INCOMPLETE, DISK_FULL, DISK_IO
   */
  undoRewind(options?: { onConflict?: 'skip' | 'overwrite'; id?: string }): Promise<RewindResult>
  /**
   * Ends an interrupted rewind, forwards or backwards. Files changed since by somebody else are conflicts and stay.
   *
   * @throws {LociError} SNAPSHOT_NOT_FOUND when none is pending; DISK_FULL, DISK_IO
   */
  resolveRewind(how: 'finish' | 'undo'): Promise<RewindResult>
  /**
   * What differs between two snapshots, or a snapshot and the disk. Sorted by path.
   *
   * @throws {LociError} SNAPSHOT_NOT_FOUND, SNAPSHOT_EVICTED, BACKUP_MISSING (also damaged, or of another file)
   */
  diff(fromId: string, toId?: string, options?: { patch?: boolean }): Promise<FileChange[]>
  /**
   * The bytes of a tracked file at a snapshot; `null`: it did not exist.
   *
   * @throws {LociError} SNAPSHOT_NOT_FOUND, SNAPSHOT_EVICTED, BACKUP_MISSING (also when the file is not tracked)
   */
  readFileAt(messageId: string, path: string): Promise<Uint8Array | null>
  usage(): Promise<HistoryUsage>
  /** Removes what nothing needs any more; never what a rewind that is not undone has kept. Names are relative to `dir`. */
  gc(options?: { dryRun?: boolean }): Promise<{ removed: string[]; freedBytes: number }>
  /** Waits for what is under way and gives the lease back. */
  close(): Promise<void>
}

/**
 * Opens the history of one session. What the ledger tells is the truth. No file under `root` is touched: a rewind
 * that a crash cut short is reported in `pendingRewind`.
 *
 * @throws {LociError} HISTORY_LOCKED with `details` of the owner, when another process (or this one) has it open
 * for writing; DISK_FULL, DISK_IO
 */
export async function openFileHistory(options: FileHistoryOptions): Promise<FileHistory> {
  const { mode = 'write', maxSnapshots = MAX_SNAPSHOTS } = options
  if (typeof options.dir !== 'string' || typeof options.root !== 'string') {
    throw new TypeError('dir and root must be strings')
  }
  if (!Number.isInteger(maxSnapshots) || maxSnapshots < 1) {
    throw new TypeError('maxSnapshots must be a whole number from 1')
  }
  const { dir, root } = await resolveFolders(options)
  const lease = mode === 'write' ? await takeLease(dir) : undefined
  try {
    return new OpenHistory(await loadParts({ ...options, dir, root }, maxSnapshots), lease)
  } catch (error) {
    await lease?.release()
    throw error
  }
}

async function takeLease(dir: string): Promise<Lease> {
  await files.mkdir(dirname(dir))
  try {
    return await acquireLease(dir)
  } catch (error) {
    const holder = leaseHolder(error)
    if (holder === undefined) throw error
    const { who, ...details } = holder
    const advice = details.decidable
      ? 'end that process or open with mode "read"'
      : 'see that it is gone, then call unlockFileHistory'
    const message = `The file history ${JSON.stringify(dir)} is open in ${who}; ${advice}`
    throw new LociError('HISTORY_LOCKED', message, { details, cause: error })
  }
}

/**
 * Gives free by hand a history whose owner cannot be decided from here. The caller knows that it is gone. Nothing
 * happens if nobody has it open, or if there is none.
 *
 * @throws {LociError} HISTORY_LOCKED when the owner decidably lives; DISK_FULL, DISK_IO
 */
export async function unlockFileHistory(dir: string): Promise<void> {
  if ((await orAbsent(files.stat(dirname(dir)))) === undefined) return
  try {
    await breakLease(dir)
  } catch (error) {
    const holder = leaseHolder(error)
    if (holder === undefined) throw error
    const { who, ...details } = holder
    const message = `The file history ${JSON.stringify(dir)} is open in ${who}, which runs; end that process`
    throw new LociError('HISTORY_LOCKED', message, { details, cause: error })
  }
}
