import type { OpenFile } from './file-operations.ts'

const NEWLINE = 0x0a

/**
 * Appends whole records (lines that end in `\n`) to a file opened with flags `'a+'`.
 * One write call; a short write is completed. A file that does not end in `\n`, as a crash leaves it,
 * gets one first in the same call, so that a torn line never swallows the record after it.
 * Several processes may append to one file: a write in append mode lands after all bytes written before it.
 * Blank lines can then stand between records (a writer that looks during another's write takes it for torn).
 *
 * What survives a crash: every record whose call resolved (handed to the operating system; flush with
 * `file.datasync()` for a power cut), and of the one being written a beginning at most.
 *
 * @throws {LociError} DISK_FULL, DISK_IO; part of `bytes` may then stand at the end of the file, and the next
 * call fences it off with a newline
 */
export async function appendRecords(file: OpenFile, bytes: Uint8Array): Promise<void> {
  if (bytes.length === 0) return
  const { size } = await file.stat()
  const last = new Uint8Array(1)
  const torn = size > 0n && (await file.read(last, Number(size - 1n))) === 1 && last[0] !== NEWLINE
  await file.writeAll(torn ? Buffer.concat([Uint8Array.of(NEWLINE), bytes]) : bytes)
}
