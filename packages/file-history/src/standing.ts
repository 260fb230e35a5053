import { basename, dirname, join } from 'node:path'
import { filesNow, isLociError } from '@loci/disk'
import { statNow } from './compare.ts'
import { pace } from './in-parallel.ts'
import { realDirectory } from './track-path.ts'

/** Why a file cannot be written. */
export const BLOCKED = 'a file stands where its directory has to be'

/**
 * Real path of the directory of a tracked file. Where a file stands now in the place of a directory above it, what
 * the path would be without that file.
 *
 * @throws {LociError} PATH_INVALID when it leads in a circle; DISK_IO
 */
export async function directoryOf(path: string): Promise<string> {
  try {
    return realNow(path) ?? (await realDirectory(path))
  } catch (error) {
    if (!isLociError(error, 'PATH_INVALID') || dirname(path) === path) throw error
    return join(await directoryOf(dirname(path)), basename(path))
  }
}

/** Where nothing is missing, without waiting. */
function realNow(path: string): string | undefined {
  pace.spend(1)
  try {
    return filesNow.realpath(path)
  } catch {
    return undefined
  }
}

/** Why a file is left alone. */
export const BEHIND_LINK = 'its directory is reached through a link now'

/** Whether the directory of `path`, which was a real path when it was recorded, is reached through a link now. */
export async function isBehindLink(path: string): Promise<boolean> {
  return (await directoryOf(dirname(path))) !== dirname(path)
}

/** What stands where a directory above `path` has to be, and is none; `undefined`: nothing does. */
export function findBlocker(path: string): string | undefined {
  for (let parent = dirname(path); ; parent = dirname(parent)) {
    const stats = statNow(parent)
    if (stats !== undefined) return stats.isDirectory() ? undefined : parent
    if (parent === dirname(parent)) return undefined
  }
}
