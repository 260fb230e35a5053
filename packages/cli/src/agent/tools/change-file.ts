import { dirname } from 'node:path'
import { files, writeFileAtomic } from '@loci/disk'
import type { FileTarget } from './file-target.ts'
import type { ToolCall, ToolContext } from './tool.ts'

/**
 * Writes a file that belongs to people: what it held is backed up before, and how it was left is recorded after. The
 * file is replaced in one step and keeps its mode. If the backup fails, nothing is written.
 *
 * @throws {LociError} as `trackEdit`; DISK_FULL, DISK_IO
 */
export async function changeFile(
  { path }: FileTarget,
  text: string,
  { history }: ToolContext,
  { messageId }: ToolCall,
): Promise<void> {
  await history?.trackEdit(path, messageId)
  await files.mkdir(dirname(path))
  await writeFileAtomic(path, text)
  await history?.recordEdit(path, messageId)
}
