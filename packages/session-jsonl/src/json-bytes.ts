/**
 * JSON in bytes, looked at without making values of it. Every text that `JSON.parse` accepts is accepted here, but for
 * depth; of what it refuses, only that which is wrong inside a string (a control character, an escape that is none),
 * since strings are passed over: that is what makes this fast.
 *
 * Source: RFC 8259.
 */

/** What nests deeper is not judged here; whoever scans has the parser look at it. */
const MAX_DEPTH = 200

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * Where the JSON value that begins at `at` ends: the position after its last byte.
 *
 * @returns -1 if there is no whole value before `to`, or one that nests too deep to be judged
 */
export function valueEnd(bytes: Buffer, at: number, to: number, depth = 0): number {
  if (at >= to) return -1
  switch (bytes[at]) {
    case QUOTE:
      return stringEnd(bytes, at, to)
    case OPEN_BRACE:
      return depth === MAX_DEPTH ? -1 : objectEnd(bytes, at, to, depth)
    case OPEN_BRACKET:
      return depth === MAX_DEPTH ? -1 : arrayEnd(bytes, at, to, depth)
    case 0x74:
      return literalEnd(bytes, at, to, TRUE)
    case 0x66:
      return literalEnd(bytes, at, to, FALSE)
    case 0x6e:
      return literalEnd(bytes, at, to, NULL)
    default:
      return numberEnd(bytes, at, to)
  }
}

/** Where the string whose opening quote is at `at` ends, after its closing quote; -1 if there is no whole one. */
function stringEnd(bytes: Buffer, at: number, to: number): number {
  // Most strings are short; past that, searching for the quote beats looking at each byte.
  const near = Math.min(to, at + NEAR_BYTES)
  let from = at + 1
  while (from < near) {
    const byte = bytes[from]
    if (byte === QUOTE) return from + 1
    from += byte === BACKSLASH ? 2 : 1
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, from)
    if (quote === -1 || quote >= to) return -1
    let escape = quote
    while (bytes[escape - 1] === BACKSLASH) escape -= 1
    if ((quote - escape) % 2 === 0) return quote + 1
    from = quote + 1
  }
}

const NEAR_BYTES = 48

/** The position of the first byte from `at` on that is no blank. */
export function skipBlanks(bytes: Buffer, at: number, to: number): number {
  let i = at
  while (i < to && isBlank(bytes[i])) i += 1
  return i
}

/** Whether a byte is one of the blanks that may stand between JSON's tokens. */
export function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

const TRUE = [0x74, 0x72, 0x75, 0x65] as const
const FALSE = [0x66, 0x61, 0x6c, 0x73, 0x65] as const
const NULL = [0x6e, 0x75, 0x6c, 0x6c] as const

function literalEnd(bytes: Buffer, at: number, to: number, letters: readonly number[]): number {
  if (at + letters.length > to) return -1
  for (const [index, letter] of letters.entries()) if (bytes[at + index] !== letter) return -1
  return at + letters.length
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

/** Called for each member of an object, in order, with where its key stands between its quotes, and its value. */
export type VisitMember = (keyStart: number, keyEnd: number, valueStart: number, valueEnd: number) => void

/**
 * Where the object that begins at `from` ends; see {@link valueEnd}.
 *
 * @param visit called for its own members, also where the object turns out not to be whole
 */
export function objectEnd(bytes: Buffer, from: number, to: number, depth = 0, visit?: VisitMember): number {
  let at = skipBlanks(bytes, from + 1, to)
  if (at < to && bytes[at] === CLOSE_BRACE) return at + 1
  while (at < to && bytes[at] === QUOTE) {
    const keyStart = at + 1
    at = stringEnd(bytes, at, to)
    if (at === -1) return -1
    const keyEnd = at - 1
    at = skipBlanks(bytes, at, to)
    if (at >= to || bytes[at] !== COLON) return -1
    const valueStart = skipBlanks(bytes, at + 1, to)
    at = valueEnd(bytes, valueStart, to, depth + 1)
    if (at === -1) return -1
    visit?.(keyStart, keyEnd, valueStart, at)
    at = skipBlanks(bytes, at, to)
    if (at >= to) return -1
    if (bytes[at] === CLOSE_BRACE) return at + 1
    if (bytes[at] !== COMMA) return -1
    at = skipBlanks(bytes, at + 1, to)
  }
  return -1
}

function arrayEnd(bytes: Buffer, from: number, to: number, depth: number): number {
  let at = skipBlanks(bytes, from + 1, to)
  if (at < to && bytes[at] === CLOSE_BRACKET) return at + 1
  while (at < to) {
    at = valueEnd(bytes, at, to, depth + 1)
    if (at === -1) return -1
    at = skipBlanks(bytes, at, to)
    if (at >= to) return -1
    if (bytes[at] === CLOSE_BRACKET) return at + 1
    if (bytes[at] !== COMMA) return -1
    at = skipBlanks(bytes, at + 1, to)
  }
  return -1
}

function numberEnd(bytes: Buffer, from: number, to: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from
  if (at >= to || !isDigit(bytes[at])) return -1
  at = bytes[at] === 0x30 ? at + 1 : digitsEnd(bytes, at, to)
  if (at < to && bytes[at] === 0x2e) {
    const end = digitsEnd(bytes, at + 1, to)
    if (end === at + 1) return -1
    at = end
  }
  if (at < to && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
    const sign = at + 1 < to && (bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d) ? 1 : 0
    const end = digitsEnd(bytes, at + 1 + sign, to)
    if (end === at + 1 + sign) return -1
    at = end
  }
  return at
}

function digitsEnd(bytes: Buffer, at: number, to: number): number {
  let i = at
  while (i < to && isDigit(bytes[i])) i += 1
  return i
}
