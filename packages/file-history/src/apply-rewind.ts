import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { files, LociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { BACKUP_NAME, copyLive, removeScratch } from './backup.ts'
import { isSameState, lookAt, stampOf } from './compare.ts'
import type { FileState, Look } from './compare.ts'
import type { Anchor, Operation, OperationFile } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { byPath } from './plan-rewind.ts'
import type { FileWrite, NamedFile, RewindResult } from './plan-rewind.ts'
import { realDirectory } from './track-path.ts'

/** What an operation needs around it. */
export interface ApplyContext {
  dir: string
  log: EditLog
  anchor: Anchor
  clock: () => Date
}

/** What became of one file. */
export type Outcome =
  | { kind: 'restored' | 'deleted' | 'unchanged' }
  /** `torn`: a write in place was cut short, and the bytes from before could not be put back. */
  | { kind: 'conflict' | 'skipped' | 'torn'; reason: string }

const CHANGED_JUST_NOW: Outcome = { kind: 'conflict', reason: 'it was changed just now' }

const CHUNK_BYTES = 1 << 20

/**
 * Writes the planned files, journalled: the bytes of all of them are kept first, then the intent is written down,
 * then each file is written and ticked off. A file that is no longer as planned is left alone.
 * What one file fails on is named in the result; the others go on.
 *
 * @throws {LociError} DISK_FULL, DISK_IO when keeping or journalling fails. Either nothing was touched then, or
 * `log.pending` tells how far it got
 */
export async function applyOperation(
  context: ApplyContext,
  kind: Operation['kind'],
  messageId: string,
  planned: readonly FileWrite[],
  undo: { undoes?: string; settled?: string[] } = {},
): Promise<RewindResult> {
  const { dir, log, anchor, clock } = context
  const result = emptyResult(messageId)
  if (planned.length === 0) return result
  const undoDir = join(dir, 'undo')
  await files.mkdir(undoDir, 0o700)
  const id = log.nextOperationId(new Set((await files.readdir(undoDir)).map(({ name }) => name)))
  const kept = join(undoDir, id)
  const operation: Operation = {
    type: 'rewind',
    id,
    kind,
    messageId,
    ...undo,
    files: [],
    snapshot: anchor,
    timestamp: clock().toISOString(),
  }
  try {
    await files.mkdir(kept, 0o700)
    for (const [number, file] of planned.entries()) {
      const record = await keep(file, dir, `undo/${id}/${number}`)
      if (record) operation.files.push(record)
      else result.conflicts.push({ path: file.path, reason: 'it was changed just now' })
    }
    if (operation.files.length > 0) await begin(log, operation)
  } catch (error) {
    if (log.pending === undefined) await discard(kept, planned.length)
    throw error
  }
  if (operation.files.length === 0) {
    await discard(kept, planned.length)
    return sortResult(result)
  }
  for (const file of operation.files) {
    const outcome = await writeFile(dir, file, 'after')
    if (outcome.kind === 'torn') throw tornError(file, outcome.reason)
    noteOutcome(result, file.path, outcome)
    if (outcome.kind === 'restored' || outcome.kind === 'deleted') {
      await log.append([{ type: 'rewind-file', id, trackingPath: file.trackingPath, side: 'after' }])
      result.undoable = true
    }
  }
  await log.append([{ type: 'rewind-end', id, outcome: 'done', timestamp: clock().toISOString() }])
  return sortResult(result)
}

/** The error for a file that stands half-written: the operation stays pending. */
export function tornError({ path }: OperationFile, reason: string): LociError {
  const message = `${JSON.stringify(path)} stands half-written: ${reason}; set that right, then resolve the rewind`
  return new LociError('REWIND_INCOMPLETE', message, { details: { path } })
}

/** A result in which nothing happened. */
export function emptyResult(messageId: string): RewindResult {
  return {
    messageId,
    restored: [],
    deleted: [],
    unchanged: [],
    skipped: [],
    conflicts: [],
    undoable: false,
  }
}

/** Enters what became of a file. */
export function noteOutcome(result: RewindResult, path: string, outcome: Outcome): void {
  if (outcome.kind === 'conflict') result.conflicts.push({ path, reason: outcome.reason })
  else if (outcome.kind === 'skipped' || outcome.kind === 'torn')
    result.skipped.push({ path, reason: outcome.reason })
  else result[outcome.kind].push(path)
}

/** Puts the lists of a result in order. */
export function sortResult(result: RewindResult): RewindResult {
  for (const paths of [result.restored, result.deleted, result.unchanged]) paths.sort()
  for (const named of [result.skipped, result.conflicts] as NamedFile[][]) named.sort(byPath)
  return result
}

/** Keeps the bytes a file has now; `undefined` if they are not those that were planned on. */
async function keep(file: FileWrite, dir: string, name: string): Promise<OperationFile | undefined> {
  const { key: trackingPath, path, realPath, before, after, source } = file
  const record = { trackingPath, path, realPath, before, after, source }
  if (before === null) return { ...record, kept: null }
  const state = await copyLive(realPath, join(dir, name))
  return state && isSameState(state, before) ? { ...record, kept: name } : undefined
}

async function begin(log: EditLog, operation: Operation): Promise<void> {
  try {
    await log.append([operation])
  } catch (error) {
    // Nothing was touched. But a line that arrived whole before the failure must not be met as a pending rewind.
    const isWritten = await log.holdsOperation(operation.id).catch(() => true)
    if (isWritten) await log.adopt(operation).catch(() => undefined)
    throw error
  }
}

async function discard(folder: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await removeScratch(join(folder, String(number)))
  await files.rmdir(folder).catch(() => undefined)
}

/** The name of a file in the making beside `path`: always the same, so that what a crash leaves is found again. */
export function restoreName(path: string): string {
  const hash = createHash('sha256').update(path, 'utf8').digest('hex').slice(0, 16)
  return join(dirname(path), `.loci-${hash}.tmp`)
}

/**
 * Brings one file from one side of an operation to the other, if it stands on the former.
 *
 * @param isHalfWritten whether what is there is a write cut short, which may be written over
 */
export async function writeFile(
  dir: string,
  file: OperationFile,
  side: 'before' | 'after',
  isHalfWritten = false,
): Promise<Outcome> {
  const other = side === 'after' ? 'before' : 'after'
  const wanted = file[side]
  const expected = file[other]
  const source = sourceOf(file, side)
  const path = file.realPath
  try {
    const parent = dirname(path)
    if ((await realDirectory(parent)) !== parent) {
      return { kind: 'skipped', reason: 'its directory is reached through a link now' }
    }
    const look = await lookAt(path)
    if (look.kind !== 'file' && look.kind !== 'absent') {
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
    // Other names of the file have to keep pointing at it. Unless one of them is a backup: it must not be written to.
    if (look.kind === 'file' && look.links > 1 && !(await isInodeOfBackup(dir, look.inode))) {
      if (!(await isAsSeen(path, look))) return CHANGED_JUST_NOW
      return await putInPlace(dir, file, side, look.inode)
    }
    const isPut = await putBeside(path, join(dir, source), wanted.mode, look)
    return isPut ? { kind: 'restored' } : CHANGED_JUST_NOW
  } catch (error) {
    return { kind: 'skipped', reason: error instanceof Error ? error.message : String(error) }
  }
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
  const stats = await orAbsent(files.lstat(path))
  if (stats === undefined) return seen.kind === 'absent'
  return seen.kind === 'file' && stampOf(stats) === seen.stamp
}

/** Replaces the name in one step; `false`: it no longer has what was seen, and is left. */
async function putBeside(path: string, source: string, mode: number, seen: Look): Promise<boolean> {
  await files.mkdir(dirname(path))
  const temporary = restoreName(path)
  await orAbsent(files.unlink(temporary))
  try {
    await files.copyFile(source, temporary, 'bytes')
    await files.chmod(temporary, mode)
    if (!(await isAsSeen(path, seen))) {
      await removeScratch(temporary)
      return false
    }
    await files.rename(temporary, path)
    return true
  } catch (error) {
    await removeScratch(temporary)
    throw error
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
    const reason = error instanceof Error ? error.message : String(error)
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
