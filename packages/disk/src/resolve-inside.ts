import { isAbsolute, join, sep } from 'node:path'
import { LociError } from './error.ts'
import { fileErrno, files, orAbsent } from './file-operations.ts'
import type { FileStats } from './file-operations.ts'

/**
 * The absolute path of `relative` below `root`, after a look at every component that exists: none may be a
 * symbolic link, dangling ones included, and none but the last may be something other than a directory.
 * `root` itself may be reached through links. Guards against links planted before the call, not during it.
 *
 * @throws {LociError} PATH_INVALID when `relative` is empty, absolute or holds a NUL; PATH_OUTSIDE when it
 * climbs out of `root`; PATH_LINK when a component is a link; DISK_IO
 */
export async function resolveInside(root: string, relative: string): Promise<string> {
  const segments = containedSegments(relative)
  let path = await files.realpath(root)
  for (const [index, segment] of segments.entries()) {
    path = join(path, segment)
    const stats = await lookAt(path)
    if (stats === undefined) return join(path, ...segments.slice(index + 1))
    if (stats.isSymbolicLink()) {
      throw new LociError(
        'PATH_LINK',
        `${JSON.stringify(path)} is a symbolic link; remove it or use its target`,
        {
          details: { path, root, relative },
        },
      )
    }
    if (index < segments.length - 1 && !stats.isDirectory()) {
      throw new LociError(
        'PATH_INVALID',
        `${JSON.stringify(path)} is not a directory; choose a path that does not lead through it`,
        {
          details: { path, root, relative },
        },
      )
    }
  }
  return path
}

function containedSegments(relative: string): string[] {
  if (relative === '' || relative.includes('\0') || isAbsolute(relative)) {
    throw new LociError(
      'PATH_INVALID',
      `${JSON.stringify(relative)} is not a relative path; give one below its directory`,
      {
        details: { relative },
      },
    )
  }
  const segments: string[] = []
  for (const segment of relative.split(sep === '\\' ? /[\\/]/ : '/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) {
      throw new LociError(
        'PATH_OUTSIDE',
        `${JSON.stringify(relative)} leads out of its directory; leave out the ".."`,
        {
          details: { relative },
        },
      )
    }
  }
  if (segments.length === 0) {
    throw new LociError(
      'PATH_INVALID',
      `${JSON.stringify(relative)} names no file below its directory; give a name`,
      {
        details: { relative },
      },
    )
  }
  return segments
}

async function lookAt(path: string): Promise<FileStats | undefined> {
  try {
    return await orAbsent(files.lstat(path))
  } catch (error) {
    if (fileErrno(error) !== 'ENAMETOOLONG') throw error
    throw new LociError('PATH_INVALID', `${JSON.stringify(path)} is too long a name; choose a shorter one`, {
      details: { path },
      cause: error,
    })
  }
}
