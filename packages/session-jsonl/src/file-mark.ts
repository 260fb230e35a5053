import type { OpenFile } from '@loci/disk'
import type { LineStart } from './transcript.ts'

/** How much of what stands before a mark is remembered, in bytes. */
const REMEMBERED_BYTES = 512

/** A place up to which a file was read, with what tells whether a file met there later is still that one. */
export interface FileMark {
  start: LineStart
  inode: bigint
  /** The bytes before the mark. An inode alone can be that of a new file where a deleted one was. */
  before: Buffer
}

/** Marks a place in a file. */
export async function markAt(file: OpenFile, start: LineStart): Promise<FileMark> {
  return { start, inode: (await file.stat()).ino, before: await bytesBefore(file, start.offset) }
}

/** Whether `file` is the one that was marked, and has not lost what stood before the mark. */
export async function isMarked(file: OpenFile, mark: FileMark): Promise<boolean> {
  const { ino, size } = await file.stat()
  if (ino !== mark.inode || size < BigInt(mark.start.offset)) return false
  return mark.before.equals(await bytesBefore(file, mark.start.offset))
}

async function bytesBefore(file: OpenFile, offset: number): Promise<Buffer> {
  const from = Math.max(0, offset - REMEMBERED_BYTES)
  const bytes = Buffer.alloc(offset - from)
  return bytes.subarray(0, await file.readFull(bytes, from))
}
