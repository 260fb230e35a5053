import { formatJson } from './entry.ts'
import { scanObject } from './scan-json.ts'

/**
 * A line with top-level values replaced and every other byte kept: key order, blanks, number spelling, fields that
 * nobody here knows. A key that the line does not have is left out. Pure.
 */
export function editLine(line: Uint8Array, values: Readonly<Record<string, unknown>>): Uint8Array {
  // In latin1 an index is a byte offset.
  const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString('latin1')
  const begins = text.indexOf('{')
  const spans: { key: string; start: number; end: number }[] = []
  const end = scanObject(text, begins, text.length, (key, start, stop) => {
    if (Object.hasOwn(values, key)) spans.push({ key, start, end: stop })
  })
  if (typeof end === 'string') return line
  const pieces: Uint8Array[] = []
  let done = 0
  for (const span of spans) {
    pieces.push(line.subarray(done, span.start), Buffer.from(formatJson(values[span.key])))
    done = span.end
  }
  pieces.push(line.subarray(done))
  return Buffer.concat(pieces)
}
