import type { OpenFile } from '@loci/disk'
import { chunksOf } from './read-transcript.ts'
import { TranscriptParser } from './transcript.ts'
import type { TranscriptItem } from './transcript.ts'

const LF = 0x0a
/** A longer line is parsed without being asked about, and held by the parser alone. */
const FILTERED_LINE_BYTES = 4 * 1024 * 1024

/**
 * The records and the damage of a transcript's lines that `mayMatter`, in file order, as `readTranscript` gives them
 * but for the line numbers; other lines are not parsed. Memory is bounded by the longest line.
 *
 * @param mayMatter asked with the bytes of each line of up to 4 MiB, newline included
 * @throws {LociError} DISK_IO
 */
export async function* itemsOfLines(
  file: OpenFile,
  path: string,
  mayMatter: (line: Uint8Array) => boolean,
): AsyncGenerator<TranscriptItem> {
  let lineStart = 0
  let held: Uint8Array[] = []
  let heldBytes = 0
  let long: TranscriptParser | undefined
  const parserHere = (): TranscriptParser => new TranscriptParser(path, { offset: lineStart, line: 1 })
  const endLine = (): TranscriptItem[] => {
    const [only] = held
    const bytes = held.length === 1 && only ? only : Buffer.concat(held)
    if (bytes.length === 0 || !mayMatter(bytes)) return []
    const parser = parserHere()
    return [...parser.push(bytes), ...parser.rest()]
  }
  for await (const chunk of chunksOf(file, 0)) {
    for (let at = 0; at < chunk.length;) {
      const lf = chunk.indexOf(LF, at)
      const piece = chunk.subarray(at, lf === -1 ? chunk.length : lf + 1)
      at += piece.length
      heldBytes += piece.length
      if (long) {
        yield* long.push(piece)
      } else {
        held.push(piece)
        if (heldBytes > FILTERED_LINE_BYTES) {
          long = parserHere()
          for (const part of held) yield* long.push(part)
          held = []
        }
      }
      if (lf === -1) continue
      yield* long ? long.rest() : endLine()
      lineStart += heldBytes
      held = []
      heldBytes = 0
      long = undefined
    }
  }
  yield* long ? long.rest() : endLine()
}
