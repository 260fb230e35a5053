/**
 * Finds the members of one JSON object in a text without parsing what they hold: structure is looked at, values are
 * skipped, and nothing inside a string is ever taken for structure. Positions are indexes into `text`; on a
 * `latin1` text they are byte offsets, since every structural character of JSON is ASCII.
 */

/** Called for each complete member, with where its value begins and ends. */
export type VisitMember = (key: string, start: number, end: number) => void

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Scans the object that begins at `from` (its `{`) and ends before `to`.
 *
 * @returns the position after its closing brace; `'cut'` if the text ends first; `'malformed'` if it is no object.
 * Members seen before a cut were complete.
 */
export function scanObject(
  text: string,
  from: number,
  to: number,
  visit: VisitMember,
): number | 'cut' | 'malformed' {
  if (text[from] !== '{') return 'malformed'
  let at = skipBlanks(text, from + 1, to)
  if (text[at] === '}' && at < to) return at + 1
  for (;;) {
    if (at >= to) return 'cut'
    if (text.charCodeAt(at) !== QUOTE) return 'malformed'
    const keyEnd = stringEnd(text, at, to)
    if (keyEnd === -1) return 'cut'
    const plain = text.slice(at + 1, keyEnd - 1)
    const key = plain.includes('\\') ? unquote(text.slice(at, keyEnd)) : plain
    at = skipBlanks(text, keyEnd, to)
    if (at >= to) return 'cut'
    if (text[at] !== ':') return 'malformed'
    const start = skipBlanks(text, at + 1, to)
    const end = valueEnd(text, start, to)
    if (typeof end === 'string') return end
    if (key !== undefined) visit(key, start, end)
    at = skipBlanks(text, end, to)
    if (at >= to) return 'cut'
    if (text[at] === '}') return at + 1
    if (text[at] !== ',') return 'malformed'
    at = skipBlanks(text, at + 1, to)
  }
}

/**
 * Scans, from its end, an object whose beginning is missing: the text from `from` to `to` is the rest of a line, and
 * its last character other than a blank is the object's closing brace. Members come last first; the scan ends
 * quietly at the cut.
 */
export function scanObjectFromEnd(text: string, from: number, to: number, visit: VisitMember): void {
  let at = skipBlanksBack(text, to, from)
  if (text[at - 1] !== '}' || at <= from) return
  at -= 1
  for (;;) {
    const end = skipBlanksBack(text, at, from)
    const start = valueStart(text, end, from)
    if (start === -1) return
    const colon = skipBlanksBack(text, start, from)
    if (colon <= from || text[colon - 1] !== ':') return
    const keyEnd = skipBlanksBack(text, colon - 1, from)
    if (keyEnd <= from || text.charCodeAt(keyEnd - 1) !== QUOTE) return
    const keyStart = stringStart(text, keyEnd, from)
    if (keyStart === -1) return
    const key = unquote(text.slice(keyStart, keyEnd))
    if (key !== undefined) visit(key, start, end)
    at = skipBlanksBack(text, keyStart, from)
    if (at <= from || text[at - 1] !== ',') return
    at -= 1
  }
}

/** The string that a JSON string token stands for; `undefined` if it is none. */
export function unquote(token: string): string | undefined {
  if (!token.includes('\\')) return token.slice(1, -1)
  try {
    const value: unknown = JSON.parse(token)
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** The first position from `from` on, before `to`, that holds no blank. */
export function skipBlanks(text: string, from: number, to: number): number {
  let at = from
  while (at < to && isBlank(text.charCodeAt(at))) at += 1
  return at
}

/** The last position down from `from`, after `to`, that has no blank before it. */
export function skipBlanksBack(text: string, from: number, to: number): number {
  let at = from
  while (at > to && isBlank(text.charCodeAt(at - 1))) at -= 1
  return at
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d
}

/** After the closing quote of the string that opens at `open`; -1 if there is none before `to`. */
export function stringEnd(text: string, open: number, to: number): number {
  let at = open
  for (;;) {
    at = text.indexOf('"', at + 1)
    if (at === -1 || at >= to) return -1
    if (!isEscaped(text, at)) return at + 1
  }
}

/**
 * Where the string opens whose closing quote stands before `end`; -1 if that cannot be told: a quote right at `from`, or
 * with nothing but backslashes between, may be an escaped one whose backslash is cut off.
 */
function stringStart(text: string, end: number, from: number): number {
  let at = end - 1
  for (;;) {
    at = at === 0 ? -1 : text.lastIndexOf('"', at - 1)
    if (at < from) return -1
    let before = at
    while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before -= 1
    if (before === from) return -1
    if ((at - before) % 2 === 0) return at
  }
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote
  while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1
  return (quote - before) % 2 === 1
}

const LITERAL = /true|false|null|-?\d[\d.eE+-]*/y

function valueEnd(text: string, start: number, to: number): number | 'cut' | 'malformed' {
  if (start >= to) return 'cut'
  const first = text.charCodeAt(start)
  if (first === QUOTE) {
    const end = stringEnd(text, start, to)
    return end === -1 ? 'cut' : end
  }
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) {
    LITERAL.lastIndex = start
    if (LITERAL.test(text)) return LITERAL.lastIndex < to ? LITERAL.lastIndex : 'cut'
    return /^(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-)$/.test(text.slice(start, to)) ? 'cut' : 'malformed'
  }
  let depth = 0
  for (let at = start; at < to; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      const end = stringEnd(text, at, to)
      if (end === -1) return 'cut'
      at = end - 1
    } else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) depth += 1
    else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return 'cut'
}

/** Where the value begins that ends before `end`; -1 if that is not after `from`. */
function valueStart(text: string, end: number, from: number): number {
  if (end <= from) return -1
  if (text.charCodeAt(end - 1) === QUOTE) return stringStart(text, end, from)
  if (text[end - 1] !== '}' && text[end - 1] !== ']') {
    let at = end
    while (at > from && /[\w.+-]/.test(text.charAt(at - 1))) at -= 1
    // Nothing before it in the text: the value itself may be cut.
    return at === end || at === from ? -1 : at
  }
  return matchingBrace(text, end, from)
}

/** Where the object or array opens whose last bracket stands before `end`; -1 if that is before `from`. */
export function matchingBrace(text: string, end: number, from: number): number {
  let depth = 0
  for (let at = end - 1; at >= from; at -= 1) {
    const unit = text[at]
    if (unit === '"') {
      at = stringStart(text, at + 1, from)
      if (at === -1) return -1
    } else if (unit === '}' || unit === ']') depth += 1
    else if (unit === '{' || unit === '[') {
      depth -= 1
      if (depth === 0) return at
    }
  }
  return -1
}
