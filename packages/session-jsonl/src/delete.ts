import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { withLease } from './append-log.ts'
import { notFound } from './read-transcript.ts'
import type { SessionAddress } from './rename.ts'
import { sessionPath, sideDirectory } from './session-path.ts'

/**
 * Deletes a session for good: its side files (subagents, tool results, scratchpad), then its transcript. Never one that
 * is open for writing. Cut off in between, the session is still listed, and deleting it again ends it.
 *
 * Nothing is ever deleted but by this call, and nothing by age.
 *
 * @returns every file that is gone, absolute paths, sorted
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_LOCKED while somebody has it open; DISK_IO
 */
export async function deleteSession(options: SessionAddress): Promise<{ removed: string[] }> {
  const { projectDir, sessionId } = options
  const path = sessionPath(projectDir, sessionId)
  if ((await orAbsent(files.lstat(path))) === undefined) throw notFound(path)
  return withLease(path, sessionId, async () => {
    const side = sideDirectory(projectDir, sessionId)
    const removed = [...(await filesBelow(side)), path]
    await files.removeTree(side)
    await files.unlink(path)
    return { removed: removed.toSorted() }
  })
}

/** Every file below a directory; of what is no directory only itself. Links are not followed. */
async function filesBelow(directory: string): Promise<string[]> {
  const stats = await orAbsent(files.lstat(directory))
  if (stats === undefined) return []
  if (!stats.isDirectory()) return [directory]
  const found: string[] = []
  for (const { name } of await files.readdir(directory))
    found.push(...(await filesBelow(join(directory, name))))
  return found
}
