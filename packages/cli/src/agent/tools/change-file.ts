import { dirname } from 'node:path'
import { LociError, errorMessage, files, isLociError, writeFileAtomic } from '@loci/disk'
import { lookAgain, targetChanged } from './file-target.ts'
import type { FileTarget } from './file-target.ts'
import type { ToolCall, ToolContext } from './tool.ts'

/** What is to be written where, and over what. */
export interface FileWriting {
  target: FileTarget
  text: string
  /** Stamp of the state that is replaced; `null`: there is no such file yet. */
  over: string | null
}

/**
 * Writes a file that belongs to people: what it held is backed up before, and how it was left is recorded after. The
 * file is replaced in one step and keeps its permission bits. It is a new file under the old name: another hard link
 * to the old one goes on holding the old bytes. If the backup fails, or if the file is not as it was seen, nothing is
 * written.
 *
 * @throws {LociError} PATH_CHANGED when its path leads elsewhere by now, or somebody else changed it, also since the
 * model saw it; as `trackEdit`;
 * DISK_FULL, DISK_IO
 */
export async function changeFile(
  { target, text, over }: FileWriting,
  { history, seen }: ToolContext,
  { messageId }: ToolCall,
): Promise<void> {
  const { path, name } = target
  const known = seen.get(path)
  if (over !== null && known !== undefined && known !== over)
    throw targetChanged(target, 'was changed since you read it; read it again')
  await confirm(target, over)
  await history?.trackEdit(path, messageId)
  await files.mkdir(dirname(path))
  // Once more, as late as can be: the backup of a large file takes its time.
  await confirm(target, over)
  if (!(await writeFileAtomic(path, text, { ifAbsent: over === null })))
    throw targetChanged(target, 'was made in the meantime; read it first')
  const written = await lookAgain(target).catch(() => null)
  if (written?.kind === 'file') seen.set(path, written.stamp)
  else seen.delete(path)
  try {
    await history?.recordEdit(path, messageId)
  } catch (error) {
    if (!isLociError(error)) throw error
    const message = `${name} was written, but that could not be recorded, so that a rewind will take it for changed by somebody else: ${errorMessage(error)}`
    throw new LociError(error.code, message, { details: error.details, cause: error })
  }
}

async function confirm(target: FileTarget, over: string | null): Promise<void> {
  const now = await lookAgain(target)
  if (now === null ? over !== null : now.kind !== 'file' || now.stamp !== over)
    throw targetChanged(target, 'was changed in the meantime; read it again')
}
