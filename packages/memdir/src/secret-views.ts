import { ALPHABETS } from './secret-rules.ts'

/** A text to look through, and for each of its characters the place in the first text that it comes from. */
export interface View {
  text: string
  /** Absent: the text is the first one. */
  places?: { starts: Uint32Array; ends: Uint32Array }
}

/** Where the characters from `start` to `end` of a view stand in the first text. */
export function placeOf(view: View, start: number, end: number): { start: number; end: number } {
  if (view.places === undefined) return { start, end }
  return { start: view.places.starts[start] ?? 0, end: view.places.ends[end - 1] ?? 0 }
}

/** Whether something was left out of a view just before `index`. */
export function isSeam(view: View, index: number): boolean {
  if (view.places === undefined || index === 0) return false
  return view.places.starts[index] !== view.places.ends[index - 1]
}

class ViewWriter {
  readonly #source: View
  #codes: Uint16Array
  #starts: Uint32Array
  #ends: Uint32Array
  #length = 0

  constructor(source: View, capacity: number) {
    this.#source = source
    this.#codes = new Uint16Array(capacity)
    this.#starts = new Uint32Array(capacity)
    this.#ends = new Uint32Array(capacity)
  }

  /** A character that stands for `length` characters of the source from `index` on. */
  write(code: number, index: number, length: number): void {
    const place = placeOf(this.#source, index, index + length)
    this.#codes[this.#length] = code
    this.#starts[this.#length] = place.start
    this.#ends[this.#length] = place.end
    this.#length += 1
  }

  finish(): View {
    const bytes = Buffer.from(this.#codes.buffer, 0, this.#length * 2)
    const places = {
      starts: this.#starts.subarray(0, this.#length),
      ends: this.#ends.subarray(0, this.#length),
    }
    return { text: bytes.toString('utf16le'), places }
  }
}

const BACKSLASH = 92
const ESCAPED: Record<string, number> = { n: 10, r: 13, t: 9, '"': 34, "'": 39, '/': 47, '\\': 92, '`': 96 }

/** The text without `\` at the ends of lines, with the escapes of JSON, YAML and URLs as what they stand for. */
export function unescapeView(source: View): View {
  const { text } = source
  if (!text.includes('\\') && !text.includes('%')) return source
  const writer = new ViewWriter(source, text.length)
  for (let index = 0; index < text.length;) {
    const code = text.charCodeAt(index)
    const escape = code === BACKSLASH || code === 37 ? escapeAt(text, index) : undefined
    if (escape === undefined) writer.write(code, index, 1)
    else if (escape.code !== undefined) writer.write(escape.code, index, escape.length)
    index += escape?.length ?? 1
  }
  return writer.finish()
}

function escapeAt(text: string, index: number): { code?: number; length: number } | undefined {
  if (text.charCodeAt(index) !== BACKSLASH) return hexEscape(text, index + 1, 2, 1)
  const next = text.charAt(index + 1)
  const after = lineBreakAt(text, index + 1)
  if (after > 0) return { length: 1 + after + blanksAt(text, index + 1 + after) }
  if (next === 'u') return hexEscape(text, index + 2, 4, 2)
  if (next === 'x') return hexEscape(text, index + 2, 2, 2)
  const code = ESCAPED[next]
  return code === undefined ? undefined : { code, length: 2 }
}

function hexEscape(
  text: string,
  index: number,
  digits: number,
  before: number,
): { code: number; length: number } | undefined {
  const hex = text.slice(index, index + digits)
  if (hex.length < digits || !/^[0-9a-fA-F]{2,4}$/.test(hex)) return undefined
  const code = Number.parseInt(hex, 16)
  return code === 0 || code > 126 ? undefined : { code, length: before + digits }
}

/** How long the line break at `index` is; 0 if there is none. */
function lineBreakAt(text: string, index: number): number {
  const code = text.charCodeAt(index)
  if (code === 13) return text.charCodeAt(index + 1) === 10 ? 2 : 1
  return code === 10 ? 1 : 0
}

function blanksAt(text: string, index: number): number {
  let end = index
  while (text.charCodeAt(end) === 32 || text.charCodeAt(end) === 9) end += 1
  return end - index
}

/** The text with words that a line break cuts in two put together again. */
export function unwrapView(source: View): View {
  const { text } = source
  if (!text.includes('\n') && !text.includes('\r')) return source
  const writer = new ViewWriter(source, text.length)
  for (let index = 0; index < text.length;) {
    const length = lineBreakAt(text, index)
    const skip = length === 0 ? 0 : length + blanksAt(text, index + length)
    if (skip > 0 && isBare(text.charCodeAt(index - 1)) && isBare(text.charCodeAt(index + skip))) {
      index += skip
    } else {
      writer.write(text.charCodeAt(index), index, 1)
      index += 1
    }
  }
  return writer.finish()
}

function isBare(code: number): boolean {
  return ALPHABETS.bare[code] === 1
}

const MIN_BASE64 = 40

/** The places where Base64 can begin in a run of its characters: what stands before it may be such characters too. */
export const BASE64_PHASES: readonly number[] = [0, 1, 2, 3]

/** What the runs of Base64 say when each is read from its character `phase` on, with a NUL after each. */
export function decodeView(source: View, phase: number): View | undefined {
  const runs = base64Runs(source.text)
  if (runs.length === 0) return undefined
  const writer = new ViewWriter(
    source,
    runs.reduce((sum, { start, end }) => sum + end - start, 0),
  )
  for (const { start, end } of runs) {
    const from = start + phase
    for (const [index, byte] of Buffer.from(source.text.slice(from, end), 'base64').entries()) {
      const quad = from + Math.floor(index / 3) * 4
      writer.write(byte, quad, Math.min(4, end - quad))
    }
    writer.write(0, end - 1, 1)
  }
  return writer.finish()
}

function base64Runs(text: string): { start: number; end: number }[] {
  const runs: { start: number; end: number }[] = []
  let start = 0
  for (let index = 0; index <= text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (ALPHABETS.base64[code] === 1 || ALPHABETS.base64url[code] === 1) continue
    if (index - start >= MIN_BASE64) runs.push({ start, end: index })
    start = index + 1
  }
  return runs
}
