/** A text whose quoted spans are placeholders, so that no pattern and no split looks inside quotes. */
export interface MaskedText {
  text: string
  spans: Span[]
}

interface Span {
  /** As it stood in the text, with its quotes. */
  raw: string
  /** What stands between the quotes; absent for a character that only looks like a placeholder. */
  inner?: string
  /** Whether backslashes in it are escapes. */
  escaped: boolean
}

/** An argument of a request, taken out of its quotes if it had any. */
export interface Argument {
  /** With `\n`, `\t`, `\\` and escaped quotes resolved, if it was quoted. */
  value: string
  /** The text between the quotes, escapes as written; `value` if it was not quoted. */
  verbatim: string
  quoted: boolean
}

/** A placeholder in a pattern: matches one quoted span. */
export const QUOTED: string = String.raw`\uE000\d+\uE001`

const MARKS = /[\uE000\uE001]/u
const CLOSING: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '‘': '’',
  '「': '」',
  '『': '』',
}
const FENCE = /```[^\n`]*\n(?<inner>[\s\S]*?(?:^|\n))```/uy
/** After or before these a single quote is an apostrophe. */
const WORD = /[\p{Script=Latin}\p{N}]/u

/** Replaces every quoted span and fenced block by a placeholder. A quote that is never closed is plain text. */
export function maskQuotes(source: string): MaskedText {
  const spans: Span[] = []
  // Quotes that are not closed any more from here on: looking for their end again and again would take forever.
  const unclosed = new Set<string>()
  let text = ''
  let at = 0
  while (at < source.length) {
    const char = source.charAt(at)
    const span =
      spanAt(source, at, unclosed) ?? (MARKS.test(char) ? { raw: char, escaped: false } : undefined)
    if (span === undefined) {
      text += char
      at += 1
    } else {
      text += `\uE000${spans.push(span) - 1}\uE001`
      at += span.raw.length
    }
  }
  return { text, spans }
}

function spanAt(source: string, start: number, unclosed: Set<string>): Span | undefined {
  if (source.startsWith('```', start) && !unclosed.has('```')) {
    FENCE.lastIndex = start
    const fence = FENCE.exec(source)
    if (fence !== null) return { raw: fence[0], inner: fence.groups?.['inner'] ?? '', escaped: false }
    unclosed.add('```')
  }
  const close = CLOSING[source.charAt(start)]
  if (close === undefined || unclosed.has(close)) return undefined
  const single = close === "'" || close === '’'
  if (single && WORD.test(source.charAt(start - 1))) return undefined
  for (let at = start + 1; at < source.length; at += 1) {
    const char = source.charAt(at)
    if (char === '\\') at += 1
    else if (char === close && !(single && WORD.test(source.charAt(at + 1))))
      return { raw: source.slice(start, at + 1), inner: source.slice(start + 1, at), escaped: true }
  }
  unclosed.add(close)
  return undefined
}

/** A piece of a masked text as it was written. */
export function unmask(piece: string, spans: readonly Span[]): string {
  return piece.replace(/\uE000(\d+)\uE001/gu, (_, index: string) => spans[Number(index)]?.raw ?? '')
}

/** A piece of a masked text as an argument: without its quotes if they enclose all of it. */
export function toArgument(piece: string, spans: readonly Span[]): Argument {
  const trimmed = piece.trim()
  const index = /^\uE000(\d+)\uE001$/u.exec(trimmed)?.[1]
  const span = index === undefined ? undefined : spans[Number(index)]
  if (span?.inner === undefined) {
    const value = unmask(trimmed, spans)
    return { value, verbatim: value, quoted: false }
  }
  const value = span.escaped ? resolveEscapes(span.inner) : span.inner
  return { value, verbatim: span.inner, quoted: true }
}

function resolveEscapes(text: string): string {
  return text.replace(/\\([nt\\"'`”’」』])/gu, (_, char: string) =>
    char === 'n' ? '\n' : char === 't' ? '\t' : char,
  )
}
