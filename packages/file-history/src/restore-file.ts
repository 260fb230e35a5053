import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { errorMessage, files, filesNow, orAbsent } from '@loci/disk'
import { removeScratch } from './backup.ts'
import { isSameState, lookAt, stampOf, stateOf, statNow } from './compare.ts'
import type { FileState, Look } from './compare.ts'
import type { OperationFile } from './edit-record.ts'
import { pace } from './in-parallel.ts'
import { isSettled, readSmall, SMALL_BYTES } from './read-small.ts'
import { BLOCKED, directoryOf, findBlocker } from './standing.ts'
import { isInside } from './track-path.ts'
import { isInodeOfBackup, putInPlace, sourceOf } from './write-in-place.ts'

/** What became of one file. */
export type Outcome =
  | { kind: 'restored' | 'deleted' | 'unchanged' }
  /** `torn`: a write in place was cut short, and the bytes from before could not be put back. */
  | { kind: 'conflict' | 'skipped' | 'torn'; reason: string }

const CHANGED_JUST_NOW: Outcome = { kind: 'conflict', reason: 'it was changed just now' }
const LOST: Outcome = { kind: 'skipped', reason: 'its backup is missing or damaged' }
const OCCUPIED: Outcome = { kind: 'skipped', reason: 'a directory is in its place now' }

/** What stood under a name, and since when that is known: of a file that had just changed then, its stamp proves little. */
export interface Sighting {
  look: Look
  /** Before it was looked at. */
  atMs: number
}

/** The name of a file in the making beside `path`: always the same, so that what a crash leaves is found again. */
export function restoreName(path: string): string {
  const hash = createHash('sha256').update(path, 'utf8').digest('hex').slice(0, 16)
  return join(dirname(path), `.loci-${hash}.tmp`)
}

/** One file of an operation, to be brought to one side of it. */
export interface FileStep {
  file: OperationFile
  side: 'before' | 'after'
  /** All files of the operation. */
  files: readonly OperationFile[]
  /** What was seen of it since the operation was planned. */
  seen?: Sighting | undefined
  /** What is there is a write cut short, which may be written over. */
  isHalfWritten?: boolean
}

/** The files in the order in which they are brought to a side: one that goes may stand where a directory has to be. */
export function deletionsFirst(
  operationFiles: readonly OperationFile[],
  side: 'before' | 'after',
): OperationFile[] {
  const isGoing = (file: OperationFile): boolean => file[side] === null
  return [...operationFiles.filter(isGoing), ...operationFiles.filter((file) => !isGoing(file))]
}

/**
 * The directories, deepest first, that stand in the place of `file` when the operation is on the other side than the
 * one where the file is: those of the operation's files below its name.
 */
export function madeDirectories(
  operationFiles: readonly OperationFile[],
  { realPath }: OperationFile,
): string[] {
  const made = new Set<string>()
  for (const other of operationFiles) {
    let directory = dirname(other.realPath)
    for (; isInside(realPath, directory); directory = dirname(directory)) made.add(directory)
  }
  return [...made].toSorted((a, b) => b.length - a.length)
}

/**
 * Brings one file from one side of an operation to the other, if it stands on the former. A directory that stands in
 * its place is removed if it is empty and the operation, or the one it undoes, made it; any other is left.
 */
