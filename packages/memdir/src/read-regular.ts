import { files, LociError, OPEN_REGULAR, orAbsent } from '@loci/disk'
import type { FileStats, OpenFile } from '@loci/disk'

/** A regular file as it was read. */
export interface RegularFile {
  bytes: Buffer
  modifiedAtMs: number
}

/**
 * What `read` makes of a regular file that it is given open; `undefined` if nothing has that name. The one way in which
 * this package opens files to read: it looks before it opens and never waits, whatever has been put in the place of
 * the file.
 *
 * @throws {LociError} PATH_LINK when it is a link, a dangling one too; MEMORY_INVALID when it is a directory, FIFO,
 * socket or device; DISK_IO
 */
export async function withRegular<T>(
  path: string,
  read: (file: OpenFile, stats: FileStats) => Promise<T>,
): Promise<T | undefined> {
  const seen = await orAbsent(files.lstat(path))
  if (seen === undefined) return undefined
  // Opening a device can do things, so the look comes first; what is opened may be another, so it is looked at too.
  checkRegular(path, seen)
  const file = await orAbsent(files.open(path, OPEN_REGULAR))
  if (file === undefined) return undefined
  try {
    const stats = await file.stat()
    checkRegular(path, stats)
    return await read(file, stats)
  } finally {
    await file.close()
  }
}

/** What is longer is no text of a memory: taken apart into lines it could use up all that a process may have. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024

/** Of JSON that holds such a text: escaped, a byte can take six. */
export const MAX_JSON_BYTES: number = 8 * MAX_TEXT_BYTES

/**
 * The bytes of a regular file, as {@link withRegular} opens it.
 *
 * @throws {LociError} MEMORY_INVALID also when it has more than `maxBytes`
 */
export function readRegular(
  path: string,
  maxBytes: number = MAX_TEXT_BYTES,
): Promise<RegularFile | undefined> {
  return withRegular(path, async (file, stats) => {
    if (Number(stats.size) > maxBytes) throw tooLarge(path, Number(stats.size), maxBytes)
    const bytes = Buffer.alloc(Number(stats.size))
    const length = await file.readFull(bytes, 0)
    return { bytes: bytes.subarray(0, length), modifiedAtMs: Number(stats.mtimeMs) }
  })
}

function tooLarge(path: string, size: number, maxBytes: number): LociError {
  const message = `${JSON.stringify(path)} has ${size} bytes, and more than ${maxBytes} are not read; shorten it or move it away`
  return new LociError('MEMORY_INVALID', message, { details: { path } })
}

/** @throws {LociError} PATH_LINK, MEMORY_INVALID */
function checkRegular(path: string, stats: FileStats): void {
  if (stats.isFile()) return
  const details = { path }
  if (stats.isSymbolicLink()) {
    const message = `${JSON.stringify(path)} is a symbolic link; put the file itself in its place`
    throw new LociError('PATH_LINK', message, { details })
  }
  const what = stats.isDirectory() ? 'a directory' : 'not a regular file'
  throw new LociError('MEMORY_INVALID', `${JSON.stringify(path)} is ${what}; move it away`, { details })
}
