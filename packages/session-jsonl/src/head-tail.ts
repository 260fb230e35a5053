import { filesNow, isAbsent, OPEN_PROMPTLY } from '@loci/disk'
import type { FileNow } from '@loci/disk'
import { notFound } from './read-transcript.ts'
import { checkFile } from './require-file.ts'

/** How much of each end of a transcript is read to list it, in bytes. */
export const LITE_READ_BUF_SIZE = 65_536

/** Both ends of a file as text. */
export interface HeadAndTail {
  /** The first {@link LITE_READ_BUF_SIZE} bytes. */
  head: string
  /** The last {@link LITE_READ_BUF_SIZE} bytes, but nothing that is in `head`. Empty for a file that `head` holds. */
  tail: string
  sizeBytes: number
  mtimeMs: number
}

/**
 * Reads both ends of a file, whatever its size. Both are cut between characters: one that the window would cut is in
 * neither, unless the tail goes on where the head ends.
 *
 * @param sizeBytes read the file as if it ended there; default: its size
 * @throws {LociError} SESSION_NOT_FOUND when there is no such file; DISK_IO
 */
export async function readHeadAndTail(path: string, sizeBytes?: number): Promise<HeadAndTail> {
  const read = lookAtEnds(path, { sizeBytes }, (ends): HeadAndTail => {
    const { head, tail } = ends.whole === undefined ? ends : partsOf(ends.whole)
    return {
      head: head.toString('utf8'),
      tail: tail.toString('utf8'),
      sizeBytes: ends.sizeBytes,
      mtimeMs: ends.mtimeMs,
    }
  })
  if (read === undefined) throw notFound(path)
  return read
}

/** Both ends of a file as bytes, which are good until the next file is looked at. Cut between characters. */
export type Ends = { sizeBytes: number; mtimeMs: number } & (
  | { /** The file, if the two windows hold all of it. */ whole: Buffer }
  | {
      whole: undefined
      head: Buffer
      tail: Buffer
      /** More of the head, from its beginning. */
      longerHead: (bytes: number) => Buffer
      /** More of the tail, up to its end. */
      longerTail: (bytes: number) => Buffer
    }
)

/** One for all files: fresh memory for each would cost more than reading them. */
let reused: Buffer | undefined

/**
 * Looks at both ends of a file, in one or two reads and without waiting; `undefined` when there is no such file.
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} DISK_IO, also when it is no file
 */
export function lookAtEnds<T>(
  path: string,
  options: { sizeBytes?: number | undefined },
  look: (ends: Ends) => T,
): T | undefined {
  if (typeof path !== 'string') throw new TypeError('path must be a string')
  try {
    return filesNow.look(path, OPEN_PROMPTLY, (file) => look(endsOf(path, file, options.sizeBytes)))
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

function endsOf(path: string, file: FileNow, atMost = Number.POSITIVE_INFINITY): Ends {
  const stat = file.stat()
  checkFile(path, stat)
  const sizeBytes = Math.min(stat.size, atMost)
  const { mtimeMs } = stat
  const buffer = (reused ??= Buffer.allocUnsafeSlow(2 * LITE_READ_BUF_SIZE))
  if (sizeBytes <= buffer.length)
    return { sizeBytes, mtimeMs, whole: readInto(file, buffer.subarray(0, sizeBytes), 0) }
  const head = readInto(file, buffer.subarray(0, LITE_READ_BUF_SIZE), 0)
  const tail = readInto(file, buffer.subarray(LITE_READ_BUF_SIZE), sizeBytes - LITE_READ_BUF_SIZE)
  return {
    sizeBytes,
    mtimeMs,
    whole: undefined,
    head: withoutCutEnd(head),
    tail: withoutCutBeginning(tail),
    longerHead: (bytes) => withoutCutEnd(readInto(file, Buffer.alloc(Math.min(bytes, sizeBytes)), 0)),
    longerTail: (bytes) => {
      const length = Math.min(bytes, sizeBytes)
      return withoutCutBeginning(readInto(file, Buffer.alloc(length), sizeBytes - length))
    },
  }
}

function readInto(file: FileNow, buffer: Buffer, position: number): Buffer {
  return buffer.subarray(0, file.readFull(buffer, position))
}

/** A file of at most two windows, as the two. */
function partsOf(whole: Buffer): { head: Buffer; tail: Buffer } {
  if (whole.length <= LITE_READ_BUF_SIZE) return { head: whole, tail: whole.subarray(whole.length) }
  const head = withoutCutEnd(whole.subarray(0, LITE_READ_BUF_SIZE))
  const from = Math.max(head.length, whole.length - LITE_READ_BUF_SIZE)
  const tail = whole.subarray(from)
  return { head, tail: from === head.length ? tail : withoutCutBeginning(tail) }
}

/** Without the beginning of a UTF-8 character that the end cuts. */
function withoutCutEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}

/** Without the rest of a UTF-8 character whose first byte is missing. */
function withoutCutBeginning(bytes: Buffer): Buffer {
  let count = 0
  while (count < Math.min(3, bytes.length) && ((bytes[count] ?? 0) & 0b1100_0000) === 0b1000_0000) count += 1
  return bytes.subarray(count)
}
