import { join } from 'node:path'
import { fileErrno, files, isScratchName, orAbsent } from '@loci/disk'
import { withLease } from './append-log.ts'
import { notFound } from './read-transcript.ts'
import type { SessionAddress } from './rename.ts'
import { inTurn, SCRATCH_WAIT_MS, takeScratchLease } from './scratch-lease.ts'
import { SCRATCHPAD } from './scratch-path.ts'
import { sessionPath, sideDirectory } from './session-path.ts'

/**
 * Deletes a session for good: its side files (subagents, tool results, scratchpad), then its transcript. Never one that
 * is open for writing. A change of its scratchpad that is going on is waited for; one that comes later is refused with
 * SESSION_NOT_FOUND.
 *
 * Cut off in between, the session is still listed, or nothing is left of it but its folder; deleting it again ends it. So
 * does deleting an id of which only a folder is there, as a crash during a fork leaves it.
 *
 * Nothing is ever deleted but by this call, and nothing by age.
 *
 * @param options.waitMs how long to wait for other processes that change the scratchpad; default 10,000
 * @returns every file that is gone, absolute paths, sorted; locks and scratch are not among them
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_LOCKED while somebody has it open, or keeps its scratchpad; DISK_FULL,
 * DISK_IO
 */
export async function deleteSession(
  options: SessionAddress & { waitMs?: number },
): Promise<{ removed: string[] }> {
  const { projectDir, sessionId, waitMs = SCRATCH_WAIT_MS } = options
  const path = sessionPath(projectDir, sessionId)
  const side = sideDirectory(projectDir, sessionId)
  if (!(await isThere(path)) && !(await isThere(side))) throw notFound(path)
  return withLease(path, sessionId, async () => {
    const removed = await inTurn(join(side, SCRATCHPAD), () =>
      removeUnderLease({ path, side, sessionId, waitMs }),
    )
    return { removed: [...removed, ...(await removeFolder(side))].toSorted() }
  })
}

/** With the scratchpad's lease until the transcript is gone: who waits for it looks for that again. */
async function removeUnderLease(session: {
  path: string
  side: string
  sessionId: string
  waitMs: number
}): Promise<string[]> {
  const { path, side, sessionId, waitMs } = session
  const stats = await orAbsent(files.lstat(side))
  // A link, which is followed by nobody, or a file: nothing to be written to.
  const removed = stats === undefined || stats.isDirectory() ? [] : await removeAll(side)
  await files.mkdir(side, 0o755)
  const lease = await takeScratchLease(join(side, SCRATCHPAD), sessionId, waitMs)
  try {
    removed.push(...(await removeContents(side)))
    if ((await orAbsent(files.unlink(path).then(() => true))) === true) removed.push(path)
    return removed
  } finally {
    // It goes with the folder; one that cannot be given back is free for this process.
    await lease.release().catch(() => undefined)
  }
}

/** So often somebody who waited for the lease may take it after the transcript has gone, to find that out. */
const LATE_COMERS = 20

async function removeFolder(side: string): Promise<string[]> {
  const removed: string[] = []
  for (let tries = 1; ; tries += 1) {
    removed.push(...((await orAbsent(removeContents(side))) ?? []))
    try {
      await files.removeTree(side)
      return removed
    } catch (error) {
      if (fileErrno(error) !== 'ENOTEMPTY' || tries === LATE_COMERS) throw error
    }
  }
}

/** Removes what a folder holds, but locks and scratch, which somebody may be making. */
async function removeContents(directory: string): Promise<string[]> {
  const removed: string[] = []
  for (const { name } of await files.readdir(directory))
    if (!isScratchName(name)) removed.push(...(await removeAll(join(directory, name))))
  return removed
}

async function removeAll(path: string): Promise<string[]> {
  const found = await filesBelow(path)
  await files.removeTree(path)
  return found
}

async function isThere(path: string): Promise<boolean> {
  return (await orAbsent(files.lstat(path))) !== undefined
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
