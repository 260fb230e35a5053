import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { fileErrno, filesNow, isAbsent, LociError } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { pace } from './in-parallel.ts'

/** A file as the history names it. */
export interface TrackedPath {
  /** Relative to the root when inside it, else absolute. */
  key: string
  /** Absolute; the directory is a real path. */
  path: string
  /** Real path of the directory, which may not exist yet. */
  parent: string
}

const NOT_UTF8 = /\p{Surrogate}/u
const NO_PATH = new Set(['ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])

/**
 * The one name of the file that `path` means: real path of its directory, then its own name, so that every
 * spelling is one entry. A relative path is taken from `root`. Nothing needs to exist.
 *
 * @throws {LociError} PATH_INVALID for an empty path, NUL, a name that is not UTF-8, a directory's own name (`..`,
 * `/`, the root), a parent that is a file
 */
export async function resolveTrackedPath(root: string, path: string): Promise<TrackedPath> {
  if (typeof path !== 'string') throw new TypeError('path must be a string')
  if (path === '' || path.includes('\0')) throw invalid(path, 'is not a path')
  if (NOT_UTF8.test(path)) throw invalid(path, 'is not a UTF-8 name and cannot be recorded')
  // Not normalised: `link/..` is the parent of the link's target, as the system sees it.
  const whole = (isAbsolute(path) ? path : `${root}${sep}${path}`).replace(/\/+$/, '')
  const slash = whole.lastIndexOf(sep)
  const name = whole.slice(slash + 1)
  if (name === '' || name === '.' || name === '..') throw invalid(path, 'names a directory, not a file')
  const parent = await realDirectory(whole.slice(0, slash) || sep)
  const absolute = join(parent, name)
  const key = keyOf(root, absolute)
  if (key === '') throw invalid(path, 'is the root itself, not a file')
  return { key, path: absolute, parent }
}

/**
 * Real path of a directory of which the last parts may not exist.
 *
 * @throws {LociError} PATH_INVALID when a part is not a directory or leads in a circle
 */
export async function realDirectory(path: string): Promise<string> {
  while (pace.turn) await pace.turn
  const whole = realNow(path, path)
  if (whole !== undefined) return whole
  let real: string = sep
  for (const part of path.split(sep)) {
    if (part === '' || part === '.') continue
    if (part === '..') real = dirname(real)
    else real = realNow(path, join(real, part)) ?? join(real, part)
  }
  return real
}

/**
 * What stands under a name, not following a link; `undefined`: nothing.
 *
 * @throws {LociError} PATH_INVALID when a parent is not a directory, or the name is too long to exist
 */
export async function statOf(path: string): Promise<FileStats | undefined> {
  while (pace.turn) await pace.turn
  return lookNow(path, () => filesNow.lstat(path))
}

function realNow(path: string, part: string): string | undefined {
  return lookNow(path, () => filesNow.realpath(part))
}

/** Without waiting for another thread, which would take longer than the look; `undefined`: nothing is there. */
function lookNow<T>(path: string, look: () => T): T | undefined {
  pace.spend(1)
  try {
    return look()
  } catch (error) {
    if (isAbsent(error)) return undefined
    const errno = fileErrno(error) ?? ''
    if (!NO_PATH.has(errno)) throw error
    throw invalid(path, `leads nowhere (${errno})`)
  }
}

function invalid(path: string, what: string): LociError {
  return new LociError('PATH_INVALID', `${JSON.stringify(path)} ${what}; give the path of a file`, {
    details: { path },
  })
}

/** The key of an absolute path: relative to `root` when inside it. */
function keyOf(root: string, absolute: string): string {
  const inside = relative(root, absolute)
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? absolute : inside
}

/** The absolute path of a recorded key, and what is wrong with the key, if anything. Nothing is looked up. */
export function pathOfKey(root: string, key: string): { path: string; problem?: string } {
  const path = resolve(root, key)
  if (key === '' || key.includes('\0')) return { path, problem: 'its recorded path is no path' }
  if (key.split(sep).includes('..')) {
    return { path, problem: 'its recorded path climbs with "..", which no record of a tracked file does' }
  }
  if (path === root) return { path, problem: 'its recorded path is the root itself' }
  return { path }
}

/** Whether `path` is `folder` or lies below it. Both absolute and real. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

/**
 * What is never tracked, never walked and never written by a rewind: of a history in `<home>/file-history/<id>` all
 * of the config home, where transcripts and settings change while the agent works, unless the root itself lies in
 * it: then the histories only. Of any other, its own folder.
 */
export function ownFolder(dir: string, root: string): string {
  const folder = dirname(dir)
  if (basename(folder) !== 'file-history') return dir
  const home = dirname(folder)
  return isInside(home, root) ? folder : home
}
