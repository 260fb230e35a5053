import { parseLine } from './parse-line.ts'
import { scanObject, scanObjectFromEnd, unquote } from './scan-json.ts'
import { wellFormed } from './well-formed.ts'

/**
 * The value of `key` in the first line of `text` that has it as a top-level field with a string value. Lines are not
 * parsed, and nothing inside a string or a nested value is ever taken for a field. `text` may be cut out of a file
 * anywhere: of a line cut at its end the complete fields count, of one cut at its beginning those that can be told
 * from its end. The value is well-formed UTF-16.
 */
export function extractJsonStringField(text: string, key: string): string | undefined {
  const needle = JSON.stringify(key)
  for (let at = text.indexOf(needle); at !== -1;) {
    const [start, end] = lineAround(text, at)
    const [first] = stringsIn(text, start, end, key)
    if (first !== undefined) return first
    at = text.indexOf(needle, end)
  }
  return undefined
}

/** Like {@link extractJsonStringField}, of the last line that has the field. */
export function extractLastJsonStringField(text: string, key: string): string | undefined {
  const needle = JSON.stringify(key)
  for (let at = text.lastIndexOf(needle); at !== -1;) {
    const [start, end] = lineAround(text, at)
    const last = stringsIn(text, start, end, key).at(-1)
    if (last !== undefined) return last
    at = start === 0 ? -1 : text.lastIndexOf(needle, start - 1)
  }
  return undefined
}

function lineAround(text: string, at: number): [start: number, end: number] {
  const start = at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1
  const end = text.indexOf('\n', at)
  return [start, end === -1 ? text.length : end]
}

/** The string values of a top-level field in one line, in their order. */
function stringsIn(text: string, start: number, end: number, key: string): string[] {
  const found: string[] = []
  for (const member of lineMembers(text, start, end)) {
    if (member.key !== key || text[member.start] !== '"') continue
    const value = unquote(text.slice(member.start, member.end))
    if (value !== undefined) found.push(wellFormed(value))
  }
  return found
}

/** A top-level field of a line and where its value stands in the text. */
export interface LineMember {
  key: string
  start: number
  end: number
}

/** The top-level fields of the line of `text` from `start` to `end`, which the text may cut at either side. */
export function lineMembers(text: string, start: number, end: number): LineMember[] {
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
  return damagedMembers(text, start, end)
}

/** Blanks, a byte order mark and zero bytes may stand before a line's object. */
function skipToObject(text: string, start: number, end: number): number {
  let at = start
  while (at < end && ' \t\r\uFEFF\0'.includes(text.charAt(at))) at += 1
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

/** A line that is no object, as a crash leaves it: the fields of the records that can be found in it. */
function damagedMembers(text: string, start: number, end: number): LineMember[] {
  const bytes = Buffer.from(text.slice(start, end))
  const members: LineMember[] = []
  // Positions in the parts are bytes; the record itself is found again as text.
  let read = 0
  let at = start
  for (const part of parseLine(bytes)) {
    if (!('record' in part)) continue
    at += bytes.toString('utf8', read, part.start).length
    read = part.start
    scanObject(text, at, end, (key, from, to) => members.push({ key, start: from, end: to }))
  }
  return members
}
