import { files, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { notFound } from './read-transcript.ts'
import { requireFile } from './require-file.ts'

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
  const ends = await readEnds(path, { sizeBytes })
  if (ends === undefined) throw notFound(path)
  return { head: ends.head, tail: ends.tail, sizeBytes: ends.sizeBytes, mtimeMs: ends.mtimeMs }
}

/** {@link HeadAndTail} and more, for a list. */
export interface Ends extends HeadAndTail {
  /** Whether the tail goes on right where the head ends: then the two are the whole file. */
  contiguous: boolean
  /** The head again, and more of it, where that was wanted. */
  longerHead: string | undefined
}

/**
 * Like {@link readHeadAndTail}; `undefined` when there is no such file.
 *
 * @param options.wantedFor asked with the head of a longer file; if it says so, `longerHead` is read, to `bytes`
 */
export async function readEnds(
  path: string,
  options: { sizeBytes?: number | undefined; bytes?: number; wantedFor?: (head: string) => boolean },
): Promise<Ends | undefined> {
  const { sizeBytes = Number.POSITIVE_INFINITY, bytes = 0, wantedFor = () => false } = options
  const file = await orAbsent(requireFile(path).then(() => files.open(path, 'r')))
  if (file === undefined) return undefined
  try {
    const stat = await file.stat()
    const size = Math.min(Number(stat.size), sizeBytes)
    const headBytes = await readRange(file, 0, Math.min(size, LITE_READ_BUF_SIZE))
    const headEnd = headBytes.length < size ? wholeCharacters(headBytes) : headBytes.length
    const head = headBytes.toString('utf8', 0, headEnd)
    const tailFrom = Math.max(headEnd, size - LITE_READ_BUF_SIZE)
    const contiguous = tailFrom === headEnd
    const tailBytes = await readRange(file, tailFrom, size)
    const tail = tailBytes.toString('utf8', contiguous ? 0 : continuationBytes(tailBytes))
    const wanted = !contiguous && wantedFor(head)
    const longerHead = wanted ? await readText(file, Math.min(size, bytes)) : undefined
    return { head, tail, sizeBytes: size, mtimeMs: Number(stat.mtimeNs) / 1e6, contiguous, longerHead }
  } finally {
    await file.close()
  }
}

async function readText(file: OpenFile, end: number): Promise<string> {
  const bytes = await readRange(file, 0, end)
  return bytes.toString('utf8', 0, wholeCharacters(bytes))
}

async function readRange(file: OpenFile, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.max(0, to - from))
  return buffer.subarray(0, await file.readFull(buffer, from))
}

/** How many of the bytes are whole UTF-8 characters: all but the beginning of one that the end cuts. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const needed = byte >= 0b1111_0000 ? 4 : byte >= 0b1110_0000 ? 3 : byte >= 0b1100_0000 ? 2 : 1
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

/** How many bytes at the beginning belong to a character whose first byte is missing. */
function continuationBytes(bytes: Buffer): number {
  let count = 0
  while (count < Math.min(3, bytes.length) && ((bytes[count] ?? 0) & 0b1100_0000) === 0b1000_0000) count += 1
  return count
}
