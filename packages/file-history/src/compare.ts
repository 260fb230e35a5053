import { createHash } from 'node:crypto'
import { fileErrno, files, filesNow, isAbsent, OPEN_REGULAR, orAbsent } from '@loci/disk'
import type { FileStats, OpenFile } from '@loci/disk'
import { pace } from './in-parallel.ts'
import { readSmall, SMALL_BYTES } from './read-small.ts'

/** What a rewind brings back of a file, and what tells two states apart. */
export interface FileState {
  sha256: string
  sizeBytes: number
  /** Permission bits, with set-uid, set-gid and sticky. */
  mode: number
}

/** What stands under a name. A link is never followed; only regular files are read. */
export type Look =
  | { kind: 'absent' }
  | { kind: 'file'; state: FileState; links: number; inode: string; stamp: string }
  | { kind: 'link' | 'directory' | 'special' }

const CHUNK_BYTES = 1 << 20

/** Permission bits of a file. */
export function modeOf(stats: FileStats): number {
  return Number(stats.mode & 0o7777n)
}

/** Inode, size and times: equal for a file that nobody touched, unless within one tick of the clock. */
export function stampOf(stats: FileStats): string {
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}

/** What kind of thing a file is. */
export function kindOf(stats: FileStats): 'file' | 'link' | 'directory' | 'special' {
  if (stats.isFile()) return 'file'
  if (stats.isSymbolicLink()) return 'link'
  return stats.isDirectory() ? 'directory' : 'special'
}

/** Looks at `path` and reads it if it is a regular file. @throws {LociError} DISK_IO when it cannot be read */
export async function lookAt(path: string): Promise<Look> {
  while (pace.turn) await pace.turn
  const stats = statNow(path)
  if (stats === undefined) return { kind: 'absent' }
  const kind = kindOf(stats)
  if (kind !== 'file') return { kind }
  const small = isSmall(stats) ? readSmall(path, 'one') : undefined
  if (small !== undefined) return lookOf(small.stats, stateOf(small.bytes, small.stats))
  const file = await openRegular(path)
  if (file === undefined) return { kind: 'absent' }
  if (file === 'link') return { kind: 'link' }
  try {
    const opened = await file.stat()
    if (!opened.isFile()) return { kind: 'special' }
    const hash = createHash('sha256')
    let sizeBytes = 0
    for await (const chunk of chunksOf(file)) {
      hash.update(chunk)
      sizeBytes += chunk.length
    }
    return lookOf(opened, { sha256: hash.digest('hex'), sizeBytes, mode: modeOf(opened) })
  } finally {
    await file.close()
  }
}

/** What was seen of a regular file. */
export function lookOf(stats: FileStats, state: FileState): Look {
  const inode = `${stats.dev}:${stats.ino}`
  return { kind: 'file', state, links: Number(stats.nlink), inode, stamp: stampOf(stats) }
}

/** The state of a file with these bytes. */
export function stateOf(bytes: Uint8Array, stats: FileStats): FileState {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { sha256, sizeBytes: bytes.length, mode: modeOf(stats) }
}

