import { isUtf8 } from 'node:buffer'
import { isObject } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { scanObject } from './scan-json.ts'

/** A record in a line, or a stretch of it that cannot be read. Positions are bytes from the line's beginning. */
export type LinePart =
  | { record: Entry | RecordDraft; start: number; end: number }
  | { flaw: { kind: string; text: string }; start: number; end: number }

/**
 * What the bytes of one line, without its newline, hold, in order. A byte order mark and blanks around the object
 * (CR too) are no part of it. A line that is not one JSON object is searched for whole records: two on one line, or
 * one after the stub of another, as an append after a crash leaves them.
 */
export function parseLine(bytes: Uint8Array): LinePart[] {
  const [start, end] = trimmed(bytes)
  if (start === end) return []
  const whole = parseSpan(bytes, start, end)
  if (whole.value !== undefined) return recordParts(whole.value, bytes, start, end)
  return salvage(bytes, start, end)
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

function isRecord(value: Record<string, unknown>): value is RecordDraft {
  return typeof value['type'] === 'string' && value['type'] !== ''
}

/** Most objects looked at in one broken line, so that a crafted one cannot take quadratic time. */
const MAX_CANDIDATES = 10_000

function salvage(bytes: Uint8Array, from: number, to: number): LinePart[] {
  // In latin1 an index is a byte offset, and JSON's structure is all ASCII.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, to).toString('latin1')
  const parts: LinePart[] = []
  let done = from
  let at = from
  for (let tries = 0; tries < MAX_CANDIDATES; tries += 1) {
    at = text.indexOf('{"', at)
    if (at === -1) break
    const found = recordAt(text, bytes, at, to, at === done)
    if (found === undefined) {
      at += 1
      continue
    }
    if (!isBlank(text.slice(done, at))) parts.push({ flaw: FLAWS.torn, start: done, end: at })
    else if (parts.length > 0) parts.push({ flaw: FLAWS.glued, start: at, end: found.end })
    parts.push(...recordParts(found.value, bytes, at, found.end))
    at = found.end
    done = found.end
  }
  if (!isBlank(text.slice(done, to))) parts.push({ flaw: FLAWS.torn, start: done, end: to })
  return parts
}

/**
 * The record that begins at `at`. Where something unreadable stands before it, it may be a value inside a torn
 * record; then only an object that says whose line it is counts as one.
 */
function recordAt(
  text: string,
  bytes: Uint8Array,
  at: number,
  to: number,
  atBoundary: boolean,
): { value: unknown; end: number } | undefined {
  const keys = new Set<string>()
  const end = scanObject(text, at, to, (key) => keys.add(key))
  if (typeof end === 'string' || !keys.has('type')) return undefined
  const named = ['sessionId', 'parentUuid', 'messageId'].some((key) => keys.has(key))
  if (!atBoundary && !named) return undefined
  const { value } = parseSpan(bytes, at, end)
  return value === undefined ? undefined : { value, end }
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
