import { isLociError } from '@loci/disk'
import { EditLog } from '../edits.ts'
import { withHistory } from './place.ts'
import type { Place } from './place.ts'

/** The ids of the runs that did not end, by the ids of their commands. With the history open for writing, none runs. */
export async function commandsCutOff({ dir }: Pick<Place, 'dir'>): Promise<Map<string, string>> {
  const { openCommands } = await EditLog.open(dir)
  return new Map(Array.from(openCommands, ([id, { messageId }]) => [id, messageId]))
}

/**
 * Has the history take in what changed since runs began that were cut off, which it does only when it is open for
 * writing. Where that is not possible (one runs still, a rewind waits, the disk refuses), a plan names them.
 */
export async function takeInCutOff(place: Place): Promise<void> {
  const [messageId] = (await commandsCutOff(place)).values()
  if (messageId === undefined) return
  try {
    await withHistory(place, 'write', (history) => history.planRewind(messageId))
  } catch (error) {
    if (!isLociError(error)) throw error
  }
}