/** What stands under a name, not following a link; `undefined`: nothing, nor can it where a parent is a file. */
export function statNow(path: string): FileStats | undefined {
  pace.spend(1)
  try {
    return filesNow.lstat(path)
  } catch (error) {
    if (isAbsent(error) || fileErrno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** Whether it is worth while to try {@link readSmall}. */
function isSmall({ size }: FileStats): boolean {
  return size > 0n && size <= BigInt(SMALL_BYTES)
}

async function openRegular(path: string): Promise<OpenFile | 'link' | undefined> {
  try {
    return await orAbsent(files.open(path, OPEN_REGULAR))
  } catch (error) {
    if (fileErrno(error) === 'ELOOP') return 'link'
    throw error
  }
}

async function* chunksOf(file: OpenFile): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const length = await file.read(buffer, position)
    if (length === 0) return
    yield buffer.subarray(0, length)
    position += length
  }
}

/** Whether two states are the same bytes with the same permission bits; `null` is absence. */
export function isSameState(a: FileState | null, b: FileState | null): boolean {
  if (a === null || b === null) return a === b
  return a.sha256 === b.sha256 && a.sizeBytes === b.sizeBytes && a.mode === b.mode
}

/**
 * Whether the file `original` still is what its backup holds: existence first (both absent is the same), then size
 * and permission bits, then bytes. Times prove nothing. Anything but a regular file is changed and is not read.
 *
 * @throws {LociError} DISK_IO when one cannot be read
 */
export async function compareStatsAndContent(original: string, backup: string): Promise<'same' | 'changed'> {
  return (await compareFiles(original, backup)) === undefined ? 'changed' : 'same'
}

/**
 * As {@link compareStatsAndContent}. Of files that are the same, the stats that each had when its bytes were read;
 * `null` where both are absent. `undefined`: they differ.
 *
 * @throws {LociError} DISK_IO when one cannot be read
 */
export async function compareFiles(
  original: string,
  backup: string,
): Promise<{ original: FileStats; backup: FileStats } | null | undefined> {
  while (pace.turn) await pace.turn
  const [a, b] = [statNow(original), statNow(backup)]
  if (a === undefined || b === undefined) return a === b ? null : undefined
  if (!isAlike(a, b)) return undefined
  if (isSmall(a)) {
    const [mine, theirs] = [readSmall(original, 'one'), readSmall(backup, 'other')]
    if (mine !== undefined && theirs !== undefined) {
      const isSame = isAlike(mine.stats, theirs.stats) && Buffer.compare(mine.bytes, theirs.bytes) === 0
      return isSame ? { original: mine.stats, backup: theirs.stats } : undefined
    }
  }
  return compareLarge(original, backup)
}

function isAlike(a: FileStats, b: FileStats): boolean {
  return a.isFile() && b.isFile() && a.size === b.size && modeOf(a) === modeOf(b)
}

async function compareLarge(
  one: string,
  other: string,
): Promise<{ original: FileStats; backup: FileStats } | undefined> {
  const a = await openRegular(one)
  try {
    const b = await openRegular(other)
    try {
      if (a === undefined || a === 'link' || b === undefined || b === 'link') return undefined
      if (!(await readSame(a, b))) return undefined
      const [original, backup] = [await a.stat(), await b.stat()]
      return isAlike(original, backup) ? { original, backup } : undefined
    } finally {
      if (b !== undefined && b !== 'link') await b.close()
    }
  } finally {
    if (a !== undefined && a !== 'link') await a.close()
  }
}

async function readSame(a: OpenFile, b: OpenFile): Promise<boolean> {
  const mine = Buffer.allocUnsafe(CHUNK_BYTES)
  const theirs = Buffer.allocUnsafe(CHUNK_BYTES)
  for (let position = 0; ;) {
    const [length, otherLength] = [await fill(a, mine, position), await fill(b, theirs, position)]
    if (length !== otherLength || !mine.subarray(0, length).equals(theirs.subarray(0, length))) return false
    if (length === 0) return true
    position += length
  }
}

/** Reads on after a short read, so that two files are compared at the same places. */
async function fill(file: OpenFile, buffer: Uint8Array, position: number): Promise<number> {
  let length = 0
  while (length < buffer.length) {
    const taken = await file.read(buffer.subarray(length), position + length)
    if (taken === 0) break
    length += taken
  }
  return length
}

/**
 * Whether `path` holds what a write in place, cut short, leaves: a beginning of the file `wanted`, then the rest of
 * the file `was`. Such a file is nobody's work and may be written again.
 */
export async function isTornMix(path: string, was: string, wanted: string): Promise<boolean> {
  const now = await files.readFile(path)
  const before = await files.readFile(was)
  const after = await files.readFile(wanted)
  if (now.equals(before)) return false
  if (now.equals(after)) return true
  let written = 0
  while (written < now.length && written < after.length && now[written] === after[written]) written += 1
  return written > 0 && now.subarray(written).equals(before.subarray(written))
}
