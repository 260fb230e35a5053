import { dirname, join, relative, sep } from 'node:path'
import { files, LociError, orAbsent, resolveInside } from '@loci/disk'
import { sideDirectory } from './session-path.ts'
import type { SessionKey } from './store.ts'
import { checkKey, isSubpath } from './store-key.ts'

/** Where a key lies below the directory of a store. */
export interface StoredPath {
  /** The session's own transcript, whether it is there or not. */
  main: string
  /** The transcript of the key. */
  path: string
}

/**
 * Where a key lies; no component is a link.
 *
 * @param key one that `checkKey` passed
 * @throws {LociError} PATH_LINK; PATH_INVALID when something that is no folder is in the way, or the file system takes
 * the key's names for those of another key; DISK_IO, with errno ENOENT when there is no `projectsDir`
 */
export async function storedPath(projectsDir: string, key: SessionKey): Promise<StoredPath> {
  const { projectKey, sessionId, subpath } = key
  const main = await resolveInside(projectsDir, join(projectKey, `${sessionId}.jsonl`))
  const below = join(projectKey, sessionId, `${subpath}.jsonl`)
  const path = subpath === undefined ? main : await resolveInside(projectsDir, below)
  await checkSpelling(main)
  await checkSpelling(path)
  return { main, path }
}

/** A file system that ignores case, or how a name is composed, would give one key the file of another. */
async function checkSpelling(path: string): Promise<void> {
  const real = await orAbsent(files.realpath(path))
  if (real === path) return
  if (real === undefined) return checkSpelling(dirname(path))
  const message = `${JSON.stringify(path)} is ${JSON.stringify(real)} to this file system; choose a key that differs in more than case`
  throw new LociError('PATH_INVALID', message, { details: { path, real } })
}

/** The sessions that a project's folder holds, none if there is no folder. `mtime` is in whole milliseconds. */
export async function storedSessions(
  projectsDir: string,
  projectKey: string,
): Promise<{ sessionId: string; mtime: number; path: string }[]> {
  const folder = await orAbsent(resolveInside(projectsDir, projectKey))
  if (folder === undefined) return []
  const found: { sessionId: string; mtime: number; path: string }[] = []
  for (const entry of (await orAbsent(files.readdir(folder))) ?? []) {
    const sessionId = entry.name.replace(/\.jsonl$/, '')
    if (!entry.isFile() || sessionId === entry.name || !isKey({ projectKey, sessionId })) continue
    const path = join(folder, entry.name)
    const stat = await orAbsent(files.lstat(path))
    if (stat && stat.size > 0n) found.push({ sessionId, mtime: Number(stat.mtimeNs / 1_000_000n), path })
  }
  return found
}

/** The subpaths that a session has, sorted; links are not followed. */
export async function storedSubpaths(projectsDir: string, key: SessionKey): Promise<string[]> {
  const located = await orAbsent(storedPath(projectsDir, key))
  if (located === undefined) return []
  const side = sideDirectory(dirname(located.main), key.sessionId)
  // Asked of the path itself, which may be a link.
  if ((await orAbsent(files.lstat(side)))?.isDirectory() !== true) return []
  const found = await transcriptsBelow(side)
  const subpaths = found.map((path) =>
    relative(side, path)
      .replace(/\.jsonl$/, '')
      .split(sep)
      .join('/'),
  )
  return subpaths.filter((subpath) => isSubpath(subpath)).toSorted()
}

/** The files below a directory whose name ends in `.jsonl`; none if it is not there. Links are not followed. */
export async function transcriptsBelow(directory: string): Promise<string[]> {
  const found: string[] = []
  for (const entry of (await orAbsent(files.readdir(directory))) ?? []) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) found.push(...(await transcriptsBelow(path)))
    else if (entry.isFile() && entry.name.endsWith('.jsonl')) found.push(path)
  }
  return found
}

function isKey(key: SessionKey): boolean {
  try {
    checkKey(key)
    return true
  } catch {
    return false
  }
}
