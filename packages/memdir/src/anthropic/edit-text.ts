import { LociError } from '@loci/disk'

/** How many lines a file may have to be viewed; its number of digits is the width of line numbers. */
const MAX_LINES = 999_999
const CONTEXT_LINES = 2

/**
 * The lines of a text, numbered.
 *
 * @param range first and last line, from 1; -1: to the end
 * @throws {LociError} MEMORY_INVALID when there are too many lines
 */
export function numberLines(path: string, text: string, range?: readonly number[]): string {
  const lines = text.split('\n')
  if (lines.length > MAX_LINES) {
    throw new LociError(
      'MEMORY_INVALID',
      `File ${path} has too many lines (${lines.length}). Maximum is 999,999 lines.`,
    )
  }
  const [first = 1, last = -1] = range?.length === 2 ? range : []
  const start = Math.max(1, first) - 1
  return numbered(lines.slice(start, last === -1 ? lines.length : last), start)
}

function numbered(lines: readonly string[], start: number): string {
  return lines.map((line, index) => `${String(start + index + 1).padStart(6)}\t${line}`).join('\n')
}

/**
 * The text with `newText` in the place of the only `oldText`, and the numbered lines around that.
 *
 * @throws {LociError} MEMORY_INVALID when `oldText` is not there, or more than once
 */
export function replaceOnce(
  path: string,
  text: string,
  [oldText, newText]: readonly [string, string],
): { text: string; snippet: string } {
  const [old, replacement] = [withBreaksOf(text, oldText), withBreaksOf(text, newText)]
  const places = placesOf(text, old)
  const [place] = places
  if (place === undefined) {
    throw new LociError(
      'MEMORY_INVALID',
      `No replacement was performed, old_str \`${oldText}\` did not appear verbatim in ${path}.`,
    )
  }
  if (places.length > 1) {
    const lines = [...new Set(places.map((at) => lineAt(text, at) + 1))].join(', ')
    throw new LociError(
      'MEMORY_INVALID',
      `No replacement was performed. Multiple occurrences of old_str \`${oldText}\` in lines: ${lines}. Please ensure it is unique`,
    )
  }
  const replaced = text.slice(0, place) + replacement + text.slice(place + old.length)
  const changed = lineAt(text, place)
  const start = Math.max(0, changed - CONTEXT_LINES)
  const around = replaced.split('\n').slice(start, changed + CONTEXT_LINES + 1)
  return { text: replaced, snippet: numbered(around, start) }
}

/**
 * The text with `inserted` behind the given line, 0 for the beginning.
 *
 * @throws {LociError} MEMORY_INVALID when there is no such line
 */
export function insertLines(text: string, line: number, inserted: string): string {
  const lines = text.split('\n')
  if (!Number.isInteger(line) || line < 0 || line > lines.length) {
    throw new LociError(
      'MEMORY_INVALID',
      `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
    )
  }
  const added = withBreaksOf(text, inserted).replace(/\r?\n$/, '')
  // Behind a last line that has no end, the break comes first.
  if (line === lines.length) return text + withBreaksOf(text, '\n') + added
  const before = lines.slice(0, line).map((one) => `${one}\n`)
  return [...before, added, withBreaksOf(text, '\n'), lines.slice(line).join('\n')].join('')
}

/** Also those that overlap: which one is meant is as open. */
function placesOf(text: string, part: string): number[] {
  const places: number[] = []
  if (part === '') return places
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) places.push(at)
  return places
}

function lineAt(text: string, place: number): number {
  return text.slice(0, place).split('\n').length - 1
}

/** A file with CRLF keeps to it: the model cannot tell. */
function withBreaksOf(text: string, added: string): string {
  return /^[^\n]*\r\n/.test(text) ? added.replace(/\r?\n/g, '\r\n') : added
}
