import { parseLine } from './parse-line.ts'
import { isLongPrompt } from './prompt-text.ts'
import { scanObject, skipBlanks, unquote } from './scan-json.ts'
import { stringAt } from './window.ts'
import type { Line, Window } from './window.ts'

/** Of the beginning of a prompt, so many bytes, a list shows all that it would of the whole; if not, of the next more. */
const ENOUGH_BYTES = [400, 1_536]

/** The fields that a list wants of a record, besides its message. */
const WANTED = new Set([
  'type',
  'uuid',
  'sessionId',
  'cwd',
  'gitBranch',
  'timestamp',
  'isSidechain',
  'isMeta',
  'isCompactSummary',
  'forkedFrom',
  'lastPrompt',
  'leafUuid',
  'explicit',
])

/**
 * The records in a line, with what a list shows of them; see {@link wholeRecord}. A line that is not one whole object is
 * read as `parseLine` does. Pure.
 */
export function lightRecords(window: Window, line: Line, sessionId: string): Record<string, unknown>[] {
  const record = wholeRecord(window, line)
  if (record) return typeof record['type'] === 'string' && record['type'] !== '' ? [record] : []
  // Zero runs part a line; as blanks they do the same here.
  const text = window.text.slice(line.start, line.end)
  // Zeros, blanks and most garbage need not be parsed to know that they hold no record.
  if (!text.includes('"type"')) return []
  const bytes = text.includes('\0')
    ? Buffer.from(text.replaceAll('\0', ' '), 'latin1')
    : window.bytes.subarray(line.start, line.end)
  return parseLine(bytes, sessionId).flatMap((part) => ('record' in part ? [part.record] : []))
}

/**
 * The object that a line is, with the fields that a list wants of it, and of a user's message the content, of a long
 * prompt its beginning; nothing else is parsed or decoded. `undefined` if the line is not one whole object. Pure.
 */
export function wholeRecord(window: Window, line: Line): Record<string, unknown> | undefined {
  line.known ??= { record: readWhole(window, line) }
  return line.known.record
}

function readWhole(window: Window, { start, end }: Line): Record<string, unknown> | undefined {
  const { text } = window
  const record: Record<string, unknown> = {}
  let message: Line | undefined
  const after = scanObject(text, start, end, (key, from, to) => {
    if (key === 'message') message = { start: from, end: to }
    else if (WANTED.has(key)) record[key] = valueOf(window, { start: from, end: to })
  })
  if (typeof after !== 'number' || skipBlanks(text, after, end) !== end) return undefined
  if (message !== undefined && record['type'] === 'user')
    record['message'] = { content: contentOf(window, message) }
  return record
}

function valueOf(window: Window, { start, end }: Line): unknown {
  const { bytes, text } = window
  switch (text.charCodeAt(start)) {
    case 0x22: // "
      return stringAt(window, start, end)
    case 0x74: // true
      return true
    case 0x66: // false
      return false
    case 0x6e: // null
      return null
    default:
      return parse(bytes.toString('utf8', start, end))
  }
}

function parse(token: string): unknown {
  try {
    return JSON.parse(token)
  } catch {
    return undefined
  }
}

/** Whether the content that begins at `at` begins with the result of a tool, as clients write it. */
export function isToolResult(text: string, at: number): boolean {
  TOOL_RESULT.lastIndex = at
  return TOOL_RESULT.test(text)
}

const TOOL_RESULT = /\[\{(?:"tool_use_id":"[^"\\]*",)?"type":"tool_result"[,}]/y

function contentOf(window: Window, message: Line): unknown {
  let content: Line | undefined
  scanObject(window.text, message.start, message.end, (key, start, end) => {
    if (key === 'content') content = { start, end }
  })
  if (content === undefined) return undefined
  // One such block tells, and it may be long.
  if (isToolResult(window.text, content.start)) return [{ type: 'tool_result' }]
  return beginningOf(window, content) ?? valueOf(window, content)
}

/** The beginning of a long string, if a list shows no more of it. */
function beginningOf({ bytes, text }: Window, { start, end }: Line): string | undefined {
  if (text[start] !== '"') return undefined
  for (const enough of ENOUGH_BYTES) {
    if (end - start <= enough) return undefined
    // A blank is no part of an escape or of another character.
    const blank = text.lastIndexOf(' ', start + enough)
    const content = blank > start ? unquote(`${bytes.toString('utf8', start, blank)}"`) : undefined
    // What an editor adds is left out of a prompt, up to its end.
    if (content === undefined || content.includes('<ide_')) return undefined
    if (isLongPrompt(content)) return content
  }
  return undefined
}
