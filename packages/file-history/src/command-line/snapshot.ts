import { randomUUID } from 'node:crypto'
import { isAbsolute, sep } from 'node:path'
import { isLociError, LociError } from '@loci/disk'
import type { FileHistory } from '../file-history.ts'
import { isInside, ownFolder, pathOfKey, realDirectory, resolveTrackedPath, statOf } from '../track-path.ts'
import type { CommandContext, CommandResult } from './command-context.ts'
import { findPlace, preparePlace, withHistory } from './place.ts'
import type { Place } from './place.ts'
import { lines, snapshotLines } from './render.ts'
import { reportError } from './report-error.ts'

/**
 * `file-history snapshot`: a value of `Snapshot`. Its files are announced as about to be edited, so that a rewind to it
 * goes back from whatever is done to them next. With a path that cannot be recorded no snapshot is made: each such is
 * named, and the exit code is 125.
 */
export async function snapshotCommand(context: CommandContext): Promise<CommandResult | number> {
  const place = await findPlace(context)
  const asked = context.words.map((path) => (isAbsolute(path) ? path : `${context.startDir}${sep}${path}`))
  await preparePlace(place)
  // Short, and not to be left half done.
  context.onSignal(() => undefined)
  return withHistory(place, 'write', async (history) => {
    const before = new Set(history.snapshots().flatMap((one) => Object.keys(one.trackedFileBackups)))
    const problems = await problemsWith(place, asked, before)
    for (const error of problems) context.warn(`${reportError(error).line}\n`)
    if (problems.length > 0) return 125
    const messageId = `snapshot-${randomUUID().slice(0, 8)}`
    const { trackedFileBackups } = await history.makeSnapshot(messageId)
    const tracked = Object.keys(trackedFileBackups).map((key) => pathOfKey(place.root, key).path)
    for (const path of tracked) await track(history, path, messageId).catch(ignoreGone)
    for (const path of asked) await track(history, path, messageId)
    const value = history.snapshots().findLast((snapshot) => snapshot.messageId === messageId)
    if (Object.keys(value?.trackedFileBackups ?? {}).length === 0)
      context.warn('file-history: no file is recorded yet; file-history snapshot PATH… names some\n')
    return { value, text: lines(snapshotLines(value === undefined ? [] : [value])) }
  })
}

async function problemsWith(
  place: Place,
  paths: readonly string[],
  tracked: ReadonlySet<string>,
): Promise<Error[]> {
  const problems: Error[] = []
  for (const path of paths) {
    await checkRecordable(place, path, tracked).catch((error: unknown) => {
      if (!isLociError(error)) throw error
      problems.push(error)
    })
  }
  return problems
}

/** @throws {LociError} PATH_LINK, PATH_INVALID where the history refuses a path, or we do */
async function checkRecordable(
  { root, dir }: Place,
  given: string,
  tracked: ReadonlySet<string>,
): Promise<void> {
  const { key, path } = await resolveTrackedPath(root, given)
  const refused = (what: string, code = 'PATH_INVALID'): LociError =>
    new LociError(code, `${JSON.stringify(path)} ${what}`, { details: { path } })
  if (key.split(sep).some((part) => part.toLowerCase() === '.git'))
    throw refused('is git’s own; git keeps it')
  if (isInside(ownFolder(await realDirectory(dir), root), path))
    throw refused('belongs to the file history itself')
  const stats = await statOf(path)
  if (stats?.isSymbolicLink() === true) {
    throw refused('is a symbolic link; give the file it leads to', 'PATH_LINK')
  }
  if (stats?.isDirectory() === true) throw refused('is a directory; give the files in it')
  if (stats !== undefined && !stats.isFile()) throw refused('is no regular file; only files are recorded')
  if (stats === undefined && !tracked.has(key)) throw refused('is not there, and was not recorded before')
}

async function track(history: FileHistory, path: string, messageId: string): Promise<void> {
  await history.trackEdit(path, messageId)
}

/** In the place of a tracked file stands something that is none: the snapshot has its last state. */
function ignoreGone(error: unknown): void {
  if (!isLociError(error, 'PATH_LINK', 'PATH_INVALID', 'FILE_TOO_LARGE')) throw error
}
