import { EntrypointScan } from './entrypoint-scan.ts'
import { withRegular } from './read-regular.ts'
import type { EntrypointTruncation } from './truncate.ts'

const WINDOW_BYTES = 64 * 1024

/**
 * What {@link truncateEntrypointContent} says of the text of a file, without holding the file in memory; `undefined` if
 * it is not there. However large it is, only what is passed on is decoded.
 *
 * @throws {LociError} PATH_LINK when it is a link; MEMORY_INVALID when it is no regular file; DISK_IO
 */
export function readEntrypoint(path: string): Promise<EntrypointTruncation | undefined> {
  return withRegular(path, async (file, { size }) => {
    const scan = new EntrypointScan()
    const window = Buffer.alloc(Math.min(WINDOW_BYTES, Number(size)))
    for (let at = 0; at < Number(size);) {
      const length = await file.readFull(window, at)
      if (length === 0) break
      // It may have grown since; what was not there when it was opened does not count.
      scan.push(window.subarray(0, Math.min(length, Number(size) - at)))
      at += length
    }
    return scan.end()
  })
}
