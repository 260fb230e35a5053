import { basename } from 'node:path'
import type { Damage } from '@loci/disk'
import { MAX_LINE_BYTES } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { parseLine, tooLong } from './parse-line.ts'
import type { LinePart } from './parse-line.ts'
import { sessionIdOf } from './session-path.ts'

/**
 * What a stretch of a transcript holds: a record, or damage. `offset` and `length` are the bytes of the record's
 * JSON (without byte order mark, blanks and newline) or of the damage; `line` counts from 1.
 */
export interface TranscriptItem {
  record?: Entry | RecordDraft
  damage?: Damage
  offset: number
  length: number
  line: number
}

const LF = 0x0a
const NUL = 0x00

/** A place in a transcript where a line begins. */
export interface LineStart {
  offset: number
  line: number
}

/**
 * Turns the bytes of a transcript, given in chunks of any size, into records and damage in file order. A line ends
 * with a byte 0x0A and with nothing else. A run of zero bytes, as a power cut leaves it, parts a line: what stands
 * before and after it is read. Memory is bounded by the longest line, and zero runs need none.
 */
export class TranscriptParser {
  readonly path: string
  readonly #sessionId: string | undefined
  #offset: number
  #lineStart: number
  #line: number
  #pieceStart: number
  #piece: Uint8Array[] = []
  #pieceLength = 0
  #zerosFrom: number | undefined
  #found: TranscriptItem[] = []
  /** What the current line, which is not ended, holds so far. */
  #ofLine: TranscriptItem[] = []
  /** Damage of the current line that may go on. */
  #pending: TranscriptItem | undefined

  constructor(path: string, from: LineStart = { offset: 0, line: 1 }) {
    this.path = path
    this.#sessionId = sessionIdOf(basename(path))
    this.#offset = from.offset
    this.#lineStart = from.offset
    this.#pieceStart = from.offset
    this.#line = from.line
  }

  /** Where the line begins that the bytes so far have not ended. */
  get lineStart(): LineStart {
    return { offset: this.#lineStart, line: this.#line }
  }

  /** The items of the lines that `chunk` ends. The parser keeps a reference to `chunk` until its last line ends. */
  push(chunk: Uint8Array): TranscriptItem[] {
    let at = 0
    let nul = chunk.indexOf(NUL)
    let lf = chunk.indexOf(LF)
    while (at < chunk.length) {
      if (this.#zerosFrom !== undefined) {
        while (at < chunk.length && chunk[at] === NUL) at += 1
        if (at === chunk.length) break
        this.#endZeros(at)
        nul = chunk.indexOf(NUL, at)
      }
      // Looked for again only once it is passed: a line may hold as many zeros as a chunk does.
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at)
      const stop = nul !== -1 && (lf === -1 || nul < lf) ? nul : lf
      this.#addToPiece(chunk.subarray(at, stop === -1 ? chunk.length : stop))
      if (stop === -1) break
      if (stop === lf) {
        this.#endLine(stop + 1)
        at = stop + 1
      } else {
        this.#endPiece()
        this.#zerosFrom = this.#offset + stop
        at = stop
      }
    }
    this.#offset += chunk.length
    return this.#take()
  }

  /** What the unfinished last line holds, read as if it ended here. Changes nothing. */
  rest(): TranscriptItem[] {
    const copy = new TranscriptParser(this.path, this.lineStart)
    copy.#offset = this.#offset
    copy.#pieceStart = this.#pieceStart
    copy.#piece = [...this.#piece]
    copy.#pieceLength = this.#pieceLength
    copy.#zerosFrom = this.#zerosFrom
    copy.#ofLine = [...this.#ofLine]
    copy.#pending = this.#pending
    if (copy.#zerosFrom !== undefined) copy.#endZeros(0)
    copy.#endPiece()
    copy.#flush()
    return copy.#ofLine
  }

  #addToPiece(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.#pieceLength += bytes.length
    if (this.#pieceLength <= MAX_LINE_BYTES) this.#piece.push(bytes)
    else this.#piece = []
  }

  /** `at` is where, in the chunk being read, the zeros end. */
  #endZeros(at: number): void {
    const from = this.#zerosFrom
    if (from === undefined) return
    const end = this.#offset + at
    const text = `${end - from} zero bytes, as a power cut leaves them`
    this.#add({ flaw: { kind: 'zero-run', text }, start: 0, end: end - from }, from)
    this.#zerosFrom = undefined
    this.#pieceStart = end
  }

  #endPiece(): void {
    const length = this.#pieceLength
    const [first] = this.#piece
    const bytes = this.#piece.length === 1 && first ? first : Buffer.concat(this.#piece)
    const parts = length > MAX_LINE_BYTES ? [tooLong(length)] : parseLine(bytes, this.#sessionId)
    for (const part of parts) this.#add(part, this.#pieceStart)
    this.#piece = []
    this.#pieceLength = 0
  }

  /** `at` is where, in the chunk being read, the next line begins. */
  #endLine(at: number): void {
    this.#endPiece()
    this.#flush()
    for (const item of this.#ofLine) this.#found.push(item)
    this.#ofLine = []
    this.#lineStart = this.#offset + at
    this.#pieceStart = this.#lineStart
    this.#line += 1
  }

  #add(part: LinePart, base: number): void {
    const offset = base + part.start
    const length = part.end - part.start
    if ('record' in part) {
      this.#flush()
      this.#ofLine.push({ record: part.record, offset, length, line: this.#line })
    } else if (this.#pending === undefined) {
      const message = `Line ${this.#line} ${part.flaw.kind === 'zero-run' ? 'holds ' : ''}${part.flaw.text}`
      const damage = { kind: part.flaw.kind, path: this.path, offset, line: this.#line, message }
      this.#pending = { damage, offset, length, line: this.#line }
    } else {
      // One note for a place: what touches it on this line belongs to it.
      this.#pending = { ...this.#pending, length: offset + length - this.#pending.offset }
    }
  }

  #flush(): void {
    if (this.#pending) this.#ofLine.push(this.#pending)
    this.#pending = undefined
  }

  #take(): TranscriptItem[] {
    const found = this.#found
    this.#found = []
    return found
  }
}
