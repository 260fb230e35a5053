import { dirname, join } from 'node:path'
import { fileErrno, isLociError } from '@loci/disk'
import { lookAt } from './compare.ts'
import type { Look } from './compare.ts'
import { isSameAnchor } from './edit-record.ts'
import type { Anchor, EditRecord } from './edit-record.ts'
import type { Recording } from './recording.ts'
import { backupOf, identityOf } from './snapshot.ts'
import type { SnapshotTaker } from './take-snapshot.ts'

/** Records what commands changed. */
export class ChangeTracker {
  readonly #recording: Recording
  readonly #snapshots: SnapshotTaker

  constructor(recording: Recording, snapshots: SnapshotTaker) {
    this.#recording = recording
    this.#snapshots = snapshots
  }

  /**
   * A file changed by a command joins the snapshot that was the newest when the command began, with the bytes it had
   * then, unless it is in it. Of a snapshot made while the command ran nobody knows what it held.
   *
   * @param before the copy of it; `null`: it was absent
   * @param base the newest snapshot at the beginning, and the files of which something was recorded by then
   * @returns whether it could be recorded: not if its copy is gone or cannot be read, or that snapshot is gone
   */
  async track(
    key: string,
    before: string | null,
    messageId: string,
    { since, known }: { since: Anchor; known?: ReadonlySet<string> },
  ): Promise<boolean> {
    const { root, cell } = this.#recording.options
    if (since === null && cell.getState().snapshots.length === 0) await this.#snapshots.ensureFirst(messageId)
    else if (since !== null && !this.#recording.commits.isTarget(since)) return false
    const recorded = await this.#recording.paths.run(key, async () => {
      const { snapshots } = cell.getState()
      const target = since && snapshots.findLast((snapshot) => identityOf(snapshot) === identityOf(since))
      if (backupOf(target ?? snapshots.at(-1), key) !== undefined) return true
      if (since === null && snapshots.length > 1) return false
      const joined = since ?? this.#recording.commits.anchor ?? undefined
      const path = join(root, key)
      const file = { key, path, parent: dirname(path) }
      // All that is recorded of it may be of a later state: what an edit has found while the command ran.
      const isLater = backupOf(snapshots.at(-1), key) !== undefined && known?.has(key) === false
      const order = isLater ? 'first' : 'next'
      return this.#recording.backups.keepingFirst(key, async () => {
        const backup =
          before === null
            ? await this.#recording.backups.recordAbsence(file, order)
            : await unlessUnreadable(this.#recording.backups.recordCopy(file, before, order))
        // It may have been evicted meanwhile.
        if (backup === undefined || (joined && !this.#recording.commits.isTarget(joined))) return undefined
        // Those that were made, or called, since the command began do not know it.
        const isNewest = isSameAnchor(joined ?? null, this.#recording.commits.anchor)
        if (!isNewest || this.#snapshots.isBusy) this.#snapshots.noteUnrecorded([key])
        await this.#recording.commits.join(key, backup, messageId, joined)
        return true
      })
    })
    return recorded === true
  }

  /** Keys of every file that some snapshot holds. */
  get trackedKeys(): ReadonlySet<string> {
    return this.#recording.options.cell.getState().trackedFiles
  }

  /** Keys of every file of which something was recorded, or that changed without a record. */
  get knownKeys(): Iterable<string> {
    return this.#recording.options.versions.keys()
  }

  /** See {@link SnapshotTaker.noteUnrecorded}. */
  noteUnrecorded(keys: Iterable<string>): void {
    this.#snapshots.noteUnrecorded(keys)
  }

  /**
   * The snapshot that what a command changes will join: the newest, which holds every file that is tracked when the
   * command begins, and since which nothing changed without a record. Otherwise a file's state before the command would
   * pass for that of the snapshot. One that was called before is waited for.
   */
  async anchor(messageId: string): Promise<Anchor> {
    for (;;) {
      await this.settled()
      const { snapshots, trackedFiles } = this.#recording.options.cell.getState()
      const newest = snapshots.at(-1)
      const isWhole = [...trackedFiles].every((key) => backupOf(newest, key) !== undefined)
      if (newest && isWhole && this.#snapshots.isUpToDate) return this.#recording.commits.anchor
      await this.#snapshots.take(messageId)
    }
  }

  /** See {@link SnapshotTaker.settled}. */
  settled(): Promise<void> {
    return this.#snapshots.settled()
  }

  /** In which state the agent left these files nobody can tell. */
  async noteTouched(keys: readonly string[], messageId: string): Promise<void> {
    const [snapshot, timestamp] = [this.#recording.commits.anchor, this.#recording.commits.now()]
    const records = keys.map((trackingPath): EditRecord => ({
      type: 'track',
      messageId,
      trackingPath,
      snapshot,
      timestamp,
    }))
    if (records.length > 0) await this.#recording.options.log.append(records)
  }

  /** Notes in which state a command left a file; `false`: it cannot be read. */
  recordState(key: string, messageId: string): Promise<boolean> {
    const path = join(this.#recording.options.root, key)
    return this.#recording.paths.run(key, async () => {
      const look = await unlessUnreadable(lookBelow(path))
      if (look === undefined) return false
      await this.#recording.noteState(key, look, messageId)
      return look.kind === 'file' || look.kind === 'absent'
    })
  }
}

/** What is read for one file; `undefined` where just that cannot be had. A full disk concerns everything. */
async function unlessUnreadable<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action
  } catch (error) {
    if (isLociError(error, 'DISK_IO') || isLociError(error, 'BACKUP_MISSING')) return undefined
    throw error
  }
}

/**
 * As {@link lookAt}, for a file that a walk has seen before. ENOTDIR is absence here: a command made a file of its
 * directory, and so the file that was in it is certainly gone. Elsewhere ENOTDIR may be a mistaken path.
 */
async function lookBelow(path: string): Promise<Look> {
  try {
    return await lookAt(path)
  } catch (error) {
    if (fileErrno(error) === 'ENOTDIR') return { kind: 'absent' }
    throw error
  }
}
