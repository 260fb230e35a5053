import { randomUUID } from 'node:crypto'
import { isAbsolute, sep } from 'node:path'
import { isLociError } from '@loci/disk'
import type { FileHistory } from '../file-history.ts'
import { pathOfKey } from '../track-path.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findPlace, preparePlace, withHistory } from './place.ts'
import { lines, snapshotLines } from './render.ts'
import { reportError } from './report-error.ts'

/**
 * `file-history snapshot`: a value of `Snapshot`. Its files are announced as about to be edited, so that a rewind to it
 * goes back from whatever is done to them next. A file that cannot be tracked is named, and the exit code is 125 then.
 */
export async function snapshotCommand(context: CommandContext): Promise<CommandResult> {
  const place = await findPlace(context)
  await preparePlace(place)
  // Short, and not to be left half done.
  context.onSignal(() => undefined)
  return withHistory(place, 'write', async (history) => {
    const messageId = `snapshot-${randomUUID().slice(0, 8)}`
    const { trackedFileBackups } = await history.makeSnapshot(messageId)
    const tracked = Object.keys(trackedFileBackups).map((key) => pathOfKey(place.root, key).path)
    const asked = context.words.map((path) => (isAbsolute(path) ? path : `${context.startDir}${sep}${path}`))
    let exitCode = 0
    for (const path of tracked) await track(history, path, messageId).catch(ignoreGone)
    for (const path of asked) {
      await track(history, path, messageId).catch((error: unknown) => {
        if (!isLociError(error)) throw error
        context.warn(`${reportError(error).line}\n`)
        exitCode = 125
      })
    }
    const value = history.snapshots().findLast((snapshot) => snapshot.messageId === messageId)
    return { value, text: lines(snapshotLines(value === undefined ? [] : [value])), exitCode }
  })
}

async function track(history: FileHistory, path: string, messageId: string): Promise<void> {
  await history.trackEdit(path, messageId)
}

/** In the place of a tracked file stands something that is none: the snapshot has its last state. */
function ignoreGone(error: unknown): void {
  if (!isLociError(error, 'PATH_LINK', 'PATH_INVALID', 'FILE_TOO_LARGE')) throw error
}
