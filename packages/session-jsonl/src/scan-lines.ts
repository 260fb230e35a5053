import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OpenFile } from '@loci/disk'
import type { EagerWalk } from './eager-walk.ts'
import { MAX_LINE_BYTES } from './entry.ts'
import { factsInBytes, factsOfRecord } from './line-facts.ts'
import type { LineFacts } from './line-facts.ts'
import { TranscriptParser } from './transcript.ts'

const LF = 0x0a
const NUL = 0x00
const NEWLINE = Uint8Array.of(LF)

/** The facts of the records of some whole lines, in file order, and where the lines begin. */
export interface ScannedLines {
  readonly begin: number
  /** Where the last line ends that has its newline. */
  readonly finished: number
  readonly lines: LineFacts[]
}

/** How much is read at a time: as little as stays at hand while it is looked at, and keeps nobody waiting for long. */
const WINDOW_BYTES = 256 * 1024
/** So many windows are looked at before others have their turn. */
const WINDOWS_IN_A_ROW = 4
/** No line is longer that can be read; see {@link MAX_LINE_BYTES}. */
const MOST_BYTES = MAX_LINE_BYTES + WINDOW_BYTES

/** Memory of windows that nobody reads into at the moment: touching fresh memory costs more than reading. */
const free: Buffer[] = []

/**
 * Scans lines of a transcript from its end: a window is read, the lines in it are looked at, and the next window ends
 * where the first whole line of this one begins. While a window is looked at it takes its memory, or twice the longest
 * line's; nothing is kept.
 */
export class BackwardScan {
  readonly #file: OpenFile
  readonly #windowBytes: number
  #inRow = 0

  /** @param windowBytes how much is read at a time */
  constructor(file: OpenFile, windowBytes: number = WINDOW_BYTES) {
    this.#file = file
    this.#windowBytes = windowBytes
  }

  /**
   * The lines of the window that ends at `end`, where a line begins or the file ends.
   *
   * @param floor where a line begins before which nothing is wanted
   * @param eager has lines parsed at once that will be wanted whole
   * @returns `undefined` where a line is too long to be held, or the file has become shorter
   */
  async before(end: number, floor = 0, eager?: EagerWalk): Promise<ScannedLines | undefined> {
    let memory = free.pop() ?? Buffer.alloc(0)
    try {
      for (let size = this.#windowBytes; ; size = Math.min(2 * size, MOST_BYTES)) {
        const start = Math.max(floor, end - size)
        if (memory.length < end - start) memory = Buffer.allocUnsafeSlow(end - start)
        const bytes = memory.subarray(0, end - start)
        if ((await this.#fill(bytes, start)) < bytes.length) return undefined
        const first = start === floor ? 0 : lineStartIn(bytes)
        if (first !== undefined) {
          const lines = scanLines(bytes, { from: first, base: start, path: this.#file.path, eager })
          return { begin: start + first, finished: start + bytes.lastIndexOf(LF) + 1, lines }
        }
        if (size === MOST_BYTES) return undefined
      }
    } finally {
      if (memory.length <= WINDOW_BYTES && free.length < 2) free.push(memory)
    }
  }

  /** Fills `bytes`; a window's worth without waiting, as handing it to another thread takes longer than reading it. */
  async #fill(bytes: Buffer, start: number): Promise<number> {
    if (bytes.length > WINDOW_BYTES) return this.#file.readFull(bytes, start)
    this.#inRow += 1
    if (this.#inRow % WINDOWS_IN_A_ROW === 0) await nextTurn()
    return this.#file.readFullNow(bytes, start)
  }
}

/** Where the first line begins whose beginning the window shows. */
function lineStartIn(bytes: Buffer): number | undefined {
  const newline = bytes.indexOf(LF)
  return newline === -1 || newline === bytes.length - 1 ? undefined : newline + 1
}

/** What is known of the bytes that are scanned. */
interface Scan {
  /** Where in them the first line begins. */
  from: number
  /** Where in the file they begin. */
  base: number
  path: string
  eager: EagerWalk | undefined
}

/**
 * The facts of the lines in `bytes` from `from` on, in file order. A line that is not one plain object is read by the
 * parser of the whole file, so that the two never see different records.
 */
function scanLines(bytes: Buffer, { from, base, path, eager }: Scan): LineFacts[] {
  const lines: LineFacts[] = []
  const hasZeros = bytes.includes(NUL, from)
  for (let end = bytes.length; end > from;) {
    if (bytes[end - 1] === LF) end -= 1
    const start = end === from ? from : Math.max(from, bytes.lastIndexOf(LF, end - 1) + 1)
    if (start < end) {
      const odd = end - start > MAX_LINE_BYTES || (hasZeros && bytes.subarray(start, end).includes(NUL))
      const facts = odd
        ? undefined
        : (eager?.parsed(bytes, start, end, base) ?? factsInBytes(bytes, start, end, base))
      const found = facts ? [facts] : parsedLine(bytes.subarray(start, end), base + start, path).toReversed()
      for (const line of found) {
        eager?.pass(line)
        lines.push(line)
      }
    }
    end = start
  }
  return lines.toReversed()
}

function parsedLine(bytes: Buffer, offset: number, path: string): LineFacts[] {
  const parser = new TranscriptParser(path, { offset, line: 1 })
  const items = [...parser.push(bytes), ...parser.push(NEWLINE)]
  return items.flatMap(({ record, offset: at, length }) =>
    record ? [factsOfRecord(record, at, length)] : [],
  )
}
