import { join } from 'node:path'
import { errorMessage, files, LociError } from '@loci/disk'
import { applyOperation, emptyResult, noteOutcome, sortResult, tornError } from './apply-rewind.ts'
import type { ApplyContext } from './apply-rewind.ts'
import { isSameState, isTornMix, lookAt, statNow } from './compare.ts'
import type { Operation, OperationFile } from './edit-record.ts'
import { Marks } from './marks.ts'
import { filesNotUndone, unfinishedUndo } from './past-rewinds.ts'
import type { PastRewind } from './past-rewinds.ts'
import type { FileWrite, RewindResult } from './plan-rewind.ts'
import { deletionsFirst, madeDirectories, restoreName, writeFile } from './restore-file.ts'
import { BEHIND_LINK, isBehindLink } from './standing.ts'
import type { FileStep, Outcome } from './restore-file.ts'

/** The rewinds and undos that wrote something, newest first. */
export function listRewinds({ log }: { log: ApplyContext['log'] }): PastRewind[] {
  const left = filesNotUndone(log.operations)
  const ended = log.operations.filter(({ isEnded }) => isEnded)
  return ended.toReversed().map(({ operation }) => {
    const { id, messageId, timestamp, kind, snapshot } = operation
    const since = snapshot?.messageId ?? null
    return { id, messageId, timestamp, kind, since, undone: left.get(id)?.size === 0 }
  })
}

/**
 * Brings back what a rewind, or undo, wrote over: of `id`, or of the newest that is not undone. An undo that left files
 * behind is not over: then it is the rest of what that one undoes. Files that somebody changed since are conflicts;
 * their bytes stay kept.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND when there is nothing to undo; as {@link applyOperation}
 */
export async function undoOperation(
  context: ApplyContext,
  onConflict: 'skip' | 'overwrite',
  wanted?: string,
): Promise<RewindResult> {
  const { log } = context
  const left = filesNotUndone(log.operations)
  const unfinished = wanted === undefined ? unfinishedUndo(log.operations, left) : undefined
  if (unfinished !== undefined) {
    const plan = await planOperation(context, unfinished, left.get(unfinished.id), onConflict)
    // Where all of the rest stands as before by now, that undo is over.
    if (!isAllUnchanged(plan)) return applyUndo(context, plan)
  }
  const isLeft = (id: string): boolean => (left.get(id)?.size ?? 0) > 0
  const found = log.operations.findLast(({ operation: { id } }) =>
    wanted === undefined ? isLeft(id) && id !== unfinished?.id : id === wanted,
  )
  if (found === undefined || !isLeft(found.operation.id)) throw nothingToUndo(wanted, found !== undefined)
  const { operation } = found
  return applyUndo(context, await planOperation(context, operation, left.get(operation.id), onConflict))
}

/** What is to be done for an undo. */
interface UndoPlan {
  operation: Operation
  planned: FileWrite[]
  /** What is known of the other files. */
  result: RewindResult
  /** Keys of the files that stand as they were before. */
  settled: string[]
}

async function planOperation(
  { dir }: ApplyContext,
  operation: Operation,
  written: ReadonlySet<string> | undefined,
  onConflict: 'skip' | 'overwrite',
): Promise<UndoPlan> {
  const result = emptyResult(operation.messageId)
  const planned: FileWrite[] = []
  const settled: string[] = []
  for (const file of operation.files.filter(({ trackingPath }) => written?.has(trackingPath))) {
    const isRoom = madeDirectories(operation.files, file).length > 0
    const plan = await planUndo(dir, file, { onConflict, isRoom }).catch(skippedFor)
    if (!('kind' in plan)) planned.push(plan)
    else noteOutcome(result, file.path, plan)
    if ('kind' in plan && plan.kind === 'unchanged') settled.push(file.trackingPath)
  }
  return { operation, planned, result, settled }
}

function isAllUnchanged({ planned, result }: UndoPlan): boolean {
  return planned.length + result.skipped.length + result.conflicts.length === 0
}

async function applyUndo(
  context: ApplyContext,
  { operation, planned, result, settled }: UndoPlan,
): Promise<RewindResult> {
  const { messageId, id } = operation
  const applied = await applyOperation(context, 'undo', messageId, planned, { undoes: id, settled })
  return sortResult({
    messageId,
    restored: applied.restored,
    deleted: applied.deleted,
    unchanged: [...result.unchanged, ...applied.unchanged],
    skipped: [...result.skipped, ...applied.skipped],
    conflicts: [...result.conflicts, ...applied.conflicts],
    undoable: applied.undoable,
  })
}

function nothingToUndo(id: string | undefined, isUndone: boolean): LociError {
  if (id === undefined) {
    const message = 'There is no rewind to undo; nothing was rewound in this history, or it is undone'
    return new LociError('SNAPSHOT_NOT_FOUND', message)
  }
  const message = isUndone
    ? `The rewind ${id} is undone already; undo its undo to have it again`
    : `There is no rewind ${JSON.stringify(id)}; list the rewinds for the ids there are`
  return new LociError('SNAPSHOT_NOT_FOUND', message, { details: { id } })
}

/** One file that cannot be looked at must not keep the others from coming back. */
function skippedFor(error: unknown): Outcome {
  return { kind: 'skipped', reason: errorMessage(error) }
}

