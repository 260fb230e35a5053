import { isUtf8 } from 'node:buffer'
import { isObject } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { gluedObjects } from './glued-objects.ts'
import type { Span } from './glued-objects.ts'

/** A record in a line, or a stretch of it that cannot be read. Positions are bytes from the line's beginning. */
export type LinePart =
  | { record: Entry | RecordDraft; start: number; end: number }
  | { flaw: { kind: string; text: string }; start: number; end: number }

/**
 * What the bytes of one line, without its newline, hold, in order. A byte order mark and blanks around the object
 * (CR too) are no part of it. Of a line that is not one JSON object the whole records at its beginning and at its end
 * are read: two on one line, or one after the stub of another, as an append after a crash leaves them. Behind a stub a
 * record counts only if it is one of this session, since it may have been a value inside the stub.
 *
 * @param sessionId the session of the line; `undefined`, if that is not known, for any
 */
export function parseLine(bytes: Uint8Array, sessionId?: string): LinePart[] {
  const [start, end] = trimmed(bytes)
  if (start === end) return []
  const whole = parseSpan(bytes, start, end)
  if (whole.value !== undefined) return recordParts(whole.value, bytes, start, end)
  return salvage(bytes, start, end, sessionId)
}

const FLAWS = {
  torn: { kind: 'torn-line', text: 'is not JSON, as a write cut short leaves it' },
  glued: { kind: 'glued-lines', text: 'follows another record on the same line' },
  utf8: { kind: 'invalid-utf8', text: 'holds bytes that are not UTF-8; they read as U+FFFD' },
  notObject: { kind: 'not-an-object', text: 'is JSON but not an object' },
  noType: { kind: 'no-type', text: 'is an object without a type' },
  tooLong: { kind: 'line-too-long', text: 'is too long to be read as one line' },
} as const

/** The part that stands for a line too long to be held in memory. */
export function tooLong(length: number): LinePart {
  return { flaw: FLAWS.tooLong, start: 0, end: length }
}

function parseSpan(bytes: Uint8Array, start: number, end: number): { value?: unknown } {
  try {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
    const value: unknown = JSON.parse(text)
    return { value }
  } catch {
    return {}
  }
}

function recordParts(value: unknown, bytes: Uint8Array, start: number, end: number): LinePart[] {
  if (!isObject(value)) return [{ flaw: FLAWS.notObject, start, end }]
  if (!isRecord(value)) return [{ flaw: FLAWS.noType, start, end }]
  const part: LinePart = { record: value, start, end }
  return isUtf8(bytes.subarray(start, end)) ? [part] : [{ flaw: FLAWS.utf8, start, end }, part]
}

/** Whether an object is a record: it says of what kind. */
export function isRecord(value: Record<string, unknown>): value is RecordDraft {
  return typeof value['type'] === 'string' && value['type'] !== ''
}

function salvage(bytes: Uint8Array, from: number, to: number, sessionId: string | undefined): LinePart[] {
  // In latin1 an index is a byte offset, and JSON's structure is all ASCII.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, to).toString('latin1')
  const values = new Map<number, unknown>()
  const isWhole = ({ start, end }: Span): boolean => {
    const { value } = parseSpan(bytes, start, end)
    if (value !== undefined) values.set(start, value)
    return value !== undefined
  }
  const { leading, trailing } = gluedObjects(text, from, to, isWhole)
  const firstOwn = trailing.findIndex(({ start }) => isOwn(values.get(start), sessionId))
  const behind = firstOwn === -1 ? [] : trailing.slice(firstOwn)
  const parts: LinePart[] = []
  let done = from
  for (const { start, end } of [...leading, ...behind]) {
    if (!isBlank(text.slice(done, start))) parts.push({ flaw: FLAWS.torn, start: done, end: start })
    else if (parts.length > 0) parts.push({ flaw: FLAWS.glued, start, end })
    parts.push(...recordParts(values.get(start), bytes, start, end))
    done = end
  }
  if (!isBlank(text.slice(done, to))) parts.push({ flaw: FLAWS.torn, start: done, end: to })
  return parts
}

/** Whether an object says that it is a record of the session, or is of a kind that says nothing of sessions. */
function isOwn(value: unknown, sessionId: string | undefined): boolean {
  if (!isObject(value) || !isRecord(value)) return false
  const owner = value['sessionId']
  if (owner === undefined) return value.type.startsWith('file-history-')
  return typeof owner === 'string' && (sessionId === undefined || owner === sessionId)
}

function trimmed(bytes: Uint8Array): [start: number, end: number] {
  let start = 0
  let end = bytes.length
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) start = 3
  while (start < end && isBlankByte(bytes[start])) start += 1
  while (end > start && isBlankByte(bytes[end - 1])) end -= 1
  return [start, end]
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text)
}
