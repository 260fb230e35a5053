import { isUtf8 } from 'node:buffer'
import { countLine, finishCount, HEAD_BYTES, NO_LINES } from './count-lines.ts'
import type { LineCount } from './count-lines.ts'
import { completeLength } from './cut-text.ts'
import { decode } from './index-file.ts'
import type { EntrypointTruncation } from './truncate.ts'

const NEWLINE = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const MARK = Buffer.from('\uFEFF')
const FENCE = Buffer.from('---')
const OPEN = Buffer.from('<!--')
const CLOSE = Buffer.from('-->')
/** The longest that must be seen at once: a fence and a blank behind it. */
const LOOK_AHEAD_BYTES = 6

const NOTHING = Buffer.alloc(0)

/** Where in a line the scan is. */
type Place =
  /** Nothing but blanks so far. */
  | 'start'
  | 'text'
  /** In a comment, begun on this line or before. */
  | 'comment'
  /** Nothing but blanks behind a comment. */
  | 'behind'
  /** Nothing but blanks behind `---`. */
  | 'fence'

/**
 * Says of UTF-8 bytes, given window by window, what {@link truncateEntrypointContent} says of their text. Only what is
 * passed on or shown is decoded and kept, the rest is counted. Bytes that are not UTF-8 count as the U+FFFD they are
 * shown as; a window that has some is decoded to count it.
 */
export class EntrypointScan {
  /** The beginning of a character that goes on in the next window. */
  #tail: Buffer = Buffer.alloc(0)
  /** What was not looked at, since more has to be seen. */
  #rest: Buffer = Buffer.alloc(0)
  #count: LineCount = NO_LINES
  /** What counted before the comment that is open, for when it closes with nothing behind it. */
  #beforeComment: LineCount | undefined
  #isInFrontMatter = false
  #lineNumber = 1
  #place: Place = 'start'
  #sizeBytes = 0
  #head: Uint8Array[] = []
  #lastByte = 0
  /** Where a byte order mark can be. */
  #isAtBeginning = true

