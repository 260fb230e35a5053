import { completeLength } from './cut-text.ts'
import { decode } from './index-file.ts'
import { finishCut, MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES } from './truncate.ts'
import type { EntrypointTruncation } from './truncate.ts'

/** How much of a line is needed at most: to cut a first line inside, with what tells where a grapheme ends. */
export const HEAD_BYTES: number = MAX_ENTRYPOINT_BYTES + 8
/** How much of the first line that is not passed on is kept, for the warning. */
const LOST_BYTES = 12_300

/** A line of an index, without its end. */
export interface ByteLine {
  sizeBytes: number
  isBlank: boolean
  /** Its beginning, up to {@link HEAD_BYTES}. */
  head: Uint8Array
}

const NEWLINE = Buffer.from('\n')

interface Kept {
  line: Uint8Array
  before: Kept | undefined
}

/** What of the lines so far is left after cleaning. Never changed: an earlier one is gone back to. */
export interface LineCount {
  lines: number
  /** With a line break between each two. */
  sizeBytes: number
  /** The same, up to the last line that is not blank. */
  solid: { lines: number; sizeBytes: number }
  /** The lines that are passed on, from the last to the first; how many. */
  kept: Kept | undefined
  keptLines: number
  /** The first line, where it alone is too long. */
  long: Uint8Array | undefined
  /** The beginning of the first line behind, that is not passed on. */
  lost: Uint8Array | undefined
}

export const NO_LINES: LineCount = {
  lines: 0,
  sizeBytes: 0,
  solid: { lines: 0, sizeBytes: 0 },
  kept: undefined,
  keptLines: 0,
  long: undefined,
  lost: undefined,
}

/** The count with one more line. Blank ones before the first other one do not count. */
export function countLine(count: LineCount, { sizeBytes, isBlank, head }: ByteLine): LineCount {
  if (count.lines === 0 && isBlank) return count
  const lines = count.lines + 1
  const size = count.sizeBytes + sizeBytes + (count.lines === 0 ? 0 : 1)
  const sizes = { lines, sizeBytes: size, solid: isBlank ? count.solid : { lines, sizeBytes: size } }
  const fits =
    count.keptLines === count.lines && lines <= MAX_ENTRYPOINT_LINES && size <= MAX_ENTRYPOINT_BYTES
  if (fits) return { ...count, ...sizes, kept: { line: head, before: count.kept }, keptLines: lines }
  if (lines === 1) return { ...count, ...sizes, long: head }
  return { ...count, ...sizes, lost: count.lost ?? head.subarray(0, LOST_BYTES) }
}

/** What {@link truncateEntrypointContent} says of the lines. Decodes what is passed on and shown, nothing else. */
export function finishCount({ solid, kept, long, lost }: LineCount): EntrypointTruncation {
  return finishCut({
    lineCount: solid.lines,
    byteCount: solid.sizeBytes,
    // Blank lines at the end may have fitted.
    kept: linesOf(kept).slice(0, solid.lines),
    first: long === undefined ? '' : decodeWhole(long),
    lost: lost === undefined ? '' : decodeWhole(lost),
  })
}

function linesOf(kept: Kept | undefined): string[] {
  const parts: Uint8Array[] = []
  for (let one = kept; one !== undefined; one = one.before) parts.push(NEWLINE, one.line)
  // Decoded at once: a decoder for each line takes longer than its text.
  return parts.length === 0 ? [] : decode(Buffer.concat(parts.toReversed().slice(0, -1))).split('\n')
}

function decodeWhole(bytes: Uint8Array): string {
  return decode(bytes.subarray(0, completeLength(bytes)))
}
