/**
 * JSON in bytes, looked at without making values of it. A text that is accepted here is one that `JSON.parse` accepts
 * (bytes that are not UTF-8 inside strings read as U+FFFD), and the other way round, but for depth.
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
export function valueEnd(bytes: Uint8Array, at: number, to: number, depth = 0): number {
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
export function stringEnd(bytes: Uint8Array, at: number, to: number): number {
  for (let i = at + 1; i < to; i += 1) {
    const byte = bytes[i] ?? 0
    if (byte === QUOTE) return i + 1
    if (byte === BACKSLASH) {
      const length = escapeLength(bytes, i, to)
      if (length === 0) return -1
      i += length - 1
    } else if (byte < 0x20) return -1
  }
  return -1
}

/** The position of the first byte from `at` on that is no blank. */
export function skipBlanks(bytes: Uint8Array, at: number, to: number): number {
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

function literalEnd(bytes: Uint8Array, at: number, to: number, letters: readonly number[]): number {
  if (at + letters.length > to) return -1
  for (const [index, letter] of letters.entries()) if (bytes[at + index] !== letter) return -1
  return at + letters.length
}

function escapeLength(bytes: Uint8Array, at: number, to: number): number {
  if (at + 1 >= to) return 0
  switch (bytes[at + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return 2
    case 0x75:
      if (at + 6 > to) return 0
      for (let i = at + 2; i < at + 6; i += 1) if (!isHex(bytes[i] ?? 0)) return 0
      return 6
    default:
      return 0
  }
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function objectEnd(bytes: Uint8Array, from: number, to: number, depth: number): number {
  let at = skipBlanks(bytes, from + 1, to)
  if (at < to && bytes[at] === CLOSE_BRACE) return at + 1
  while (at < to && bytes[at] === QUOTE) {
    at = stringEnd(bytes, at, to)
    if (at === -1) return -1
    at = skipBlanks(bytes, at, to)
    if (at >= to || bytes[at] !== COLON) return -1
    at = valueEnd(bytes, skipBlanks(bytes, at + 1, to), to, depth + 1)
    if (at === -1) return -1
    at = skipBlanks(bytes, at, to)
    if (at >= to) return -1
    if (bytes[at] === CLOSE_BRACE) return at + 1
    if (bytes[at] !== COMMA) return -1
    at = skipBlanks(bytes, at + 1, to)
  }
  return -1
}

function arrayEnd(bytes: Uint8Array, from: number, to: number, depth: number): number {
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

function numberEnd(bytes: Uint8Array, from: number, to: number): number {
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

function digitsEnd(bytes: Uint8Array, at: number, to: number): number {
  let i = at
  while (i < to && isDigit(bytes[i])) i += 1
  return i
}
