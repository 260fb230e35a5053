import type { StoredLine } from './stored-line.ts'

const LF = 0x0a

/**
 * How many lines at the beginning of a batch are in a file already, because an earlier call with the same batch was cut
 * short. Told by bytes: the file ends with the beginning of the batch, less what the file had before, and that is no
 * chance, since its last line is torn or one of these lines has a uuid. So lines without uuid are not doubled by a retry,
 * while the same line given twice is kept twice. Pure.
 *
 * @param tail the end of the file, a byte longer than the batch or the whole file
 * @param known the uuids in the file
 */
export function landedLines(
  tail: Uint8Array,
  lines: readonly StoredLine[],
  known: ReadonlySet<string>,
): number {
  const total = lines.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const isTorn = tail.length > 0 && tail.at(-1) !== LF
  if (!isTorn && lines.every(({ uuid }) => uuid === undefined)) return 0
  const last = linesFrom(tail, Math.max(0, tail.length - total))
  for (let start = 0; start < last.length; start += 1) {
    const found = matched(last.slice(start), lines, known)
    if (found && (isTorn || found.hasUuid)) return found.count
  }
  return 0
}

/**
 * How many lines of the batch the file has by its `last` lines, and whether one of these has a uuid; `undefined` if they
 * are anything else. The last one may be torn.
 */
function matched(
  last: readonly Buffer[],
  lines: readonly StoredLine[],
  known: ReadonlySet<string>,
): { count: number; hasUuid: boolean } | undefined {
  let at = 0
  let hasUuid = false
  for (const found of last) {
    for (;;) {
      const line = lines[at]
      if (line === undefined) return undefined
      if (line.bytes.subarray(0, found.length).equals(found)) break
      // It was in the file before the batch.
      if (line.uuid === undefined || !known.has(line.uuid)) return undefined
      at += 1
    }
    // A line that lacks only its newline is read, and gets one before the next.
    const line = lines[at]
    if (line === undefined || found.length < line.bytes.length - 1) continue
    hasUuid ||= line.uuid !== undefined
    at += 1
  }
  return { count: at, hasUuid }
}

/** The lines, each with its newline, that begin at or after `from`. */
function linesFrom(bytes: Uint8Array, from: number): Buffer[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const found: Buffer[] = []
  for (let at = from === 0 ? 0 : lineEnd(buffer, from - 1); at < buffer.length;) {
    const end = lineEnd(buffer, at)
    found.push(buffer.subarray(at, end))
    at = end
  }
  return found
}

/** Behind the newline at or after `from`; the end if there is none. */
function lineEnd(bytes: Buffer, from: number): number {
  const newline = bytes.indexOf(LF, from)
  return newline === -1 ? bytes.length : newline + 1
}