  /** The window can be used for other bytes afterwards. */
  push(window: Buffer): void {
    const bytes = joined(this.#tail, window)
    const length = completeLength(bytes)
    this.#tail = Buffer.from(bytes.subarray(length))
    this.#scan(bytes.subarray(0, length), false)
  }

  end(): EntrypointTruncation {
    this.#scan(this.#tail, true)
    this.#endLine()
    return finishCount(this.#count)
  }

  #scan(window: Buffer, isLast: boolean): void {
    const whole = isUtf8(window) ? window : Buffer.from(decode(window))
    const bytes = joined(this.#rest, whole)
    const end = isLast ? bytes.length : bytes.length - LOOK_AHEAD_BYTES
    let at = this.#markLength(bytes, isLast)
    while (at < bytes.length && (at <= end || this.#place === 'text')) {
      at = this.#step(bytes, at)
    }
    this.#rest = Buffer.from(bytes.subarray(at))
  }

  #markLength(bytes: Buffer, isLast: boolean): number {
    if (!this.#isAtBeginning || (bytes.length < MARK.length && !isLast)) return 0
    this.#isAtBeginning = false
    return startsWith(bytes, 0, MARK) ? MARK.length : 0
  }

  /** Looks at what stands at `at`; returns where to go on. */
  #step(bytes: Buffer, at: number): number {
    if (bytes[at] === NEWLINE) {
      this.#endLine()
      return at + 1
    }
    if (this.#place === 'text') return this.#take(bytes, at, lineEnd(bytes, at))
    if (this.#place === 'comment') return this.#takeComment(bytes, at)
    if (this.#sizeBytes === 0 && this.#mayBeFence() && startsWith(bytes, at, FENCE)) {
      const behind = at + FENCE.length
      const isFence = behind >= bytes.length || bytes[behind] === NEWLINE || blankLength(bytes, behind) > 0
      this.#place = isFence ? 'fence' : this.#beginning(bytes, at)
      return isFence ? this.#take(bytes, at, behind) : at
    }
    const blank = blankLength(bytes, at)
    if (blank > 0) {
      let end = at + blank
      while (bytes[end] === SPACE) end += 1
      return this.#take(bytes, at, end)
    }
    const next = this.#beginning(bytes, at)
    const begins = next === 'comment' && (this.#place === 'behind' || this.#beforeComment === undefined)
    this.#place = next
    // Two of the four of `<!--`: `<!-->` is a comment, whole.
    return begins ? this.#take(bytes, at, at + 2) : at
  }

  /** What begins at `at`, which is no blank. */
  #beginning(bytes: Buffer, at: number): Place {
    if (this.#place !== 'behind' && this.#beforeComment !== undefined) return 'comment'
    return this.#place !== 'fence' && startsWith(bytes, at, OPEN) ? 'comment' : 'text'
  }

  #mayBeFence(): boolean {
    return this.#place === 'start' && (this.#lineNumber === 1 || this.#isInFrontMatter)
  }

  #takeComment(bytes: Buffer, at: number): number {
    const end = lineEnd(bytes, at)
    const close = bytes.subarray(at, end).indexOf(CLOSE)
    if (close !== -1) {
      this.#place = 'behind'
      return this.#take(bytes, at, at + close + CLOSE.length)
    }
    // What ends the window may begin a close.
    const isWhole = end < bytes.length
    return this.#take(bytes, at, isWhole ? end : Math.max(at + 1, end - CLOSE.length + 1))
  }

  #take(bytes: Buffer, from: number, to: number): number {
    const room = HEAD_BYTES - this.#sizeBytes
    // Once a line is lost none of those behind it is shown.
    if (room > 0 && this.#count.lost === undefined)
      this.#head.push(Buffer.from(bytes.subarray(from, Math.min(to, from + room))))
    this.#sizeBytes += to - from
    this.#lastByte = bytes[to - 1] ?? 0
    return to
  }

  #endLine(): void {
    this.#countLine()
    this.#lineNumber += 1
    this.#place = 'start'
    this.#sizeBytes = 0
    this.#head = []
    this.#lastByte = 0
  }

  #countLine(): void {
    const place = this.#place
    if (place === 'fence' && this.#isInFrontMatter) {
      // All that came before was front matter.
      this.#isInFrontMatter = false
      this.#beforeComment = undefined
      this.#count = NO_LINES
      return
    }
    if (place === 'fence' && this.#lineNumber === 1) this.#isInFrontMatter = true
    if (place === 'behind') {
      this.#count = this.#beforeComment ?? this.#count
      this.#beforeComment = undefined
      return
    }
    if (place === 'comment') this.#beforeComment ??= this.#count
    // The comment is none: text stands behind it.
    if (place === 'text') this.#beforeComment = undefined
    const sizeBytes = this.#sizeBytes - (this.#lastByte === RETURN ? 1 : 0)
    const head = this.#head.length === 0 ? NOTHING : Buffer.concat(this.#head).subarray(0, sizeBytes)
    this.#count = countLine(this.#count, { sizeBytes, isBlank: place === 'start', head })
  }
}

function joined(before: Buffer, behind: Buffer): Buffer {
  return before.length === 0 ? behind : Buffer.concat([before, behind])
}

function startsWith(bytes: Buffer, at: number, part: Buffer): boolean {
  for (let index = 0; index < part.length; index += 1) if (bytes[at + index] !== part[index]) return false
  return true
}

function lineEnd(bytes: Buffer, at: number): number {
  const newline = bytes.indexOf(NEWLINE, at)
  return newline === -1 ? bytes.length : newline
}

/** Characters of several bytes that `String.prototype.trim` takes for blank, but for those from U+2000 to U+200A. */
const WIDE_BLANKS = ['\u00A0', '\u1680', '\u2028', '\u2029', '\u202F', '\u205F', '\u3000', '\uFEFF'].map(
  (blank) => Buffer.from(blank),
)

/** How many bytes the blank at `at` has, as `trim` has it; 0: there is none, or a line end. */
function blankLength(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0
  if (byte < 0x80) return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== NEWLINE) ? 1 : 0
  const wide = WIDE_BLANKS.find((blank) => startsWith(bytes, at, blank))
  if (wide !== undefined) return wide.length
  const last = bytes[at + 2] ?? 0
  return byte === 0xe2 && bytes[at + 1] === 0x80 && last >= 0x80 && last <= 0x8a ? 3 : 0
}
