import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { errorMessage, files, filesNow, LociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { BACKUP_NAME, removeScratch } from './backup.ts'
import { isSameState, lookAt, stampOf, statNow } from './compare.ts'
import type { FileState, Look } from './compare.ts'
import type { OperationFile } from './edit-record.ts'
import { pace } from './in-parallel.ts'
import { readSmall, SMALL_BYTES } from './read-small.ts'
import { BLOCKED, directoryOf, findBlocker } from './standing.ts'
import { isInside } from './track-path.ts'

/** What became of one file. */
export type Outcome =
  | { kind: 'restored' | 'deleted' | 'unchanged' }
  /** `torn`: a write in place was cut short, and the bytes from before could not be put back. */
  | { kind: 'conflict' | 'skipped' | 'torn'; reason: string }

const CHANGED_JUST_NOW: Outcome = { kind: 'conflict', reason: 'it was changed just now' }

const CHUNK_BYTES = 1 << 20
/** A time within which a file may change without a change of its stamp. */
const SETTLED_MS = 1000

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
    const look = await lookAt(path)
    if (look.kind === 'directory' && wanted === null) return { kind: 'unchanged' }
    const isRoomOfOurs = look.kind === 'directory' && expected === null
    if (look.kind !== 'file' && look.kind !== 'absent' && !isRoomOfOurs) {
      return { kind: 'skipped', reason: `a ${look.kind} is in its place now` }
    }
    const state = look.kind === 'file' ? look.state : null
    if (isSameState(state, wanted)) return { kind: 'unchanged' }
    if (!isSameState(state, expected) && !isHalfWritten) {
      return CHANGED_JUST_NOW
    }
    if (wanted === null) {
      if (!(await isAsSeen(path, look))) return CHANGED_JUST_NOW
      await orAbsent(files.unlink(path))
      return { kind: 'deleted' }
    }
    if (source === null) return { kind: 'skipped', reason: 'nothing holds the bytes to be written' }
    const bytes = await lookAt(join(dir, source))
    if (bytes.kind !== 'file' || bytes.state.sha256 !== wanted.sha256) {
      return { kind: 'skipped', reason: 'its backup is missing or damaged' }
    }
    if (isRoomOfOurs && !(await removeEmpty(path, madeDirectories(step.files, file)))) {
      return { kind: 'skipped', reason: 'a directory is in its place now' }
    }
    // Other names of the file have to keep pointing at it. Unless one of them is a backup: it must not be written to.
    if (look.kind === 'file' && look.links > 1 && !(await isInodeOfBackup(dir, look.inode))) {
      if (!(await isAsSeen(path, look))) return CHANGED_JUST_NOW
      return await putInPlace(dir, file, side, look.inode)
    }
    if (look.kind === 'absent' && findBlocker(path) !== undefined) {
      return { kind: 'skipped', reason: BLOCKED }
    }
    const seen: Look = isRoomOfOurs ? { kind: 'absent' } : look
    const isPut = await putBeside(path, join(dir, source), wanted, seen)
    return isPut ? { kind: 'restored' } : CHANGED_JUST_NOW
  } catch (error) {
    return { kind: 'skipped', reason: errorMessage(error) }
  }
}

/** Removes the directories that are empty; whether `path` is free then. */
async function removeEmpty(path: string, directories: readonly string[]): Promise<boolean> {
  for (const directory of directories) await files.rmdir(directory).catch(() => undefined)
  return statNow(path) === undefined
}

async function isInodeOfBackup(dir: string, inode: string): Promise<boolean> {
  for (const { name } of await files.readdir(dir)) {
    if (!BACKUP_NAME.test(name)) continue
    const stats = await orAbsent(files.lstat(join(dir, name)))
    if (stats && `${stats.dev}:${stats.ino}` === inode) return true
  }
  return false
}

function sourceOf(file: OperationFile, side: 'before' | 'after'): string | null {
  return side === 'after' ? file.source : file.kept
}

/** Whether the name still has what was looked at: copying and hashing take time, in which somebody may save. */
async function isAsSeen(path: string, seen: Look): Promise<boolean> {
  const stats = statNow(path)
  if (stats === undefined) return seen.kind === 'absent'
  if (seen.kind !== 'file' || stampOf(stats) !== seen.stamp) return false
  // Within a tick of the clock a save leaves the times as they were.
  if (Date.now() - Number(stats.ctimeMs) > SETTLED_MS) return true
  const again = await lookAt(path)
  return again.kind === 'file' && isSameState(again.state, seen.state)
}

/** Replaces the name in one step; `false`: it no longer has what was seen, and is left. */
async function putBeside(path: string, source: string, wanted: FileState, seen: Look): Promise<boolean> {
  const temporary = restoreName(path)
  if (statNow(dirname(path)) === undefined) await files.mkdir(dirname(path))
  if (statNow(temporary) !== undefined) await files.unlink(temporary)
  try {
    await copyTo(temporary, source, wanted)
    if (!(await isAsSeen(path, seen))) {
      await removeScratch(temporary)
      return false
    }
    filesNow.rename(temporary, path)
    return true
  } catch (error) {
    await removeScratch(temporary)
    throw error
  }
}

/** Of many small files, waiting for another thread at each step takes longer than the steps. */
async function copyTo(temporary: string, source: string, { sizeBytes, mode }: FileState): Promise<void> {
  const small = sizeBytes <= SMALL_BYTES ? readSmall(source, 'one') : undefined
  if (small === undefined) {
    await files.copyFile(source, temporary, 'bytes')
    await files.chmod(temporary, mode)
  } else {
    filesNow.writeNew(temporary, small.bytes, mode)
    pace.spend(1, small.bytes.length)
  }
}

/** Writes over the bytes of the inode, and those from before again where that fails half-way. */
async function putInPlace(
  dir: string,
  file: OperationFile,
  side: 'before' | 'after',
  inode: string,
): Promise<Outcome> {
  const other = side === 'after' ? 'before' : 'after'
  const [source, wanted] = [sourceOf(file, side), file[side]]
  const [formerSource, former] = [sourceOf(file, other), file[other]]
  if (source === null || wanted === null) return { kind: 'skipped', reason: 'its backup is missing' }
  try {
    await writeInPlace(file.realPath, join(dir, source), wanted, inode)
    return { kind: 'restored' }
  } catch (error) {
    const reason = errorMessage(error)
    if (formerSource === null || former === null) return { kind: 'torn', reason }
    const isBack = await writeInPlace(file.realPath, join(dir, formerSource), former, inode).then(
      () => true,
      () => false,
    )
    return { kind: isBack ? 'skipped' : 'torn', reason }
  }
}

async function writeInPlace(path: string, source: string, wanted: FileState, inode: string): Promise<void> {
  const from = await files.open(source, 'r')
  try {
    const to = await files.open(path, 'r+')
    try {
      const opened = await to.stat()
      if (!opened.isFile() || `${opened.dev}:${opened.ino}` !== inode) {
        throw new LociError('DISK_IO', `${JSON.stringify(path)} was replaced just now; try again`)
      }
      await copyBytes(from, to)
      await to.truncate(wanted.sizeBytes)
      await to.chmod(wanted.mode)
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

async function copyBytes(from: OpenFile, to: OpenFile): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const length = await from.read(buffer, position)
    if (length === 0) return
    await to.writeAll(buffer.subarray(0, length), position)
    position += length
  }
}
