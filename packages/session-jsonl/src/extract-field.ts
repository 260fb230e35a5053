import { parseLine } from './parse-line.ts'
import { scanObject, scanObjectFromEnd } from './scan-json.ts'
import { lineBefore, lineEnd, stringAt, windowOf } from './window.ts'
import type { Window } from './window.ts'

/**
 * The value of `key` in the first line of `text` that has it as a top-level field with a string value. Lines are not
 * parsed, and nothing inside a string or a nested value is ever taken for a field. `text` may be cut out of a file
 * anywhere: of a line cut at its end the complete fields count, of one cut at its beginning those that can be told
 * from its end. The value is well-formed UTF-16.
 */
export function extractJsonStringField(text: string, key: string): string | undefined {
  return firstField(windowOf(Buffer.from(text)), key)
}

/** Like {@link extractJsonStringField}, of the last line that has the field. */
export function extractLastJsonStringField(text: string, key: string): string | undefined {
  return lastField(windowOf(Buffer.from(text)), key)
}

function firstField(window: Window, key: string): string | undefined {
  const { text } = window
  const needle = inLatin1(JSON.stringify(key))
  for (let at = text.indexOf(needle); at !== -1;) {
    const end = lineEnd(text, at)
    const [first] = stringFields(window, lineBefore(text, at), end, key)
    if (first !== undefined) return first
    at = text.indexOf(needle, end)
  }
  return undefined
}

/** {@link extractLastJsonStringField} of a window. */
export function lastField(window: Window, key: string): string | undefined {
  const { text } = window
  const needle = inLatin1(JSON.stringify(key))
  for (let at = text.lastIndexOf(needle); at !== -1;) {
    const start = lineBefore(text, at)
    const last = stringFields(window, start, lineEnd(text, at), key).at(-1)
    if (last !== undefined) return last
    at = start === 0 ? -1 : text.lastIndexOf(needle, start - 1)
  }
  return undefined
}

/** The string values of a top-level field in the line from `start` to `end`, in their order. */
export function stringFields(window: Window, start: number, end: number, key: string): string[] {
  const found: string[] = []
  const wanted = inLatin1(key)
  for (const member of lineMembers(window, start, end)) {
    const value = member.key === wanted ? stringAt(window, member.start, member.end) : undefined
    if (value !== undefined) found.push(value)
  }
  return found
}

function inLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** A top-level field of a line, its key in latin1, and where its value stands. */
export interface LineMember {
  key: string
  start: number
  end: number
}

/** The top-level fields of the line from `start` to `end`, which the window may cut at either side. */
export function lineMembers({ bytes, text }: Window, start: number, end: number): LineMember[] {
  const members: LineMember[] = []
  const visit = (key: string, from: number, to: number): void => {
    members.push({ key, start: from, end: to })
  }
  const begins = skipToObject(text, start, end)
  const state = text[begins] === '{' ? scanLine(text, begins, end, visit) : 'malformed'
  if (state === 'closed' || (state === 'cut' && end === text.length)) return members
  members.length = 0
  // Only a newline tells that this is where the line really ends. What begins as a line does and ends too early is torn.
  if (start === 0 && end < text.length && state === 'malformed') {
    scanObjectFromEnd(text, start, end, visit)
    return members.toReversed()
  }
  // A line that is no object, as a crash leaves it: the fields of the records that can be found in it.
  for (const part of parseLine(bytes.subarray(start, end)))
    if ('record' in part) scanObject(text, start + part.start, end, visit)
  return members
}

/** The last three are a byte order mark. */
const BLANKS = new Set([' ', '\t', '\r', '\0', '\u00EF', '\u00BB', '\u00BF'])

/** Blanks, a byte order mark and zero bytes may stand before a line's object. */
function skipToObject(text: string, start: number, end: number): number {
  let at = start
  while (at < end && BLANKS.has(text.charAt(at))) at += 1
  return at
}

/** A line may hold several objects, glued together by a crash. */
function scanLine(
  text: string,
  start: number,
  end: number,
  visit: (key: string, from: number, to: number) => void,
): 'closed' | 'cut' | 'malformed' {
  for (let at = start; at < end; at = skipToObject(text, at, end)) {
    const after = scanObject(text, at, end, visit)
    if (typeof after === 'string') return after
    at = after
  }
  return 'closed'
}
