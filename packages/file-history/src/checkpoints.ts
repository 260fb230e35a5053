import { join, resolve } from 'node:path'
import { LociError } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { addCheckpoint, findCheckpoint, isOwnFile } from './checkpoint-index.ts'
import type { StoredFile } from './checkpoint-index.ts'
import { readIndex, resolvePlace, withIndex } from './checkpoint-store.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { inParallel } from './in-parallel.ts'
import { bringBack } from './rewind-checkpoint.ts'
import { resolveTrackedPath } from './track-path.ts'

/** What the four-function start remembers of one file: where its bytes are, or that it did not exist. Paths are absolute. */
export interface FileBackup {
  filePath: string
  backupPath: string | null
}

/** The state of some files at one message. */
export interface Checkpoint {
  messageId: string
  /** ISO 8601, UTC. */
  timestamp: string
  files: FileBackup[]
}

/** What the functions that write take. */
export interface CheckpointOptions {
  /** The index, one JSON file; backups go into `<file>.backups/` beside it. Both are made with the first write. */
  file: string
  /** How long to wait for another process that is at work on the same index. Default 60,000. */
  waitMs?: number
  clock?: () => Date
}

/**
 * The checkpoints of an index, oldest first. Reads only. No index is none. One that cannot be read is none as well,
 * and in the damage; so is every record that makes no sense or leads out of `<file>.backups/`, which is left out, and
 * every broken index that was put aside as `<file>.damaged-<n>`.
 *
 * @throws {LociError} PATH_INVALID, DISK_IO
 */
export async function loadCheckpoints(
  file: string,
): Promise<{ checkpoints: Checkpoint[]; damage: Damage[] }> {
  const place = await resolvePlace(file)
  const { index, damage } = await readIndex(place)
  const checkpoints = index.records.flatMap(({ checkpoint }): Checkpoint[] => {
    if (checkpoint === undefined) return []
    const { messageId, timestamp } = checkpoint
    return [{ messageId, timestamp, files: checkpoint.files.map((one) => publicBackup(one, place.folder)) }]
  })
  return { checkpoints, damage }
}

/**
 * Copies a file into `<file>.backups/`, with its mode, or says that it is not there. No checkpoint names this backup,
 * and nothing removes it: it is the caller's. A relative path is taken from the working directory.
 *
 * @throws {LociError} PATH_LINK; PATH_INVALID (a directory, a device, the index or a backup itself); HISTORY_LOCKED;
 * DISK_FULL, DISK_IO
 */
export async function backupFile(
  path: string,
  messageId: string,
  options: CheckpointOptions,
): Promise<FileBackup> {
  requireText(messageId)
  return withIndex(options, async (store) => {
    const target = await targetPath(store, path)
    return publicBackup(await store.backUp(target), store.place.folder)
  })
}

/**
 * Records what the files hold now, all of them or none: bytes, mode, or that they are not there. Ids may repeat; the
 * last checkpoint of an id counts. Of more than `MAX_SNAPSHOTS` the oldest goes, with its backups.
 *
 * A broken index is put aside first, as `<file>.damaged-<n>`.
 *
 * @throws {LociError} as {@link backupFile}; no checkpoint was made
 */
export async function makeCheckpoint(
  messageId: string,
  paths: readonly string[],
  options: CheckpointOptions,
): Promise<void> {
  requireText(messageId)
  if (!Array.isArray(paths)) throw new TypeError('paths must be a list')
  const { clock = () => new Date() } = options
  await withIndex(options, async (store) => {
    const timestamp = clock().toISOString()
    const targets = new Set(await inParallel(paths, (path) => targetPath(store, path)))
    const made: StoredFile[] = []
    try {
      await inParallel([...targets], async (path) => made.push(await store.backUp(path)))
    } catch (error) {
      await store.discard(made)
      throw error
    }
    const stored = made.toSorted((a, b) => (a.filePath < b.filePath ? -1 : 1))
    await store.write(addCheckpoint(store.index, { messageId, timestamp, files: stored }))
  })
}

/**
 * Brings every file of the last checkpoint with this id back: bytes and mode; one that was not there is deleted. Files
 * that the checkpoint does not name are left alone.
 *
 * What is overwritten or deleted becomes a checkpoint first, `before-rewind-<n>`, n counting up: rewinding to the
 * newest one undoes the rewind, and that can be undone the same way. The last `MAX_SNAPSHOTS` of them are kept. After
 * a crash both are there: rewind again, to the one or the other.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND; HISTORY_LOCKED; DISK_FULL, DISK_IO when the index cannot be written: nothing
 * was touched. When some files cannot be brought back the others are, and then it rejects with the code of the first
 * of them: BACKUP_MISSING (damaged too), PATH_LINK, PATH_INVALID (something else in its place), REWIND_CONFLICT
 * (changed at this moment), DISK_FULL, DISK_IO. `details.failed` names all, `{ path, code, reason }`, and `details.kept`
 * the checkpoint of what was overwritten
 */
export async function rewindToCheckpoint(messageId: string, options: CheckpointOptions): Promise<void> {
  requireText(messageId)
  const { clock = () => new Date() } = options
  const rewind = async (store: CheckpointStore): Promise<void> => {
    const checkpoint = findCheckpoint(store.index, messageId)
    if (checkpoint === undefined) throw notFound(store.damage, messageId)
    await bringBack(store, checkpoint, clock)
  }
  await withIndex(options, rewind, () => {
    throw notFound([], messageId)
  })
}

function requireText(messageId: string): void {
  if (typeof messageId !== 'string') throw new TypeError('messageId must be a string')
}

async function targetPath(store: CheckpointStore, path: string): Promise<string> {
  const target = await resolveTrackedPath(resolve('.'), path)
  if (!isOwnFile(store.place, target.path)) return target.path
  const message = `${JSON.stringify(target.path)} belongs to the checkpoints themselves; leave it out`
  throw new LociError('PATH_INVALID', message, { details: { path: target.path } })
}

function publicBackup({ filePath, name }: StoredFile, folder: string): FileBackup {
  return { filePath, backupPath: name === null ? null : join(folder, name) }
}

function notFound(damage: readonly Damage[], messageId: string): LociError {
  const advice =
    damage.length > 0 ? 'some of the index cannot be read, see its damage' : 'load them for the ids there are'
  const message = `There is no checkpoint ${JSON.stringify(messageId)}; ${advice}`
  return new LociError('SNAPSHOT_NOT_FOUND', message, { details: { messageId, damage: [...damage] } })
}
