import { files, isAbsent, LociError } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { requireFile } from './require-file.ts'
import { TranscriptParser } from './transcript.ts'
import type { TranscriptItem } from './transcript.ts'

const CHUNK_BYTES = 256 * 1024

/**
 * Reads a transcript of any size from its beginning and yields its records and its damage in file order. Damage
 * never ends the reading: what can be read after it is read. Nothing is written. Memory is bounded by the longest
 * line.
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} SESSION_NOT_FOUND when there is no such file; DISK_IO, also when it is no file
 */
export async function* readTranscript(path: string): AsyncIterable<TranscriptItem> {
  const file = await openTranscript(path)
  try {
    const parser = new TranscriptParser(path)
    for await (const chunk of chunksOf(file, 0)) yield* parser.push(chunk)
    yield* parser.rest()
  } finally {
    await file.close()
  }
}

/**
 * Opens a transcript for reading.
 *
 * @throws {LociError} SESSION_NOT_FOUND, DISK_IO
 */
export async function openTranscript(path: string): Promise<OpenFile> {
  try {
    await requireFile(path)
    return await files.open(path, 'r')
  } catch (error) {
    throw isAbsent(error) ? notFound(path, error) : error
  }
}

/** The error for a transcript that is not there. */
export function notFound(path: string, cause?: unknown): LociError {
  return new LociError(
    'SESSION_NOT_FOUND',
    `There is no session at ${JSON.stringify(path)}; listSessions() gives those there are`,
    {
      details: { path },
      cause,
    },
  )
}

/** The bytes of `file` from `position` to its end as it is when reached. Each chunk has its own memory. */
export async function* chunksOf(file: OpenFile, position: number): AsyncGenerator<Uint8Array> {
  let at = position
  for (;;) {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    const length = await file.read(buffer, at)
    if (length === 0) return
    yield buffer.subarray(0, length)
    at += length
  }
}
