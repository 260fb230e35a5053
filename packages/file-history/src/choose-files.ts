import { LociError } from '@loci/disk'
import { emptyResult } from './apply-rewind.ts'
import { byPath, conflictsOf } from './plan-rewind.ts'
import type { NamedFile, PlannedFile, PlannedRewind, RewindPlan, RewindResult } from './plan-rewind.ts'

/** Which files a rewind writes, and what it says of the others. */
interface Choice {
  result: RewindResult
  chosen: PlannedFile[]
  /** Nothing is to be written: the files that stop it, and all that conflicts. */
  refused?: { stopping: NamedFile[]; conflicts: NamedFile[] }
}

/**
 * Which files a rewind writes, of those that differ now. Pure.
 *
 * @param given the plan the caller looked at: its changes and no others are made
 */
export function chooseFiles(
  planned: PlannedRewind,
  given: RewindPlan | undefined,
  onConflict: 'stop' | 'skip' | 'overwrite',
): Choice {
  const { files, unchanged, skipped, messageId } = planned
  const result = emptyResult(messageId)
  result.unchanged = [...unchanged]
  result.skipped = [...skipped]
  const chosen: PlannedFile[] = []
  const conflicts = conflictsOf(files)
  const changes = new Map(given?.changes.map((change) => [change.path, change]))
  for (const file of files) {
    const change = changes.get(file.path)
    if (given && change === undefined) {
      result.skipped.push({ path: file.path, reason: 'it is not among the changes of the plan' })
      continue
    }
    let conflict = file.conflict
    if (change && !isAsPlanned(change, file)) {
      conflict ??= 'it was changed after the plan was made'
      if (file.conflict === undefined) conflicts.push({ path: file.path, reason: conflict })
    }
    if (conflict === undefined || onConflict === 'overwrite') chosen.push(file)
    else result.conflicts.push({ path: file.path, reason: conflict })
  }
  if (onConflict !== 'stop' || result.conflicts.length === 0) return { result, chosen }
  return {
    result,
    chosen: [],
    refused: { stopping: result.conflicts, conflicts: conflicts.toSorted(byPath) },
  }
}

/** The error for a rewind that conflicts stop, with the plan as it is now. */
export function conflictError(
  plan: RewindPlan,
  { stopping, conflicts }: NonNullable<Choice['refused']>,
): LociError {
  const names = stopping.map(({ path }) => JSON.stringify(path)).join(', ')
  const message = `Nothing was rewound: ${names} changed after the agent left it; skip or overwrite such files, or put them aside`
  return new LociError('REWIND_CONFLICT', message, { details: { plan: { ...plan, conflicts } } })
}

function isAsPlanned(planned: RewindPlan['changes'][number], { before, after }: PlannedFile): boolean {
  return (
    planned.before === (before?.sha256 ?? null) &&
    planned.after === (after?.sha256 ?? null) &&
    (planned.modeBefore === undefined || planned.modeBefore === (before?.mode ?? null))
  )
}
