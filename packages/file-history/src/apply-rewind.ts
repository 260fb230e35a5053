import { join } from 'node:path'
import { files, LociError, orAbsent } from '@loci/disk'
import { copyLive, removeScratch } from './backup.ts'
import { isSameState, lookOf, statNow } from './compare.ts'
import type { Anchor, Operation, OperationFile } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { Marks } from './marks.ts'
import { byPath } from './plan-rewind.ts'
import type { FileWrite, NamedFile, RewindResult } from './plan-rewind.ts'
import { deletionsFirst, writeFile } from './restore-file.ts'
import type { Outcome, Sighting } from './restore-file.ts'
import { isBehindLink } from './standing.ts'

/** What an operation needs around it. */
export interface ApplyContext {
  dir: string
  log: EditLog
  anchor: Anchor
  clock: () => Date
}

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
  const taken = (await orAbsent(files.readdir(undoDir))) ?? []
  const id = log.nextOperationId(new Set(taken.map(({ name }) => name)))
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
  const sightings = new Map<string, Sighting | undefined>()
  try {
    await files.mkdir(kept, 0o700)
    for (const [number, file] of planned.entries()) {
      const found = await keep(file, dir, `undo/${id}/${number}`)
      if (found) operation.files.push(found.record)
      else result.conflicts.push({ path: file.path, reason: 'it was changed just now' })
      sightings.set(file.key, found?.seen)
    }
    if (operation.files.length > 0) await begin(log, operation)
  } catch (error) {
    // What the journal may hold needs its bytes.
    if (!log.owes) await discard(kept, planned.length)
    throw error
  }
  if (operation.files.length === 0) {
    await discard(kept, planned.length)
    return sortResult(result)
  }
  const marks = new Marks(log, id)
  for (const file of deletionsFirst(operation.files, 'after')) {
    const { trackingPath, path } = file
    const seen = sightings.get(trackingPath)
    const outcome = await writeFile(dir, { file, side: 'after', files: operation.files, seen })
    if (outcome.kind === 'torn') {
      await marks.write().catch(() => undefined)
      throw tornError(file, outcome.reason)
    }
    noteOutcome(result, path, outcome)
    if (outcome.kind === 'restored' || outcome.kind === 'deleted') {
      await marks.add(trackingPath, 'after')
      result.undoable = true
    }
  }
  await marks.end('done', clock())
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
async function keep(
  file: FileWrite,
  dir: string,
  name: string,
): Promise<{ record: OperationFile; seen?: Sighting } | undefined> {
  const { key: trackingPath, path, realPath, before, after, source } = file
  const record = { trackingPath, path, realPath, before, after, source }
  if (before === null) return { record: { ...record, kept: null } }
  if (await isBehindLink(realPath)) return undefined
  const atMs = Date.now()
  const stats = statNow(realPath)
  const state = stats && (await copyLive(realPath, join(dir, name)))
  if (!state || !isSameState(state, before)) {
    // Of bytes that nobody planned on none stays.
    await removeScratch(join(dir, name))
    return undefined
  }
  return { record: { ...record, kept: name }, seen: { look: lookOf(stats, state), atMs } }
}

async function begin(log: EditLog, operation: Operation): Promise<void> {
  try {
    await log.append([operation])
  } catch (error) {
    // Nothing was touched. But a line that arrived whole before the failure must not be met as a pending rewind.
    await log.disown(operation).catch(() => undefined)
    throw error
  }
}

async function discard(folder: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await removeScratch(join(folder, String(number)))
  await files.rmdir(folder).catch(() => undefined)
}
