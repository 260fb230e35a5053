import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { files, fileErrno, orAbsent } from './file-operations.ts'

/**
 * Replaces the contents of `path` in one step: readers, and a crash at any moment, see the old bytes or the
 * new ones, never a part. The name itself is replaced (a link is not followed) and keeps its permission bits
 * unless `mode` gives others. The parent directory must exist.
 *
 * @param options.mode permission bits of the result; default: those of the file replaced, else 0o644 less umask
 * @param options.ifAbsent write only if nothing has that name
 * @param options.durable flush data and directory to the disk before resolving; else a power cut may lose the write
 * @returns whether it wrote; `false` only with `ifAbsent`, when the name was taken
 * @throws {LociError} DISK_FULL, DISK_IO: the old bytes are still there
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  options: { mode?: number; ifAbsent?: boolean; durable?: boolean } = {},
): Promise<boolean> {
  const { ifAbsent = false, durable = false } = options
  const existing = await orAbsent(files.lstat(path))
  if (ifAbsent && existing) return false
  const mode = options.mode ?? (existing?.isFile() ? Number(existing.mode & 0o7777n) : undefined)
  // Beside the target, because a rename is atomic only within one file system.
  const temporary = temporaryName(path)
  try {
    const file = await files.open(temporary, 'wx', mode === undefined ? 0o644 : mode & 0o700)
    try {
      await file.writeAll(typeof data === 'string' ? Buffer.from(data) : data)
      if (mode !== undefined) await file.chmod(mode)
      if (durable) await file.datasync()
    } finally {
      await file.close()
    }
    if (!ifAbsent) await files.rename(temporary, path)
    else if (!(await linkExclusive(temporary, path))) return false
  } catch (error) {
    await removeQuietly(temporary)
    throw error
  }
  if (durable) await syncDirectory(dirname(path))
  return true
}

/** A name beside `path` for a file in the making; scratch, should a crash leave it behind. */
export function temporaryName(path: string): string {
  // 200 of the 255 bytes a name may have: the rest is for the marks around it.
  const name = Buffer.from(basename(path)).subarray(0, 200).toString('utf8').replaceAll('\uFFFD', '')
  return join(dirname(path), `.${name}.${randomUUID().slice(0, 8)}.tmp`)
}

/** Gives the finished `temporary` the name `path` if it is free, and removes it either way. */
export async function linkExclusive(temporary: string, path: string): Promise<boolean> {
  try {
    await files.link(temporary, path).catch((error: unknown) => {
      if (!cannotShare(error)) throw error
      return takeNameWithoutLink(temporary, path)
    })
  } catch (error) {
    await removeQuietly(temporary)
    if (fileErrno(error) === 'EEXIST') return false
    throw error
  }
  await removeQuietly(temporary)
  return true
}

/** File systems that cannot link or share blocks, or not between these two places, say so with one of these. */
const CANNOT_SHARE = new Set([
  'EXDEV',
  'EPERM',
  'EMLINK',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EINVAL',
  'ENOTTY',
])

/** Whether a failed link or reflink says that this way is not open here, so that another may be tried. */
export function cannotShare(error: unknown): boolean {
  return CANNOT_SHARE.has(fileErrno(error) ?? '')
}

/** Without hard links the name is taken empty and then replaced: exclusive too, but a crash between leaves it empty. */
async function takeNameWithoutLink(temporary: string, path: string): Promise<void> {
  await (await files.open(path, 'wx')).close()
  await files.rename(temporary, path)
}

/** Removes scratch. That it stays behind harms nobody, so a failure must not hide what came before it. */
export async function removeQuietly(path: string): Promise<void> {
  await files.unlink(path).catch(() => undefined)
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await files.open(path, 'r')
  try {
    await directory.datasync()
  } finally {
    await directory.close()
  }
}
