import { verifyFileHistory } from '../verify.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findHistory, findPlace, noHistory, withHistory } from './place.ts'
import { damageLines, lines, snapshotLines } from './render.ts'
import { readRuns } from './runs.ts'

/** `file-history list`: a value of `Snapshot[]`. */
export async function listCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  if (!(await findHistory(place))) return { value: [], text: lines([await noHistory(place)]) }
  const value = await withHistory(place, 'read', async (history) => history.snapshots())
  const runs = await readRuns(place.dir)
  return { value, text: lines(value.length === 0 ? ['no snapshots'] : snapshotLines(value, runs)) }
}

/** `file-history verify`: a value of `Damage[]`; exit code 3 if there is some. */
export async function verifyCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  if (!(await findHistory(place))) return { value: [], text: lines([await noHistory(place)]) }
  const value = await verifyFileHistory({ dir: place.dir, root: place.root })
  return {
    value,
    text: lines(value.length === 0 ? ['no damage'] : damageLines(value)),
    exitCode: value.length === 0 ? 0 : 3,
  }
}
