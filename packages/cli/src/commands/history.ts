import { LociError } from '@loci/disk'
import type { FileHistory, RewindPlan, RewindResult } from '@loci/file-history'
import { UsageError, parseChoice } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { withHistory, withSession } from '../compose.ts'
import { findSessionOrNewest } from '../find-session.ts'
import type { SessionPlace } from '../find-session.ts'
import { filesTarget } from '../rewind-door.ts'
import { oneLine } from '../printable.ts'
import { changeLine, needsDecision, nothingToRewind, planLines, rewindLines } from '../rewind-report.ts'
import { counted, lines, parameter } from './text.ts'
import { textOf } from '../message-content.ts'

export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const place = await placeOf(context)
  const value = await withHistory(context.home, place, 'read', (history) =>
    Promise.resolve(history.snapshots()),
  )
  const prompts = await withSession(place, 'read', (session) =>
    Promise.all(value.map(async ({ messageId }) => textOf(await session.entry(messageId)))),
  )
  const text = value.map(
    ({ messageId, timestamp, trackedFileBackups }, index) =>
      `${messageId}  ${timestamp}  ${counted(Object.keys(trackedFileBackups).length, 'file')}  ${oneLine(prompts[index] ?? '')}`,
  )
  return { value, text: lines(text.length === 0 ? [`no snapshots of session ${place.sessionId}`] : text) }
}

export async function diffCommand(context: CommandContext): Promise<CommandResult> {
  const [from, to] = context.parameters
  const place = await placeOf(context)
  const toId = to === undefined ? undefined : await snapshotOf(place, to)
  const value = await withHistory(context.home, place, 'read', async (history) => {
    const fromId = from === undefined ? history.snapshots().at(-1)?.messageId : await snapshotOf(place, from)
    // `null` stands for the disk as it is, and that does not differ from itself.
    if (fromId === undefined || fromId === null) return []
    return history.diff(fromId, ...(toId === undefined || toId === null ? [] : [toId]))
  })
  return { value, text: lines(value.length === 0 ? ['no changes'] : value.map(changeLine)) }
}

export async function rewindCommand(context: CommandContext): Promise<CommandResult> {
  return rewindPlace(context, () => placeOf(context), parameter(context, 0))
}

/** Rewinds the files of a session to the id of an entry, or with `--dry-run` says what that would do. */
export async function rewindPlace(
  context: CommandContext,
  findPlace: () => Promise<SessionPlace>,
  id: string,
): Promise<CommandResult> {
  const onConflict = parseChoice('on-conflict', context.options['on-conflict'], ['stop', 'skip', 'overwrite'])
  const place = await findPlace()
  const messageId = await snapshotOf(place, id)
  if (context.options['dry-run'] === true) {
    if (messageId === null) return planResult({ messageId: id, changes: [], conflicts: [], skipped: [] })
    return planResult(
      await withHistory(context.home, place, 'read', (history) => history.planRewind(messageId)),
    )
  }
  return changeFiles(
    context,
    async () => place,
    async (history) => (messageId === null ? nothingToRewind(id) : history.rewind(messageId, { onConflict })),
  )
}

export async function undoCommand(context: CommandContext): Promise<CommandResult> {
  const onConflict = parseChoice('on-conflict', context.options['on-conflict'], ['skip', 'overwrite'])
  return changeFiles(
    context,
    () => placeOf(context),
    (history) => history.undoRewind({ onConflict }),
  )
}

export async function usageCommand(context: CommandContext): Promise<CommandResult> {
  const value = await withHistory(context.home, await placeOf(context), 'read', (history) => history.usage())
  const { backups, sizeBytes, sharedBytes } = value
  return {
    value,
    text: lines([
      `${counted(backups, 'backup')}, ${sizeBytes} bytes, ${sharedBytes} of them shared with other sessions`,
    ]),
  }
}

export async function gcCommand(context: CommandContext): Promise<CommandResult> {
  const dryRun = context.options['dry-run'] === true
  const place = await placeOf(context)
  if (!dryRun) await context.home.claim()
  const mode = dryRun ? 'read' : 'write'
  const value = await withHistory(context.home, place, mode, (history) => history.gc({ dryRun }))
  const what = `${counted(value.removed.length, 'file')}, ${value.freedBytes} bytes`
  return { value, text: lines([dryRun ? `would remove ${what}` : `removed ${what}`]) }
}

export async function resolveCommand(context: CommandContext): Promise<CommandResult> {
  const how = parameter(context, 0)
  if (how !== 'finish' && how !== 'undo')
    throw new UsageError(`history resolve takes finish or undo, not ${JSON.stringify(how)}`)
  return changeFiles(
    context,
    () => placeOf(context),
    (history) => history.resolveRewind(how),
  )
}

function placeOf({ home, cwd, options }: CommandContext): Promise<SessionPlace> {
  return findSessionOrNewest(home, cwd, options.session)
}

/** Changes files of people, and says how to take that back: in this session, which need not be the newest. */
async function changeFiles(
  context: CommandContext,
  findPlace: () => Promise<SessionPlace>,
  work: (history: FileHistory) => Promise<RewindResult>,
): Promise<CommandResult> {
  const place = await findPlace()
  await context.home.claim()
  const value = await withHistory(context.home, place, 'write', work)
  const undo = value.undoable ? [`loci history undo --session ${place.sessionId} takes this back`] : []
  return { value, text: lines([...rewindLines(value), ...undo]), exitCode: needsDecision(value) ? 3 : 0 }
}

function snapshotOf(place: SessionPlace, id: string): Promise<string | null> {
  if (id === '') throw new LociError('SNAPSHOT_NOT_FOUND', 'An id is needed; loci history list shows them')
  return withSession(place, 'read', (session) => filesTarget(session, id))
}

function planResult(value: RewindPlan): CommandResult {
  return { value, text: lines(planLines(value)), exitCode: needsDecision(value) ? 3 : 0 }
}
