import { LociError } from '@loci/disk'
import { lookAt } from './compare.ts'
import type { Recording } from './recording.ts'
import { requireFile } from './require-file.ts'
import { backupOf } from './snapshot.ts'
import type { Backup } from './snapshot.ts'
import type { SnapshotTaker } from './take-snapshot.ts'
import { isInside, ownFolder, resolveTrackedPath } from './track-path.ts'
import type { TrackedPath } from './track-path.ts'

/** Records what files were before edits, and in which state these left them. */
export class EditTracker {
  readonly #recording: Recording
  readonly #snapshots: SnapshotTaker

  constructor(recording: Recording, snapshots: SnapshotTaker) {
    this.#recording = recording
    this.#snapshots = snapshots
  }

  async track(path: string, messageId: string): Promise<Backup> {
    const target = await resolveTrackedPath(this.#recording.options.root, path)
    this.#refuseOwn(target.path)
    for (;;) {
      if (this.#isNewestTooOld(target.key)) await this.#snapshots.take(messageId, target)
      await this.#snapshots.ensureFirst(messageId)
      const backup = await this.#recording.paths.run(target.key, () => this.#track(target, messageId))
      if (backup === undefined) continue
      await this.#letSnapshotsLook(target.key)
      return backup
    }
  }

  /** Waits until every snapshot that was called, also one that is called meanwhile, has looked at a file. */
  async #letSnapshotsLook(key: string): Promise<void> {
    let calls: number
    do {
      ;({ calls } = this.#snapshots)
      await this.#recording.paths.run(key, () => Promise.resolve())
    } while (calls !== this.#snapshots.calls)
  }

  /** @returns `undefined` where the newest snapshot is too old to be joined, so that one has to be made */
  async #track(target: TrackedPath, messageId: string): Promise<Backup | undefined> {
    const { cell, log } = this.#recording.options
    await requireFile(target.path)
    if (this.#isNewestTooOld(target.key)) return undefined
    const known = backupOf(cell.getState().snapshots.at(-1), target.key)
    const backup = known ?? (await this.#trackFirst(target, messageId))
    if (backup && !log.isAboutToEdit(target.key, this.#recording.commits.anchor)) {
      const timestamp = this.#recording.commits.now()
      await log.append([
        {
          type: 'track',
          messageId,
          trackingPath: target.key,
          snapshot: this.#recording.commits.anchor,
          timestamp,
        },
      ])
    }
    return backup
  }

  /** @returns `undefined` where it changed without a record, so that the newest snapshot may not have had it so */
  async #trackFirst(target: TrackedPath, messageId: string): Promise<Backup | undefined> {
    const { key } = target
    const [calls, early] = [this.#snapshots.calls, this.#recording.commands.before(key)]
    const joined = await this.#recording.backups.keepingFirst(key, async () => {
      const made = await this.#recording.backups.backUp(target)
      // Asked again after the look: a command may have begun meanwhile, and changed it before that.
      const now = this.#recording.commands.before(key)
      const before = now === undefined ? early : now
      if (before !== undefined && !(await this.#recording.backups.isCopyOf(made, before))) return undefined
      if (this.#snapshots.isUnrecorded(key)) return undefined
      this.#snapshots.noteLook(key, calls)
      await this.#recording.commits.join(key, made, messageId)
      return made
    })
    if (joined === undefined) this.#snapshots.noteUnrecorded([key])
    return joined
  }

  /**
   * Whether the newest snapshot does not hold a file that was recorded before, or changed without a record: joining it,
   * what the file is now would pass for its state then. So a snapshot has to be made that looks at it.
   */
  #isNewestTooOld(key: string): boolean {
    const { cell, versions } = this.#recording.options
    return versions.has(key) && backupOf(cell.getState().snapshots.at(-1), key) === undefined
  }

  async record(path: string, messageId: string): Promise<void> {
    const target = await resolveTrackedPath(this.#recording.options.root, path)
    this.#refuseOwn(target.path)
    await this.#recording.paths.run(target.key, async () => {
      await requireFile(target.path)
      await this.#recording.noteState(target.key, await lookAt(target.path), messageId)
    })
  }

  #refuseOwn(path: string): void {
    const { dir, root } = this.#recording.options
    if (!isInside(ownFolder(dir, root), path)) return
    const message = `${JSON.stringify(path)} belongs to the file history itself, or to the config home around it; edit it untracked`
    throw new LociError('PATH_INVALID', message, { details: { path } })
  }
}
