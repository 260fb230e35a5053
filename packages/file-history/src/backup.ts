import { createHash, randomUUID } from 'node:crypto'
import { basename, join } from 'node:path'
import {
  cloneFile,
  fileErrno,
  files,
  filesNow,
  isAbsent,
  isLociError,
  LociError,
  OPEN_REGULAR,
  orAbsent,
} from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { compareStatsAndContent, isSameState, kindOf, lookAt, modeOf, statNow, stateOf } from './compare.ts'
import type { FileState } from './compare.ts'
import { pace } from './in-parallel.ts'
import { isUntouched, isSettled, readSteady, SMALL_BYTES } from './read-small.ts'
import type { Backup } from './snapshot.ts'

/**
 * The name of a backup: first 16 hex digits of the SHA-256 of the absolute path, `@v`, version.
 *
 * Source: `docs/formats/file-history.md`.
 */
export function backupFileName(absolutePath: string, version: number): string {
  return `${createHash('sha256').update(absolutePath, 'utf8').digest('hex').slice(0, 16)}@v${version}`
}

/** Names that {@link backupFileName} makes. */
export const BACKUP_NAME: RegExp = /^[0-9a-f]{16}@v\d+$/

/** Names that some client has given a backup: a file of the folder itself, and none of ours besides backups. */
const ANY_BACKUP_NAME = /^[^./\\\0][^/\\\0]*@v\d+$/

/**
 * What is wrong with a recorded name, if anything: it leads out of the backup folder, or its hash is that of
 * another path. `realParentDir` is the second place the file may have had when it was recorded.
 */
export function backupNameProblem(backup: Backup, path: string): string | undefined {
  const { backupFileName: name, realParentDir } = backup
  if (name === null) return undefined
  if (!ANY_BACKUP_NAME.test(name)) return `its record names ${JSON.stringify(name)}, which is no backup`
  if (!BACKUP_NAME.test(name)) return undefined
  const places = realParentDir === undefined ? [path] : [path, join(realParentDir, basename(path))]
  const hash = name.slice(0, name.indexOf('@'))
  if (places.some((place) => backupFileName(place, 0).startsWith(`${hash}@`))) return undefined
  return `its record names ${name}, which is a backup of another file`
}

/** Where the state of a recorded file is, or why it cannot be had. */
export type BackupContent = { state: FileState | null; source: string | null } | { problem: string }

/**
 * Reads a recorded backup and compares it with what was noted when it was made. Without a note (another client made
 * it, or the notes were lost) what is there is taken as it is.
 */
export async function readBackup(
  dir: string,
  backup: Backup,
  path: string,
  noted: FileState | undefined,
): Promise<BackupContent> {
  const { backupFileName: name } = backup
  if (name === null) return { state: null, source: null }
  const problem = backupNameProblem(backup, path)
  if (problem !== undefined) return { problem }
  let look
  try {
    look = await lookAt(join(dir, name))
  } catch (error) {
    return { problem: `its backup cannot be read: ${error instanceof Error ? error.message : String(error)}` }
  }
  if (look.kind === 'absent') return { problem: `its backup ${name} is missing` }
  if (look.kind !== 'file') return { problem: `its backup ${name} is not a file` }
  const { state } = look
  if (noted && (noted.sha256 !== state.sha256 || noted.sizeBytes !== state.sizeBytes)) {
    return { problem: `its backup ${name} is damaged: it has other bytes than when it was made` }
  }
  // Bits that a copy of the folder has lost are known from the note.
  return { state: noted ?? state, source: name }
}

const TRIES = 5

/**
 * Copies a live regular file to `staged`, which must not exist, with bytes and bits as they were at one moment: a
 * file that changes meanwhile is copied again. Resolves to its state, or to `undefined` if it is gone.
 *
 * @throws {LociError} DISK_IO when it keeps changing or is no regular file (any more); DISK_FULL
 */
export async function copyLive(path: string, staged: string): Promise<FileState | undefined> {
  return (await copyLooking(path, staged))?.state
}

/** As {@link copyLive}, with the stats that the file had when its bytes were read. */
async function copyLooking(
  path: string,
  staged: string,
): Promise<{ state: FileState; live: FileStats } | undefined> {
  for (let round = 0; round < TRIES; round += 1) {
    while (pace.turn) await pace.turn
    try {
      const small = copySmall(path, staged)
      if (small !== undefined) return small
      const nowMs = Date.now()
      const before = statNow(path)
      if (before === undefined) return undefined
      if (!before.isFile()) throw changedKind(path, kindOf(before))
      if ((await orAbsent(copyTo(path, staged))) === undefined) return undefined
      const copy = await lookAt(staged)
      if (copy.kind !== 'file') throw changedKind(staged, copy.kind)
      const after = statNow(path)
      const isSame =
        after !== undefined &&
        isUntouched(after, before) &&
        BigInt(copy.state.sizeBytes) === after.size &&
        copy.state.mode === modeOf(after)
      // A file system's clock ticks in milliseconds: within a tick a change leaves the times as they were.
      if (isSame && (isSettled(before, nowMs) || (await isStill(path, copy.state)))) {
        return { state: copy.state, live: before }
      }
      await files.unlink(staged)
    } catch (error) {
      await removeScratch(staged)
      throw error
    }
  }
  throw new LociError('DISK_IO', `${JSON.stringify(path)} keeps changing; wait until nothing writes to it`, {
    details: { path },
  })
}

