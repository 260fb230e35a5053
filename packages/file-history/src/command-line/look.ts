import { verifyFileHistory } from '../verify.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findPlace, withHistory } from './place.ts'
import { damageLines, lines, snapshotLines } from './render.ts'

/** `file-history list`: a value of `Snapshot[]`. */
export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  const value = await withHistory(place, 'read', async (history) => history.snapshots())
  return { value, text: lines(value.length === 0 ? ['no snapshots'] : snapshotLines(value)) }
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
