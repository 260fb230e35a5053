import { basename, dirname } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { unlockFileHistory } from '../file-history.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findHistory, findPlace, noHistory, requireHistory, withHistory } from './place.ts'
import type { Place } from './place.ts'
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

/** `file-history unlock`: a value of `{ unlocked }`, the folder of the history; `null`: there is none yet. */
export async function unlockCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  // Who was cut off before its first write has left a lock and no folder.
  if (!(await isLocked(place)) && !(await findHistory(place))) {
    return { value: { unlocked: null }, text: lines([await noHistory(place)]) }
  }
  await unlockFileHistory(place.dir)
  return { value: { unlocked: place.dir }, text: lines(['unlocked']) }
}

async function isLocked({ dir }: Place): Promise<boolean> {
  const beside = (await orAbsent(files.readdir(dirname(dir)))) ?? []
  return beside.some(({ name }) => name.startsWith(`.${basename(dir)}.lock.`))
}
