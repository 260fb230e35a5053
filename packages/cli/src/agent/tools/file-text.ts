import { isUtf8 } from 'node:buffer'
import { LociError, OPEN_REGULAR, files } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { foundFile, lookAgain, targetChanged } from './file-target.ts'
import type { FileTarget } from './file-target.ts'

/** Bytes of a file that is read, or made by an edit. */
export const MAX_TEXT_BYTES: number = 10 << 20
const CHUNK_BYTES = 1 << 20

/** A file as it was read. */
interface FileBytes {
  bytes: Buffer
  /** Of the state that was read. */
  stamp: string
}

/** A file as text, and what has to be kept when it is written again. */
export interface FileText {
  /** Without the byte order mark. */
  text: string
  hasByteOrderMark: boolean
  stamp: string
}

/**
 * The bytes of a file. Never waits, whatever has been put in its place, and reads no other file than the one that was
 * allowed.
 *
 * @throws {LociError} PATH_INVALID when it is not there or no regular file; FILE_TOO_LARGE over 10 MiB;
 * PATH_CHANGED when its path leads elsewhere by now, or it was replaced while it was read; DISK_IO
 */
export async function readBytes(target: FileTarget): Promise<FileBytes> {
  checkRegular(target)
  const file = await files.open(target.path, OPEN_REGULAR)
  try {
    const stats = await file.stat()
    const { identity, stamp } = foundFile(stats)
    // What is open is what has that name now: nothing was put in its place, nor in the place of a directory above.
    const now = await lookAgain(target)
    if (now?.kind !== 'file' || now.identity !== identity)
      throw targetChanged(target, 'was replaced while it was read')
    if (stats.size > BigInt(MAX_TEXT_BYTES)) throw tooLarge(target, `has ${stats.size} bytes`)
    return { bytes: await readBounded(file, target), stamp }
  } finally {
    await file.close()
  }
}

/** @throws {LociError} as `readBytes`; PATH_INVALID for what is no UTF-8 text */
export async function readText(target: FileTarget): Promise<FileText> {
  return textOf(await readBytes(target), target)
}

/** @throws {LociError} PATH_INVALID */
export function checkRegular({ path, name, found }: FileTarget): void {
  if (found?.kind === 'file') return
  const what =
    found === null
      ? 'does not exist'
      : found.kind === 'directory'
        ? 'is a directory; Glob finds what is in it'
        : 'is no regular file'
  throw new LociError('PATH_INVALID', `${name} ${what}`, { details: { path } })
}

/** To the end, whatever size the file says to have: those of /proc say 0, and others grow. */
async function readBounded(file: OpenFile, target: FileTarget): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let position = 0; ;) {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const length = await file.read(chunk, position)
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(chunk.subarray(0, length))
    position += length
    if (position > MAX_TEXT_BYTES) throw tooLarge(target, 'has no end in sight')
  }
}

/** @throws {LociError} PATH_INVALID for what is no UTF-8 text */
export function textOf({ bytes, stamp }: FileBytes, { name, path }: FileTarget): FileText {
  if (!isUtf8(bytes))
    throw new LociError('PATH_INVALID', `${name} is no UTF-8 text; use Bash for it`, { details: { path } })
  const text = bytes.toString('utf8')
  const hasByteOrderMark = text.startsWith('\uFEFF')
  return { text: hasByteOrderMark ? text.slice(1) : text, hasByteOrderMark, stamp }
}

function tooLarge({ name, path }: FileTarget, what: string): LociError {
  const message = `${name} ${what}, and only files up to ${MAX_TEXT_BYTES} are read; look at parts of it with Bash`
  return new LociError('FILE_TOO_LARGE', message, { details: { path } })
}
