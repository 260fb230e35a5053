import { LociError } from '@loci/disk'
import { kindOf } from './compare.ts'
import { statOf } from './track-path.ts'

/**
 * Only a regular file, or nothing, can be tracked.
 *
 * @throws {LociError} PATH_LINK, PATH_INVALID when something else is there
 */
export async function requireFile(path: string): Promise<void> {
  const stats = await statOf(path)
  if (stats === undefined || stats.isFile()) return
  const kind = kindOf(stats)
  const name = JSON.stringify(path)
  if (kind === 'link') {
    throw new LociError('PATH_LINK', `${name} is a symbolic link; track the file it leads to`, {
      details: { path },
    })
  }
  throw new LociError('PATH_INVALID', `${name} is a ${kind}, not a regular file; only files are tracked`, {
    details: { path },
  })
}
