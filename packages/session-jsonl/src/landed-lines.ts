import type { StoredLine } from './stored-line.ts'

const LF = 0x0a

/**
 * How many lines at the beginning of a batch stand whole at the end of a file already, because an earlier call with the
 * same batch was cut short. Told by bytes: the file ends with the beginning of the batch, and that is no chance, since
 * the last line of it is torn or one of its lines has a uuid. So lines without uuid are not doubled by a retry, while
 * the same line given twice is kept twice. Pure.
 *
 * @param tail the end of the file, at least as long as the batch or the whole file
 */
export function landedLines(tail: Uint8Array, lines: readonly StoredLine[]): number {
  const batch = Buffer.concat(lines.map(({ bytes }) => bytes))
  for (let start = lineAt(tail, Math.max(0, tail.length - batch.length)); start < tail.length;) {
    const end = tail.subarray(start)
    if (batch.subarray(0, end.length).equals(end)) {
      const landed = wholeLines(lines, end.length)
      if (tail.at(-1) !== LF || lines.slice(0, landed).some(({ uuid }) => uuid !== undefined)) return landed
    }
    start = lineAt(tail, start + 1)
  }
  return 0
}

/** Where the first line begins at or after `from`. */
function lineAt(bytes: Uint8Array, from: number): number {
  if (from === 0) return 0
  const newline = bytes.indexOf(LF, from - 1)
  return newline === -1 ? bytes.length : newline + 1
}

function wholeLines(lines: readonly StoredLine[], length: number): number {
  let count = 0
  let end = 0
  for (const { bytes } of lines) {
    end += bytes.length
    if (end > length) break
    count += 1
  }
  return count
}
