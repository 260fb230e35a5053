import type { OpenFile } from './file-operations.ts'
import type { FileNow } from './files-now.ts'

const NEWLINE = 0x0a

/** How much is written without waiting for another thread, which would take longer than the writing. */
const AT_ONCE_BYTES = 64 * 1024

/** What is known of a file that is appended to. */
export interface AppendedTo {
  /** Its size, as it was just asked for. */
  sizeBytes: bigint
  /** Whether it is known to end with a newline, or to be empty, at that size. */
  isFinished: boolean
}

/**
 * Appends whole records (lines that end in `\n`) to a file opened with flags `'a+'`.
 * One write call; a short write is completed. A file that does not end in `\n`, as a crash leaves it,
 * gets one first in the same call, so that a torn line never swallows the record after it.
 * Several processes may append to one file: a write in append mode lands after all bytes written before it.
 * Blank lines can then stand between records (a writer that looks during another's write takes it for torn).
 *
 * Up to 64 KiB are written at once (`writeAllNow`): nothing else of this process runs until the system has taken them,
 * however long that takes. More is written on another thread. A flush is never waited for so.
 *
 * What survives a crash: every record whose call resolved (handed to the operating system; flush with
 * `file.datasync()` for a power cut), and of the one being written a beginning at most.
 *
 * @param known saves asking the file again
 * @returns where the file ends now, if nobody else appended meanwhile
 * @throws {LociError} DISK_FULL, DISK_IO; part of `bytes` may then stand at the end of the file, and the next
 * call fences it off with a newline
 */
export async function appendRecords(file: OpenFile, bytes: Uint8Array, known?: AppendedTo): Promise<bigint> {
  const sizeBytes = known?.sizeBytes ?? (await file.stat()).size
  if (bytes.length === 0) return sizeBytes
  const isTorn = known?.isFinished !== true && sizeBytes > 0n && !(await endsLine(file, sizeBytes))
  const all = isTorn ? Buffer.concat([Uint8Array.of(NEWLINE), bytes]) : bytes
  if (all.length <= AT_ONCE_BYTES) file.writeAllNow(all)
  else await file.writeAll(all)
  return sizeBytes + BigInt(all.length)
}

/**
 * {@link appendRecords} without waiting, for up to 256 KiB and a file opened with `OPEN_APPEND`: opening, looking and
 * closing on another thread would take longer than all of it.
 *
 * @param sizeBytes of the file, if it was just asked for
 */
export function appendRecordsNow(
  file: FileNow,
  bytes: Uint8Array,
  sizeBytes: number = file.stat().size,
): void {
  if (bytes.length === 0) return
  const last = new Uint8Array(1)
  const isTorn = sizeBytes > 0 && file.readFull(last, sizeBytes - 1) > 0 && last[0] !== NEWLINE
  file.writeAll(isTorn ? Buffer.concat([Uint8Array.of(NEWLINE), bytes]) : bytes)
}

async function endsLine(file: OpenFile, sizeBytes: bigint): Promise<boolean> {
  const last = new Uint8Array(1)
  // What is not there any more cannot be torn.
  return (await file.read(last, Number(sizeBytes - 1n))) === 0 || last[0] === NEWLINE
}