async function planUndo(
  dir: string,
  file: OperationFile,
  { onConflict, isRoom }: { onConflict: 'skip' | 'overwrite'; isRoom: boolean },
): Promise<FileWrite | Outcome> {
  const { trackingPath: key, path, realPath, before: after, kept: source } = file
  if (await isBehindLink(realPath)) return { kind: 'skipped', reason: BEHIND_LINK }
  const look = await lookAt(realPath)
  const isNoFile = look.kind === 'absent' || (look.kind === 'directory' && (after === null || isRoom))
  if (look.kind !== 'file' && !isNoFile) {
    return { kind: 'skipped', reason: `a ${look.kind} is in its place now` }
  }
  const before = look.kind === 'file' ? look.state : null
  if (isSameState(before, after)) return { kind: 'unchanged' }
  if (!isSameState(before, file.after) && onConflict === 'skip') {
    return { kind: 'conflict', reason: 'it was changed after the rewind' }
  }
  if (source !== null && !(await isIntact(join(dir, source), file))) {
    return { kind: 'skipped', reason: 'the bytes kept of it are missing or damaged' }
  }
  return { key, path, realPath, before, after, source }
}

async function isIntact(path: string, { before }: OperationFile): Promise<boolean> {
  const look = await lookAt(path)
  return look.kind === 'file' && look.state.sha256 === before?.sha256
}

/** An interrupted rewind. Absolute paths. */
export interface PendingRewind {
  messageId: string
  /** Known to be written. */
  done: string[]
  /** Not known to be: some may be written already. */
  left: string[]
}

/** The rewind that was begun and not ended, by its marks. Looks at no file. */
export function pendingRewind({ log }: { log: ApplyContext['log'] }): PendingRewind | null {
  const { pending } = log
  if (pending === undefined) return null
  const { operation, written } = pending
  const isDone = ({ trackingPath }: OperationFile): boolean => written.has(trackingPath)
  return {
    messageId: operation.messageId,
    done: operation.files.filter(isDone).map(({ path }) => path),
    left: operation.files.filter((file) => !isDone(file)).map(({ path }) => path),
  }
}

/**
 * Ends an interrupted rewind: writes the files that are left, or brings back those that were written. Each file is
 * looked at anew; one that stands in neither state is somebody's work, and a conflict.
 * With `'undo'` the rewind stays pending as long as a file cannot be written back; `'finish'` always ends it.
 *
 * @throws {LociError} DISK_FULL, DISK_IO when the journal cannot be written; REWIND_INCOMPLETE for a torn file
 */
export async function resolveOperation(context: ApplyContext, how: 'finish' | 'undo'): Promise<RewindResult> {
  const { dir, log, clock } = context
  const { pending } = log
  if (pending === undefined) {
    throw new LociError('SNAPSHOT_NOT_FOUND', 'No rewind is pending; there is nothing to resolve')
  }
  const { operation, written } = pending
  const { id } = operation
  const result = emptyResult(operation.messageId)
  const side = how === 'finish' ? 'after' : 'before'
  const marks = new Marks(log, id)
  for (const file of deletionsFirst(operation.files, side)) {
    const outcome = await resolveFile(dir, { file, side, files: operation.files })
    if (outcome.kind === 'torn') {
      await marks.write().catch(() => undefined)
      throw tornError(file, outcome.reason)
    }
    const isThere = outcome.kind !== 'conflict' && outcome.kind !== 'skipped'
    // A file that was written before the interruption has been restored by this rewind all the same.
    const isOurs = how === 'finish' && outcome.kind === 'unchanged'
    noteOutcome(result, file.path, isOurs ? { kind: file.after === null ? 'deleted' : 'restored' } : outcome)
    if (isThere && written.has(file.trackingPath) !== (side === 'after')) {
      await marks.add(file.trackingPath, side)
    }
  }
  await marks.write()
  if (how === 'finish') result.undoable = written.size > 0
  if (how === 'finish' || result.skipped.length === 0) {
    await marks.end(how === 'finish' ? 'done' : 'undone', clock())
  }
  return sortResult(result)
}

async function resolveFile(dir: string, step: FileStep): Promise<Outcome> {
  const { file } = step
  try {
    if (await isBehindLink(file.realPath)) return { kind: 'skipped', reason: BEHIND_LINK }
    // What the interruption may have left of the file in the making.
    const scratch = restoreName(file.realPath)
    if (statNow(scratch) !== undefined) await files.unlink(scratch)
  } catch (error) {
    return { kind: 'skipped', reason: error instanceof Error ? error.message : String(error) }
  }
  const outcome = await writeFile(dir, step)
  if (outcome.kind !== 'conflict' || file.kept === null || file.source === null) return outcome
  // A hard-linked file is written in place; what a crash leaves of that is in neither state.
  const stats = statNow(file.realPath)
  if (stats === undefined || stats.nlink <= 1n) return outcome
  const [was, wanted] = [join(dir, file.kept), join(dir, file.source)]
  const isTorn =
    (await isTornMix(file.realPath, was, wanted)) || (await isTornMix(file.realPath, wanted, was))
  return isTorn ? writeFile(dir, { ...step, isHalfWritten: true }) : outcome
}
