import { cannotShare, publishNew, removeQuietly, temporaryName } from './atomic-write.ts'
import { files } from './file-operations.ts'
import { filesNow } from './files-now.ts'

/**
 * Makes `to`, which must not exist, equal to the regular file `from` in bytes and permission bits.
 * With `link` both names share one inode where the file system allows it; never use that for a file somebody
 * may still write to. Otherwise blocks are shared (reflink) where possible, else copied.
 * The name `to` appears with all bytes or not at all, also after a crash; the parent must exist.
 *
 * @throws {LociError} DISK_IO (`details.errno` is `'EEXIST'` if `to` is taken), DISK_FULL
 */
export async function cloneFile(
  from: string,
  to: string,
  options: { link?: boolean } = {},
): Promise<'linked' | 'cloned' | 'copied'> {
  if (options.link === true) {
    try {
      filesNow.link(from, to)
      return 'linked'
    } catch (error) {
      if (!cannotShare(error)) throw error
    }
  }
  // Under a temporary name first: a copy cut short by a crash must not stand under the final one.
  const temporary = temporaryName(to)
  try {
    const how = await copy(from, temporary)
    await publishNew(temporary, to)
    return how
  } catch (error) {
    await removeQuietly(temporary)
    throw error
  }
}

async function copy(from: string, to: string): Promise<'cloned' | 'copied'> {
  try {
    await files.copyFile(from, to, 'reflink')
    return 'cloned'
  } catch (error) {
    if (!cannotShare(error)) throw error
  }
  await removeQuietly(to)
  await files.copyFile(from, to, 'bytes')
  return 'copied'
}