export async function writeFile(dir: string, step: FileStep): Promise<Outcome> {
  const { file, side, isHalfWritten = false } = step
  const wanted = file[side]
  const expected = file[side === 'after' ? 'before' : 'after']
  const source = sourceOf(file, side)
  const path = file.realPath
  try {
    const parent = dirname(path)
    if ((await directoryOf(parent)) !== parent) {
      return { kind: 'skipped', reason: 'its directory is reached through a link now' }
    }
    const seen = await lookAgain(path, step.seen)
    const { look } = seen
    if (look.kind === 'directory' && wanted === null) return { kind: 'unchanged' }
    const isRoomOfOurs = look.kind === 'directory' && expected === null
    if (look.kind !== 'file' && look.kind !== 'absent' && !isRoomOfOurs) {
      return { kind: 'skipped', reason: `a ${look.kind} is in its place now` }
    }
    const state = look.kind === 'file' ? look.state : null
    if (isSameState(state, wanted)) return { kind: 'unchanged' }
    if (!isSameState(state, expected) && !isHalfWritten) return CHANGED_JUST_NOW
    if (wanted === null) {
      if (!(await isAsSeen(path, seen))) return CHANGED_JUST_NOW
      await orAbsent(files.unlink(path))
      return { kind: 'deleted' }
    }
    if (source === null) return { kind: 'skipped', reason: 'nothing holds the bytes to be written' }
    // Other names of the file have to keep pointing at it. Unless one of them is a backup: it must not be written to.
    if (look.kind === 'file' && look.links > 1 && !(await isInodeOfBackup(dir, look.inode))) {
      if (!(await isWhole(join(dir, source), wanted))) return LOST
      if (!(await isAsSeen(path, seen))) return CHANGED_JUST_NOW
      return await putInPlace(dir, file, side, look.inode)
    }
    if (look.kind === 'absent' && findBlocker(path) !== undefined) {
      return { kind: 'skipped', reason: BLOCKED }
    }
    const room = isRoomOfOurs ? madeDirectories(step.files, file) : undefined
    return await putBeside({ path, source: join(dir, source), wanted, seen, room })
  } catch (error) {
    return { kind: 'skipped', reason: errorMessage(error) }
  }
}

/** What was seen, where the stats say that it is there still; else what is there now. */
async function lookAgain(path: string, seen: Sighting | undefined): Promise<Sighting> {
  if (seen?.look.kind === 'file' && isStamped(path, seen.look.stamp)) return seen
  const atMs = Date.now()
  return { look: await lookAt(path), atMs }
}

/** Whether the name still has what was looked at: copying and hashing take time, in which somebody may save. */
async function isAsSeen(path: string, { look, atMs }: Sighting): Promise<boolean> {
  const stats = statNow(path)
  if (stats === undefined) return look.kind === 'absent'
  if (look.kind !== 'file' || stampOf(stats) !== look.stamp) return false
  // Within a tick of the clock a save leaves the times as they were.
  if (isSettled(stats, atMs)) return true
  const again = await lookAt(path)
  return again.kind === 'file' && isSameState(again.state, look.state) && isStamped(path, look.stamp)
}

function isStamped(path: string, stamp: string): boolean {
  const stats = statNow(path)
  return stats !== undefined && stampOf(stats) === stamp
}

async function isWhole(source: string, { sha256 }: FileState): Promise<boolean> {
  const look = await lookAt(source)
  return look.kind === 'file' && look.state.sha256 === sha256
}

/** Replaces the name in one step, if it still has what was seen; `room`: the directories in its place, if any may go. */
async function putBeside(write: {
  path: string
  source: string
  wanted: FileState
  seen: Sighting
  room: readonly string[] | undefined
}): Promise<Outcome> {
  const { path, source, wanted, seen, room } = write
  const temporary = restoreName(path)
  if (statNow(dirname(path)) === undefined) await files.mkdir(dirname(path))
  if (statNow(temporary) !== undefined) await files.unlink(temporary)
  try {
    if (!(await copyTo(temporary, source, wanted))) return LOST
    const isFree = room && (await removeEmpty(path, room))
    if (isFree ?? (await isAsSeen(path, seen))) {
      filesNow.rename(temporary, path)
      return { kind: 'restored' }
    }
    await removeScratch(temporary)
    return room ? OCCUPIED : CHANGED_JUST_NOW
  } catch (error) {
    await removeScratch(temporary)
    throw error
  }
}

/**
 * Makes a file of the bytes of a backup; `false`: they are not those that are wanted, and there is none. Of many small
 * files, waiting for another thread at each step takes longer than the steps.
 */
async function copyTo(temporary: string, source: string, wanted: FileState): Promise<boolean> {
  const { sha256, sizeBytes, mode } = wanted
  while (pace.turn) await pace.turn
  const small = sizeBytes <= SMALL_BYTES ? readSmall(source, 'one') : undefined
  if (small !== undefined) {
    if (stateOf(small.bytes, small.stats).sha256 !== sha256) return false
    filesNow.writeNew(temporary, small.bytes, mode)
    pace.spend(1, small.bytes.length)
    return true
  }
  if (!(await isWhole(source, wanted))) return false
  await files.copyFile(source, temporary, 'bytes')
  await files.chmod(temporary, mode)
  return true
}

/** Removes the directories that are empty; whether `path` is free then. */
async function removeEmpty(path: string, directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) await files.rmdir(directory).catch(() => undefined)
  return statNow(path) === undefined
}
