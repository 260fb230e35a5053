import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { LociError, fileErrno, files, orAbsent } from '@loci/disk'
import type { FileStats } from '@loci/disk'

/**
 * The file that a tool works on, as it was when permission for it was asked. Only `readText` and `changeFile` take one
 * to the disk, and they refuse when its path leads elsewhere by then.
 */
export interface FileTarget {
  /** As the model gave it, absolute; `..` is taken from the text, before links are followed. */
  asked: string
  /** Where the bytes are: links on the way, and the last one, are followed. */
  path: string
  /** As people would name it, on one line: relative inside the project. */
  name: string
  /** What stands there; `null`: nothing. */
  found: Found | null
}

/** What stands under a name. */
export type Found = FoundFile | { kind: 'directory' | 'link' | 'special' }

export interface FoundFile {
  kind: 'file'
  /** The same as long as it is this file, whatever it holds. */
  identity: string
  /** The same as long as nobody writes to it. */
  stamp: string
}

/**
 * The file that a path of the model means. A link is followed, so that what is tracked, asked about and written is
 * the file itself.
 *
 * @throws {LociError} PATH_LINK for a link that leads nowhere; PATH_INVALID for what can be no file's path; DISK_IO
 */
export async function fileTarget(root: string, filePath: string): Promise<FileTarget> {
  if (/(?:^|\/)\.{0,2}$/.test(filePath)) throw invalid(filePath, 'names a directory; give the path of a file')
  if (/^~(?:\/|$)/.test(filePath)) throw invalid(filePath, 'begins with "~"; give an absolute path')
  const asked = resolve(root, filePath)
  const path = await followLinks(asked)
  return { asked, path, name: nameOf(root, path), found: await findAt(path) }
}

/** The name of an absolute path for people and the model, on one line. Pure. */
export function nameOf(root: string, path: string): string {
  const name = isInside(root, path) ? relative(root, path) || '.' : path
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name
}

/**
 * What stands under the path of `target` now.
 *
 * @throws {LociError} PATH_CHANGED when the path leads elsewhere by now; as `fileTarget`
 */
export async function lookAgain(target: FileTarget): Promise<Found | null> {
  const path = await followLinks(target.asked)
  if (path !== target.path) throw targetChanged(target, `leads to ${JSON.stringify(path)} now`)
  return findAt(path)
}

/** What to throw when a file is not as it was. */
export function targetChanged({ path, name }: FileTarget, what: string): LociError {
  return new LociError('PATH_CHANGED', `${name} ${what}. Nothing was done`, { details: { path } })
}

/** What stands under `path`; a link is not followed. `null`: nothing. */
async function findAt(path: string): Promise<Found | null> {
  const stats = await orAbsent(files.lstat(path))
  if (stats === undefined) return null
  if (stats.isFile()) return foundFile(stats)
  if (stats.isDirectory()) return { kind: 'directory' }
  return { kind: stats.isSymbolicLink() ? 'link' : 'special' }
}

/** Of a regular file. Without its change time: a backup may be a second name of it. Pure. */
export function foundFile({ dev, ino, size, mtimeNs }: FileStats): FoundFile {
  const identity = `${dev}:${ino}`
  return { kind: 'file', identity, stamp: `${identity}:${size}:${mtimeNs}` }
}

const NO_PATH: Readonly<Record<string, string>> = {
  ELOOP: 'leads in a circle of links; remove one of them',
  ENAMETOOLONG: 'is too long a path; choose a shorter one',
  ENOTDIR: 'leads through something that is no directory',
}

/**
 * The path without links, of something that need not exist.
 *
 * @throws {LociError} PATH_LINK for a link that leads nowhere; PATH_INVALID for a circle of links or a way through a
 * file; DISK_IO
 */
export async function followLinks(path: string): Promise<string> {
  try {
    const real = await orAbsent(files.realpath(path))
    if (real !== undefined) return real
    const stats = await orAbsent(files.lstat(path))
    if (stats?.isSymbolicLink() === true) {
      const message = `${JSON.stringify(path)} is a link that leads nowhere; remove it first`
      throw new LociError('PATH_LINK', message, { details: { path } })
    }
  } catch (error) {
    const what = NO_PATH[fileErrno(error) ?? '']
    if (what === undefined) throw error
    throw invalid(path, what)
  }
  const parent = dirname(path)
  return parent === path ? path : join(await followLinks(parent), basename(path))
}

function invalid(path: string, what: string): LociError {
  return new LociError('PATH_INVALID', `${JSON.stringify(path)} ${what}`, { details: { path } })
}

/** Whether `path` is `directory` or below it. Both absolute; pure. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