/** A small file is read once, and what is hashed is what is written. */
function copySmall(path: string, staged: string): { state: FileState; live: FileStats } | undefined {
  const small = readSteady(path)
  if (small === undefined) return undefined
  const state = stateOf(small.bytes, small.stats)
  filesNow.writeNew(staged, small.bytes, state.mode)
  pace.spend(1, small.bytes.length)
  return { state, live: small.stats }
}

async function copyTo(path: string, staged: string): Promise<true> {
  try {
    await files.copyFile(path, staged, 'bytes')
    return true
  } catch (error) {
    // One error for two files: where the live one cannot be opened, it is to blame.
    if (!isAbsent(error) && !isLociError(error, 'DISK_FULL')) {
      await (await files.open(path, OPEN_REGULAR)).close()
    }
    throw error
  }
}

async function isStill(path: string, state: FileState): Promise<boolean> {
  const look = await lookAt(path)
  return look.kind === 'file' && isSameState(look.state, state)
}

function changedKind(path: string, kind: string): LociError {
  return new LociError(
    'DISK_IO',
    `${JSON.stringify(path)} is not a regular file but ${kind}; put the file back`,
    {
      details: { path },
    },
  )
}

/** A backup that was made. */
export interface MadeBackup {
  name: string
  version: number
  state: FileState
  /** The stats that the file had when these bytes were read. */
  live: FileStats
}

/**
 * Backs the file `path` up as the first free version from `fromVersion` of `trackedPath`. The name appears with all
 * bytes, never on the inode of a live file, and no existing backup is touched: a name that is taken by other bytes
 * (a crash left it) is passed over.
 *
 * @param twin a backup that is known to have held the same bytes and bits; shares its inode if it still does
 * @returns `undefined` if the file is gone
 */
export async function createBackup(options: {
  dir: string
  path: string
  trackedPath: string
  fromVersion: number
  twin: (state: FileState) => string | undefined
}): Promise<MadeBackup | undefined> {
  const { dir, path, trackedPath, fromVersion } = options
  const staged = join(dir, `.stage-${randomUUID().slice(0, 8)}.tmp`)
  const copied = await copyLooking(path, staged)
  if (copied === undefined) return undefined
  const { state, live } = copied
  try {
    const twin = await livingTwin(dir, options.twin(state), state)
    for (let version = fromVersion; ; version += 1) {
      const name = backupFileName(trackedPath, version)
      const isFree =
        (await placeTwin(twin, join(dir, name))) || (await placeExclusive(staged, join(dir, name)))
      if (isFree || (await compareStatsAndContent(staged, join(dir, name))) === 'same') {
        return { name, version, state, live }
      }
    }
  } finally {
    if (state.sizeBytes > SMALL_BYTES) await removeScratch(staged)
    else removeSmall(staged)
  }
}

/** As {@link removeScratch}, of a file that is small, or has another name. */
function removeSmall(path: string): void {
  try {
    filesNow.unlink(path)
  } catch {
    // It harms nobody.
  }
}

/** The path of a backup that was made with this state, if it still holds it. */
async function livingTwin(
  dir: string,
  name: string | undefined,
  state: FileState,
): Promise<string | undefined> {
  if (name === undefined || !BACKUP_NAME.test(name)) return undefined
  return (await isStill(join(dir, name), state)) ? join(dir, name) : undefined
}

/** Sharing the inode of an equal backup saves room, no more: where it fails, the staged copy takes the name. */
async function placeTwin(twin: string | undefined, to: string): Promise<boolean> {
  if (twin === undefined) return false
  try {
    await files.link(twin, to)
    return true
  } catch {
    return false
  }
}

async function placeExclusive(from: string, to: string): Promise<boolean> {
  try {
    await cloneFile(from, to, { link: true })
    return true
  } catch (error) {
    if (fileErrno(error) === 'EEXIST') return false
    throw error
  }
}

/** Removes a file in the making. That it stays behind harms nobody, so a failure hides nothing that came before. */
export async function removeScratch(path: string): Promise<void> {
  await files.unlink(path).catch(() => undefined)
}
