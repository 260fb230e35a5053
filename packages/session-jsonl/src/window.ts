import { unquote } from './scan-json.ts'
import { wellFormed } from './well-formed.ts'

/**
 * A stretch of a transcript as bytes, and the same as latin1: there an index is a byte offset, and it costs a tenth of
 * decoding. The structure of JSON is all ASCII, so it can be looked at there; what is shown is decoded from the bytes.
 */
export interface Window {
  readonly bytes: Buffer
  readonly text: string
  readonly lines: readonly Line[]
}

/** Where a line stands, without its newline. An empty one is none. */
export interface Line {
  readonly start: number
  readonly end: number
  /** What was read of it, for who asks again. */
  known?: { record: Record<string, unknown> | undefined }
}

/** The bytes must stay as they are for as long as the window is used. */
export function windowOf(bytes: Buffer): Window {
  const text = bytes.toString('latin1')
  const lines: Line[] = []
  for (let start = 0; start < text.length;) {
    const end = lineEnd(text, start)
    if (end > start) lines.push({ start, end })
    start = end + 1
  }
  return { bytes, text, lines }
}

/** The string that the JSON token from `start` to `end` stands for, as well-formed UTF-16; `undefined` if it is none. */
export function stringAt({ bytes, text }: Window, start: number, end: number): string | undefined {
  if (text.charCodeAt(start) !== 0x22) return undefined
  // Decoded and not sliced: a slice of the text would keep all of it in memory.
  const plain = bytes.toString('utf8', start + 1, end - 1)
  if (!plain.includes('\\')) return plain
  const value = unquote(`"${plain}"`)
  return value === undefined ? undefined : wellFormed(value)
}

/** Where the line begins that ends at `end`, its newline or the end of the text. */
export function lineBefore(text: string, end: number): number {
  return end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1
}

/** Where the line that holds `at` ends: at its newline, or with the text. */
export function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline === -1 ? text.length : newline
}

/** A record that a crash left behind the stub of an entry is looked for in so much of the line's end. */
const GLUED_UNITS = 512
/** As the lines of a conversation begin, which are most of the bytes, and name neither titles nor the last prompt. */
const ENTRY = /\{"(?:parentUuid":|type":"(?:user|assistant|system|attachment)")/y

/** From where on a record other than an entry is to be looked for in a line. */
export function recordFrom(text: string, { start, end }: Line): number {
  ENTRY.lastIndex = start
  return end - start > GLUED_UNITS && ENTRY.test(text) ? end - GLUED_UNITS : start
}
