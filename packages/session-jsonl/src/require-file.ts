import { files, LociError } from '@loci/disk'

/**
 * Passes what leads to a file. To open anything else can take for ever: a FIFO waits for somebody who writes to it.
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} DISK_IO when there is no file, with `details.errno` ENOENT, or something that is none
 */
export async function requireFile(path: unknown): Promise<void> {
  if (typeof path !== 'string') throw new TypeError('path must be a string')
  checkFile(path, await files.stat(path))
}

/** {@link requireFile} of what is known of `path` already. */
export function checkFile(
  path: string,
  stat: { isFile(): boolean; isDirectory(): boolean; isFIFO(): boolean },
): void {
  if (stat.isFile()) return
  const what = stat.isDirectory() ? 'a directory' : stat.isFIFO() ? 'a FIFO' : 'a device or socket'
  const message = `${JSON.stringify(path)} is ${what} and no transcript; move it away or give a file`
  throw new LociError('DISK_IO', message, { details: { path, operation: 'open' } })
}
