import { randomUUID } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { files, fileErrno, orAbsent } from './file-operations.ts'
import type { OpenFile } from './file-operations.ts'

/**
 * Replaces the contents of `path` in one step: readers, and a crash at any moment, see the old bytes or the
 * new ones, never a part. The name itself is replaced (a link is not followed) and keeps its permission bits
 * unless `mode` gives others. The parent directory must exist.
 *
 * @param options.mode permission bits of the result; default: those of the file replaced, else 0o644 less umask
 * @param options.ifAbsent write only if nothing has that name
 * @param options.durable flush data and directory to the disk before resolving; else a power cut may lose the write
 * @returns whether it wrote; `false` only with `ifAbsent`, when the name was taken
 * @throws {LociError} DISK_FULL, DISK_IO: the old bytes are still there; with `durable`, the new ones may be, unflushed
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
  const bytes = typeof data === 'string' ? Buffer.from(data) : data
  const write = (file: OpenFile): Promise<void> => file.writeAll(bytes)
  if (ifAbsent) return createFileAtomic(path, write, { ...(mode === undefined ? {} : { mode }), durable })
  await makeBeside(path, { mode, durable, publish: files.rename }, write)
  if (durable) await syncDirectory(dirname(path))
  return true
}

/**
 * Makes a new file that appears under its name with all that `write` puts into it, or not at all, also after a
 * crash. Of several that make it at once exactly one succeeds. The parent directory must exist.
 *
 * @param options.mode permission bits; default 0o644 less umask
 * @param options.durable flush data and directory to the disk before resolving
 * @returns whether it was made; `false` when the name was taken
 * @throws {LociError} DISK_FULL, DISK_IO, and what `write` throws: nothing has that name then
 */
export async function createFileAtomic(
  path: string,
  write: (file: OpenFile) => Promise<void>,
  options: { mode?: number; durable?: boolean } = {},
): Promise<boolean> {
  const { mode, durable = false } = options
  try {
    await makeBeside(path, { mode, durable, publish: publishNew }, write)
  } catch (error) {
    if (fileErrno(error) === 'EEXIST') return false
    throw error
  }
  if (durable) {
    await syncDirectory(dirname(path)).catch(async (error: unknown) => {
      await removeQuietly(path)
      throw error
    })
  }
  return true
}

/** Writes a file beside `path`, because a rename is atomic only within one file system, and publishes it. */
async function makeBeside(
  path: string,
  how: {
    mode: number | undefined
    durable: boolean
    publish: (temporary: string, path: string) => Promise<void>
  },
  write: (file: OpenFile) => Promise<void>,
): Promise<void> {
  const { mode, durable, publish } = how
  const temporary = temporaryName(path)
  try {
    const file = await files.open(temporary, 'wx', mode === undefined ? 0o644 : mode & 0o700)
    try {
      await write(file)
      if (mode !== undefined) await file.chmod(mode)
      if (durable) await file.datasync()
    } finally {
      await file.close()
    }
    await publish(temporary, path)
  } catch (error) {
    await removeQuietly(temporary)
    throw error
  }
}

/**
 * Gives the finished `temporary` the name `path`, which must be free, and removes it either way.
 * @throws {LociError} DISK_IO (`details.errno` is `'EEXIST'` if the name is taken), DISK_FULL
 */
export async function publishNew(temporary: string, path: string): Promise<void> {
  try {
    await files.link(temporary, path)
  } catch (error) {
    if (!cannotShare(error)) throw error
    await takeNameWithoutLink(temporary, path)
  } finally {
    await removeQuietly(temporary)
  }
}

/** Without hard links the name is taken empty and then replaced: exclusive too, but a crash between leaves it empty. */
async function takeNameWithoutLink(temporary: string, path: string): Promise<void> {
  await (await files.open(path, 'wx')).close()
  try {
    await files.rename(temporary, path)
  } catch (error) {
    await removeQuietly(path)
    throw error
  }
}

/** A name beside `path` for a file in the making; scratch, should a crash leave it behind. */
export function temporaryName(path: string): string {
  // 200 of the 255 bytes a name may have: the rest is for the marks around it.
  const name = Buffer.from(basename(path)).subarray(0, 200).toString('utf8').replaceAll('\uFFFD', '')
  return join(dirname(path), `.${name}.${randomUUID().slice(0, 8)}.tmp`)
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

/** Removes scratch. That it stays behind harms nobody, so a failure must not hide what came before it. */
export async function removeQuietly(path: string): Promise<void> {
  await files.unlink(path).catch(() => undefined)
}

/** Flushes a directory, so that names made in it survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await files.open(path, 'r')
  try {
    await directory.datasync()
  } finally {
    await directory.close()
  }
}
