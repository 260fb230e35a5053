import { cutTextToBytes, ellipsize } from './cut-text.ts'

/** How many lines of one index are passed to the model. */
export const MAX_ENTRYPOINT_LINES = 200
/** How many UTF-8 bytes of one index are passed to the model. */
export const MAX_ENTRYPOINT_BYTES = 25_000
/** How much of the first line that was cut is looked at for the warning, in UTF-16 units. */
const MAX_LOST_UNITS = 4096

/** What is left of an index after the cut, and what the cut took. */
export interface EntrypointTruncation {
  /** The part that is passed on, without the warning. */
  content: string
  /** Lines of the whole cleaned text. */
  lineCount: number
  /** UTF-8 bytes of the whole cleaned text. */
  byteCount: number
  /** Whether lines beyond {@link MAX_ENTRYPOINT_LINES} were cut. */
  lineTruncated: boolean
  /** Whether bytes beyond {@link MAX_ENTRYPOINT_BYTES} were cut, after the lines were. */
  byteTruncated: boolean
  /** One line for the model and the user: the true size, each limit that was hit, what is missing, what to do. */
  warning?: string
}

/** A line that counts, and its number in the raw text, from 1. */
export interface CleanLine {
  text: string
  line: number
}

/**
 * Cleans the raw text of an index and cuts it to what is passed to the model: first to
 * {@link MAX_ENTRYPOINT_LINES} lines, then to {@link MAX_ENTRYPOINT_BYTES} UTF-8 bytes, back to the end of the
 * last whole line. Only a first line that alone is too long is cut inside, between graphemes, so that a text
 * that has anything in it never comes back empty.
 */
export function truncateEntrypointContent(raw: string): EntrypointTruncation {
  const lines = cleanLines(raw).map(({ text }) => text)
  const fitting = countFitting(lines.slice(0, MAX_ENTRYPOINT_LINES))
  return finishCut({
    lineCount: lines.length,
    byteCount: Buffer.byteLength(lines.join('\n')),
    kept: lines.slice(0, fitting),
    first: lines[0] ?? '',
    lost: lines[Math.max(fitting, 1)] ?? '',
  })
}

/** The cleaned lines that fit, and what is needed of the others to say what was cut. */
export interface Cut {
  lineCount: number
  byteCount: number
  kept: readonly string[]
  /** The first line, for when it alone does not fit; enough of it to be cut. */
  first: string
  /** The beginning of the first line, but for `first`, that is not passed on. */
  lost: string
}

export function finishCut(cut: Cut): EntrypointTruncation {
  const { lineCount, byteCount, kept, first } = cut
  const lineTruncated = lineCount > MAX_ENTRYPOINT_LINES
  const byteTruncated = kept.length < Math.min(lineCount, MAX_ENTRYPOINT_LINES)
  const content =
    kept.length === 0 && lineCount > 0 ? cutTextToBytes(first, MAX_ENTRYPOINT_BYTES) : kept.join('\n')
  const sizes = { content, lineCount, byteCount, lineTruncated, byteTruncated }
  if (!lineTruncated && !byteTruncated) return sizes
  return { ...sizes, warning: describeCut(sizes, cut) }
}

/** How many of `lines` fit into the byte limit, each whole. */
function countFitting(lines: readonly string[]): number {
  let bytes = -1
  for (const [index, line] of lines.entries()) {
    bytes += Buffer.byteLength(line) + 1
    if (bytes > MAX_ENTRYPOINT_BYTES) return index
  }
  return lines.length
}

function describeCut(sizes: EntrypointTruncation, { kept, lost }: Cut): string {
  const { lineCount, byteCount, lineTruncated, byteTruncated } = sizes
  const limits = [
    ...(lineTruncated ? [`${MAX_ENTRYPOINT_LINES} lines`] : []),
    ...(byteTruncated ? [`${MAX_ENTRYPOINT_BYTES} bytes`] : []),
  ].join(' and of ')
  const loadedBytes = Buffer.byteLength(sizes.content)
  const inside = kept.length === 0 ? `line 1 after its first ${loadedBytes} bytes` : ''
  const from = Math.max(kept.length, 1)
  const behind = lineCount - from
  const first = ellipsize(lost.slice(0, MAX_LOST_UNITS).trim(), 80)
  const whole =
    behind === 0
      ? ''
      : `line ${from + 1} to ${lineCount} (${behind} of ${lineCount} lines), from: ${JSON.stringify(first)}`
  const missing = [inside, whole].filter((part) => part !== '').join(', and ')
  return (
    `> Memory index cut: it has ${lineCount} lines and ${byteCount} bytes, over the limit of ${limits}. ` +
    `Not shown here: ${missing}. Read the file itself before relying on it, merge or remove entries, ` +
    `and keep each to one short line with the detail in its topic file.`
  )
}

/**
 * The lines of an index that count: without byte order mark, carriage returns, front matter, comments that
 * take whole lines, and the blank lines around the text.
 */
export function cleanLines(raw: string): CleanLine[] {
  const lines = raw
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((text, index) => ({ text: text.replace(/\r$/, ''), line: index + 1 }))
  const rest = withoutComments(withoutFrontMatter(lines))
  const first = rest.findIndex(({ text }) => text.trim() !== '')
  const last = rest.findLastIndex(({ text }) => text.trim() !== '')
  return first === -1 ? [] : rest.slice(first, last + 1)
}

function withoutFrontMatter(lines: CleanLine[]): CleanLine[] {
  if (lines[0]?.text.trimEnd() !== '---') return lines
  const close = lines.findIndex(({ text }, index) => index > 0 && text.trimEnd() === '---')
  return close === -1 ? lines : lines.slice(close + 1)
}

function withoutComments(lines: CleanLine[]): CleanLine[] {
  const nextClose = closingLines(lines)
  const kept: CleanLine[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]
    if (line === undefined) break
    const end = commentEnd(lines, index, nextClose)
    if (end === undefined) kept.push(line)
    else index = end
  }
  return kept
}

/** For each line, the first line after it that closes a comment. Found once: a search per line is quadratic. */
function closingLines(lines: readonly CleanLine[]): (number | undefined)[] {
  const next: (number | undefined)[] = []
  let close: number | undefined
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    next[index] = close
    if (lines[index]?.text.includes('-->')) close = index
  }
  return next
}

/** The line on which a comment ends that begins line `start`, if nothing but comments stands on its lines. */
function commentEnd(
  lines: readonly CleanLine[],
  start: number,
  nextClose: readonly (number | undefined)[],
): number | undefined {
  const opened = lines[start]?.text.trim() ?? ''
  if (!opened.startsWith('<!--')) return undefined
  let line = start
  // Two of the four units: `<!-->` is a comment, whole.
  let rest = opened.slice(2)
  for (;;) {
    const close = rest.indexOf('-->')
    if (close === -1) {
      const next = nextClose[line]
      if (next === undefined) return undefined
      line = next
      rest = lines[next]?.text ?? ''
      continue
    }
    rest = rest.slice(close + '-->'.length).trim()
    if (rest === '') return line
    if (!rest.startsWith('<!--')) return undefined
    rest = rest.slice(2)
  }
}
