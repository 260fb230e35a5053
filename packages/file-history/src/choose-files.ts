import { LociError } from '@loci/disk'
import { emptyResult } from './apply-rewind.ts'
import type { DetailedPlan, PlannedFile, RewindPlan, RewindResult } from './plan-rewind.ts'

/**
 * Which files a rewind writes, of those that differ now, and what it says of the others. Pure.
 *
 * @param given the plan the caller looked at: its changes and no others are made
 * @throws {LociError} REWIND_CONFLICT with `'stop'`, and the plan as it is now in `details.plan`
 */
export function chooseFiles(
  detailed: DetailedPlan,
  given: RewindPlan | undefined,
  onConflict: 'stop' | 'skip' | 'overwrite',
): { result: RewindResult; chosen: PlannedFile[] } {
  const { plan, files, unchanged } = detailed
  const result = emptyResult(plan.messageId)
  result.unchanged = [...unchanged]
  result.skipped = [...plan.skipped]
  const chosen: PlannedFile[] = []
  const conflicts = [...plan.conflicts]
  const changes = new Map(given?.changes.map((change) => [change.path, change]))
  for (const file of files) {
    const planned = changes.get(file.path)
    if (given && planned === undefined) {
      result.skipped.push({ path: file.path, reason: 'it is not among the changes of the plan' })
      continue
    }
    let conflict = file.conflict
    if (planned && !isAsPlanned(planned, file)) {
      conflict ??= 'it was changed after the plan was made'
      if (file.conflict === undefined) conflicts.push({ path: file.path, reason: conflict })
    }
    if (conflict === undefined || onConflict === 'overwrite') chosen.push(file)
    else result.conflicts.push({ path: file.path, reason: conflict })
  }
  if (onConflict === 'stop' && result.conflicts.length > 0) {
    const names = result.conflicts.map(({ path }) => JSON.stringify(path)).join(', ')
    const message = `Nothing was rewound: ${names} changed after the agent left it; skip or overwrite such files, or put them aside`
    throw new LociError('REWIND_CONFLICT', message, { details: { plan: { ...plan, conflicts } } })
  }
  return { result, chosen }
}

function isAsPlanned(planned: RewindPlan['changes'][number], { before, after }: PlannedFile): boolean {
  return (
    planned.before === (before?.sha256 ?? null) &&
    planned.after === (after?.sha256 ?? null) &&
    (planned.modeBefore === undefined || planned.modeBefore === (before?.mode ?? null))
  )
}
