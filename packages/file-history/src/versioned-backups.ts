import { dirname, join } from 'node:path'
import { errorMessage, files, isLociError, LociError } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { backupNameProblem, createBackup } from './backup.ts'
import type { MadeBackup } from './backup.ts'
import { compareFiles, compareStatsAndContent, statNow } from './compare.ts'
import type { FileState } from './compare.ts'
import type { EditLog } from './edits.ts'
import { FolderNames } from './folder-names.ts'
import { QuickLook } from './quick-look.ts'
import type { Place } from './quick-look.ts'
import type { Backup, Snapshot } from './snapshot.ts'
import { StatCache } from './stat-cache.ts'
import { findBlocker } from './standing.ts'
import { isInside, pathOfKey, realDirectory, statOf } from './track-path.ts'
import type { TrackedPath } from './track-path.ts'

/**
 * The backups of each file, one version for each change. Calls for one file must not overlap.
 * A backup counts as the last of its file from the moment it is made, whether a snapshot comes to name it or not.
 */
export class VersionedBackups {
  readonly #options: {
    dir: string
    root: string
    log: EditLog
    clock: () => Date
    versions: Map<string, number>
    maxFileBytes: number
  }
  readonly #latest = new Map<string, Backup>()
  readonly #cache: StatCache
  readonly #names: FolderNames
  readonly #places = new Map<string, Place | null>()
  #folderMade: Promise<unknown> | undefined

  constructor(
    options: {
      dir: string
      root: string
      log: EditLog
      clock: () => Date
      versions: Map<string, number>
      maxFileBytes: number
    },
    snapshots: readonly Snapshot[],
  ) {
    this.#options = options
    this.#cache = new StatCache(options.dir)
    this.#names = new FolderNames(options.dir)
    for (const snapshot of snapshots) {
      for (const [key, backup] of Object.entries(snapshot.trackedFileBackups)) this.#latest.set(key, backup)
    }
  }

  /** A look at the tracked files as they are now, without opening any. */
  quickLook(): QuickLook {
    return new QuickLook({
      root: this.#options.root,
      names: this.#names,
      latest: this.#latest,
      cache: this.#cache,
      places: this.#places,
    })
  }

  /** Keeps what saves reading for the next time the history is opened. That it fails costs no more than that. */
  async close(): Promise<void> {
    await this.#cache.save().catch(() => undefined)
  }

  /**
   * The backup of a tracked file as it is now. One that cannot be looked at without following a link, or that is no
   * file any more, keeps its last. So does one that cannot be read, never stops changing, or has grown over the
   * limit: then `unseen` says why, as that is not what it was.
   *
   * @throws {LociError} DISK_FULL, DISK_IO where the fault is not in that file
   */
  async backUpTracked(key: string): Promise<{ backup: Backup; unseen?: string }> {
    const latest = this.#latest.get(key)
    const { path } = pathOfKey(this.#options.root, key)
    try {
      return { backup: await this.#lookAtTracked(key) }
    } catch (error) {
      const isOfFile = isLociError(error, 'FILE_TOO_LARGE') || isLociError(error, 'DISK_IO')
      if (latest === undefined || !isOfFile) throw error
      const place = error.details?.['path']
      if (typeof place !== 'string' || !isInside(place, path)) throw error
      return { backup: latest, unseen: errorMessage(error) }
    }
  }

  async #lookAtTracked(key: string): Promise<Backup> {
    const { path, problem } = pathOfKey(this.#options.root, key)
    const latest = this.#latest.get(key)
    const parent = problem === undefined ? await placeOf(path) : undefined
    if (latest && parent === undefined && isBelowFile(path)) {
      const directory = latest.realParentDir ?? dirname(path)
      return latest.backupFileName === null ? latest : this.recordAbsence({ key, path, parent: directory })
    }
    const isElsewhere = latest?.realParentDir !== undefined && latest.realParentDir !== parent
    if (latest && (parent === undefined || isElsewhere)) return latest
    return this.backUp({ key, path, parent: parent ?? dirname(path) })
  }

  /**
   * The backup of a file as it is now: the last one if nothing changed.
   *
   * @throws {LociError} FILE_TOO_LARGE, DISK_FULL, DISK_IO
   */
  async backUp(target: TrackedPath): Promise<Backup> {
    const latest = this.#latest.get(target.key)
    if (latest && (await this.#isCurrent(latest, target))) return latest
    const { maxFileBytes } = this.#options
    if (maxFileBytes < Infinity) {
      const stats = statNow(target.path)
      if (stats?.isFile() && stats.size > maxFileBytes) {
        throw tooLarge(target.path, Number(stats.size), maxFileBytes)
      }
    }
    return this.#recordLive(target)
  }

  async #isCurrent(backup: Backup, { key, path }: TrackedPath): Promise<boolean> {
    if (backupNameProblem(backup, path) !== undefined) return false
    const { backupFileName: name } = backup
    if (name === null) return statNow(path) === undefined
    const lookedAtMs = Date.now()
    const seen = await compareFiles(path, join(this.#options.dir, name))
    // A backup that is lost is not equal to a file that is gone.
    if (seen === undefined || seen === null) return false
    this.#cache.remember(key, { backup: name, live: seen.original, stored: seen.backup, lookedAtMs })
    return true
  }

  /** A new backup of the live file `target`; one that is gone is recorded as absent. */
  async #recordLive(target: TrackedPath): Promise<Backup> {
    const lookedAtMs = Date.now()
    const made = await this.#copy(target, target.path)
    const backup = await this.#record(target, made)
    if (made !== undefined) this.#rememberCopy(target.key, made.name, made.live, lookedAtMs)
    return backup
  }

  #rememberCopy(key: string, backup: string, live: FileStats, lookedAtMs: number): void {
    try {
      const stored = statNow(join(this.#options.dir, backup))
      if (stored) this.#cache.remember(key, { backup, live, stored, lookedAtMs })
    } catch {
      // Then it is read again the next time.
    }
  }

  /**
   * A new backup of `target` with the bytes of the copy `source`. `first`: of what it was before all that is recorded
   * of it, so that it counts as its first, whatever its version.
   *
   * @throws {LociError} BACKUP_MISSING when the copy is gone: that says nothing about the file
   */
  async recordCopy(target: TrackedPath, source: string, order: 'first' | 'next' = 'next'): Promise<Backup> {
    const made = await this.#copy(target, source)
    if (made === undefined) {
      const message = `The copy of ${JSON.stringify(target.path)} is gone; what the file held is not known`
      throw new LociError('BACKUP_MISSING', message, { details: { path: target.path } })
    }
    return this.#record(target, made, order)
  }

  /** A new backup of what `backup` holds, so that it is not its file's first; the same one where its bytes are gone. */
  async renew(key: string, backup: Backup): Promise<Backup> {
    const { path } = pathOfKey(this.#options.root, key)
    const { backupFileName: name, realParentDir: parent = dirname(path) } = backup
    const target = { key, path, parent }
    if (name === null) return this.recordAbsence(target)
    const made = await this.#copy(target, join(this.#options.dir, name))
    return made === undefined ? backup : this.#record(target, made)
  }

  /** Number of the last event of the log. */
  get sequence(): number {
    return this.#options.log.sequence
  }

  /** Whether a backup is what a copy holds, bytes and mode; `null`: absent. */
  async isCopyOf({ backupFileName }: Backup, copy: string | null): Promise<boolean> {
    if (backupFileName === null || copy === null) return backupFileName === copy
    return (await compareStatsAndContent(join(this.#options.dir, backupFileName), copy)) === 'same'
  }

  /** Records that `target` was certainly absent; `first` as in {@link recordCopy}. */
  recordAbsence(target: TrackedPath, order: 'first' | 'next' = 'next'): Promise<Backup> {
    return this.#record(target, undefined, order)
  }

  async #copy({ key, path }: TrackedPath, source: string): Promise<MadeBackup | undefined> {
    const { dir, versions, log } = this.#options
    if (this.#folderMade === undefined) {
      this.#folderMade = files.mkdir(dir)
      this.#folderMade.catch(() => (this.#folderMade = undefined))
    }
    await this.#folderMade
    const twin = (state: FileState): string | undefined => log.twinOf(state)
    const fromVersion = (versions.get(key) ?? 0) + 1
    return createBackup({ dir, path: source, trackedPath: path, fromVersion, twin })
  }

  /**
   * Runs what makes the first record of a file known. Where it fails, or gives nothing, the backup is nobody's: the next
   * one is the first again.
   */
  async keepingFirst<T>(key: string, action: () => Promise<T>): Promise<T> {
    const isKnown = this.#options.versions.has(key)
    let isRecorded = false
    try {
      const result = await action()
      isRecorded = result !== undefined
      return result
    } finally {
      if (!isRecorded && !isKnown) {
        this.#options.versions.delete(key)
        this.#latest.delete(key)
        this.#cache.forget(key)
      }
    }
  }

  async #record(
    { key, parent }: TrackedPath,
    made: MadeBackup | undefined,
    order: 'first' | 'next' = 'next',
  ): Promise<Backup> {
    const { versions, log, clock } = this.#options
    const highest = versions.get(key)
    const known = order === 'first' ? undefined : highest
    if (made) {
      await log.append([{ type: 'backup', name: made.name, ...made.state, first: known === undefined }])
    }
    const backup: Backup = {
      backupFileName: made?.name ?? null,
      version: made?.version ?? (known ?? 0) + 1,
      backupTime: clock().toISOString(),
      realParentDir: parent,
    }
    versions.set(key, Math.max(backup.version, highest ?? 0))
    if (order === 'first' && highest !== undefined) return backup
    this.#latest.set(key, backup)
    this.#cache.forget(key)
    return backup
  }
}

/** Whether a file stands where a directory above `path` was: then the file itself is certainly gone. */
function isBelowFile(path: string): boolean {
  const blocker = findBlocker(path)
  return blocker !== undefined && statNow(blocker)?.isFile() === true
}

/** Real path of the directory of `path`, if a regular file or nothing is there. */
async function placeOf(path: string): Promise<string | undefined> {
  try {
    const parent = await realDirectory(dirname(path))
    const stats = await statOf(path)
    return stats === undefined || stats.isFile() ? parent : undefined
  } catch (error) {
    if (isLociError(error, 'PATH_INVALID')) return undefined
    throw error
  }
}

function tooLarge(path: string, sizeBytes: number, maxFileBytes: number): LociError {
  return new LociError(
    'FILE_TOO_LARGE',
    `${JSON.stringify(path)} has ${sizeBytes} bytes, the limit is ${maxFileBytes}; raise maxFileBytes or leave it out`,
    { details: { path, sizeBytes, maxFileBytes } },
  )
}
