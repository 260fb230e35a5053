import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { LociError, files, orAbsent } from '@loci/disk'

/** The file that a tool works on. */
export interface FileTarget {
  /** Where the bytes are: links on the way, and the last one, are followed. */
  path: string
  /** As people would name it: relative inside the project. */
  name: string
}

/**
 * The file that a path of the model means. A link is followed, so that what is tracked, asked about and written is
 * the file itself.
 *
 * @throws {LociError} PATH_LINK for a link that leads nowhere; DISK_IO
 */
export async function fileTarget(root: string, filePath: string): Promise<FileTarget> {
  const path = await followLinks(resolve(root, filePath))
  return { path, name: isInside(root, path) ? relative(root, path) : path }
}

async function followLinks(path: string): Promise<string> {
  const real = await orAbsent(files.realpath(path))
  if (real !== undefined) return real
  if ((await orAbsent(files.lstat(path))) !== undefined) {
    throw new LociError(
      'PATH_LINK',
      `${JSON.stringify(path)} is a link that leads nowhere; remove it first`,
      {
        details: { path },
      },
    )
  }
  const parent = dirname(path)
  return parent === path ? path : join(await followLinks(parent), basename(path))
}

/** Whether `path` is `directory` or below it. Both absolute; pure. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
