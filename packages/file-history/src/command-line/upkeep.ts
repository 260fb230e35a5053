import { unlockFileHistory } from '../file-history.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findPlace, requireHistory, withHistory } from './place.ts'
import { counted, lines } from './render.ts'

/** `file-history gc`: a value of `{ removed, freedBytes }`. */
export async function gcCommand(context: CommandContext): Promise<CommandResult> {
  const dryRun = context.options['dry-run'] === true
  const place = await findPlace(context)
  await requireHistory(place)
  const value = await withHistory(place, dryRun ? 'read' : 'write', (history) => history.gc({ dryRun }))
  const what = `${counted(value.removed.length, 'file')}, ${counted(value.freedBytes, 'byte')}`
  return { value, text: lines([dryRun ? `would remove ${what}` : `removed ${what}`]) }
}

/** `file-history unlock`: a value of `{ unlocked }`, the folder of the history. */
export async function unlockCommand(context: CommandContext): Promise<CommandResult> {
  const { dir } = await findPlace(context)
  await unlockFileHistory(dir)
  return { value: { unlocked: dir }, text: lines(['unlocked']) }
}
