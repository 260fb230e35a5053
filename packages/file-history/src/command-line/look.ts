import { verifyFileHistory } from '../verify.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findPlace, requireHistory, snapshotOrLastRun, withHistory } from './place.ts'
import { damageLines, diffText, lines, snapshotLines } from './render.ts'
import { visible } from './visible.ts'

/** `file-history list`: a value of `Snapshot[]`. */
export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  const value = await withHistory(place, 'read', async (history) => history.snapshots())
  return { value, text: lines(value.length === 0 ? ['no snapshots'] : snapshotLines(value)) }
}

/** `file-history diff`: a value of `FileChange[]`, from the snapshot to the disk. */
export async function diffCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  await requireHistory(place)
  const value = await withHistory(place, 'read', (history) =>
    history.diff(snapshotOrLastRun(history, context.words[0]), undefined, { patch: true }),
  )
  const text = diffText(value, place.root)
  return {
    value,
    text: context.isScreen ? visible(text) : text,
    exitCode: context.options['exit-code'] === true && value.length > 0 ? 1 : 0,
  }
}

/** `file-history verify`: a value of `Damage[]`; exit code 3 if there is some. */
export async function verifyCommand(context: CommandContext): Promise<CommandResult> {
  const value = await verifyFileHistory(await findPlace(context))
  return {
    value,
    text: lines(value.length === 0 ? ['no damage'] : damageLines(value)),
    exitCode: value.length === 0 ? 0 : 3,
  }
}
