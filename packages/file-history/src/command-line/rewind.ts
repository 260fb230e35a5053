import { isLociError } from '@loci/disk'
import { emptyResult } from '../apply-rewind.ts'
import type { FileHistory } from '../file-history.ts'
import type { RewindPlan, RewindResult } from '../plan-rewind.ts'
import { parseChoice, UsageError } from './arguments.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { Interruption } from './interruption.ts'
import { findPlace, requireHistory, snapshotOrLastRun, withHistory } from './place.ts'
import { leftLines, lines, pastRewindLines, rewindExitCode, rewindLines } from './render.ts'
import { reportError } from './report-error.ts'

/** `file-history rewind`: a value of `RewindResult`; exit code 3 if a file was left alone. */
export async function rewindCommand(context: CommandContext): Promise<CommandResult> {
  const choices = ['stop', 'skip', 'overwrite'] as const
  const onConflict = parseChoice('--on-conflict', context.options['on-conflict'], choices)
  try {
    return await changeFiles(context, (history, signal) =>
      history.rewind(snapshotOrLastRun(history, context.words[0]), { onConflict, signal }),
    )
  } catch (error) {
    const plan = conflictingPlan(error)
    if (plan === undefined) throw error
    const { line, exitCode } = reportError(error)
    context.warn(`${line}\n`)
    // The same shape as of a rewind, so that a script finds the conflicts in the same place.
    const { conflicts, skipped } = plan
    const value: RewindResult = { ...emptyResult(plan.messageId), conflicts, skipped }
    return { value, text: lines(leftLines(plan, context.startDir)), exitCode }
  }
}

/**
 * `file-history undo`: a value of `RewindResult`; exit code 3 if a file was left alone. With `--list` it changes nothing:
 * a value of `PastRewind[]`, newest first.
 */
export async function undoCommand(context: CommandContext): Promise<CommandResult> {
  const choices = ['skip', 'overwrite'] as const
  const onConflict = parseChoice('--on-conflict', context.options['on-conflict'], choices)
  const [id] = context.words
  if (context.options.list === true) return listRewinds(context)
  return changeFiles(
    context,
    (history) => history.undoRewind({ onConflict, ...(id === undefined ? {} : { id }) }),
    (result) => afterUndo(result, id),
  )
}

/** An undo that left files behind is not over. */
function afterUndo({ conflicts, skipped, undoable }: RewindResult, id: string | undefined): string[] {
  const undo = id === undefined ? 'file-history undo' : `file-history undo ${id}`
  if (conflicts.length > 0) return [`${undo} --on-conflict overwrite takes back what is left`]
  if (skipped.length > 0) return [`${undo} takes back what is left, once that can be done`]
  return afterRewind({ undoable })
}

function afterRewind({ undoable }: Pick<RewindResult, 'undoable'>): string[] {
  return undoable ? ['file-history undo takes this back'] : []
}

async function listRewinds(context: CommandContext): Promise<CommandResult> {
  if (context.words.length > 0) throw new UsageError('undo takes an ID or --list, not both')
  const place = await findPlace(context)
  await requireHistory(place)
  const value = await withHistory(place, 'read', async (history) => history.rewinds())
  return { value, text: lines(value.length === 0 ? ['no rewinds'] : pastRewindLines(value)) }
}

/** `file-history resolve`: a value of `RewindResult`; exit code 3 if a file was left alone. */
export async function resolveCommand(context: CommandContext): Promise<CommandResult> {
  const how = parseChoice('resolve', context.words[0], ['finish', 'undo'])
  return changeFiles(context, (history) => history.resolveRewind(how))
}

/**
 * A signal stops it only before the first file is touched: half of it would be worse than the wait. The exit code is
 * that of the signal in any case. `adviseOn` has the lines that say how to go on.
 */
async function changeFiles(
  context: CommandContext,
  work: (history: FileHistory, signal: AbortSignal) => Promise<RewindResult>,
  adviseOn: (result: RewindResult) => string[] = afterRewind,
): Promise<CommandResult> {
  const place = await findPlace(context)
  await requireHistory(place)
  const interruption = new Interruption()
  context.onSignal((signal) => interruption.by(signal))
  try {
    const { signal } = interruption
    const value = await withHistory(place, 'write', async (history) => {
      signal.throwIfAborted()
      return work(history, signal)
    })
    const text = lines([...rewindLines(value, context.startDir), ...adviseOn(value)])
    return { value, text, exitCode: interruption.exitCode ?? rewindExitCode(value) }
  } finally {
    context.onSignal(undefined)
  }
}

function conflictingPlan(error: unknown): RewindPlan | undefined {
  if (!isLociError(error, 'REWIND_CONFLICT')) return undefined
  const plan: unknown = error.details?.['plan']
  const isPlan = typeof plan === 'object' && plan !== null && 'conflicts' in plan && 'skipped' in plan
  return isPlan ? (plan as RewindPlan) : undefined
}
