/**
 * A text as a search compares it: without case (ß as ss, final sigma as sigma, İ as i), in compatibility form (NFKC:
 * ﬁ as fi, Ａ as a), each run of blanks one space. Pure.
 */
export function fold(text: string): string {
  return foldLetters(text).replaceAll(/\s{2,}|[^\S ]/g, ' ')
}

function foldLetters(text: string): string {
  if (isAscii(text)) return text.toLowerCase()
  return text
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
}

/** Whether every character of `text` is ASCII. */
export function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[\u0000-\u007F]*$/.test(text)
}

/**
 * The words of a query, folded; what stands between two quotes is one of them. A quote without its pair counts as a
 * blank. None for a query of blanks and quotes. Pure.
 */
export function wordsOf(query: string): string[] {
  const words: string[] = []
  const parts = query.split('"')
  for (const [index, part] of parts.entries()) {
    const isPhrase = index % 2 === 1 && index < parts.length - 1
    words.push(...(isPhrase ? [part] : part.split(/\s+/)))
  }
  return [...new Set(words.map((word) => fold(word).trim()))].filter((word) => word !== '')
}

/**
 * A test on the raw bytes of a line that is never false where a text of the line, once parsed and folded, holds all the
 * words. It asks for the parts of the words that JSON cannot write otherwise, and passes lines with such escapes as
 * could be any character. Pure.
 */
export function lineFilter(words: readonly string[]): (line: Uint8Array) => boolean {
  const parts = [...new Set(words.flatMap(plainParts))]
  return (line) => {
    const raw = Buffer.from(line.buffer, line.byteOffset, line.length)
    const text = raw.toString('utf8')
    if (MAY_BE_ANYTHING.test(text)) return true
    const folded = foldLetters(text)
    return parts.every((part) => folded.includes(part))
  }
}

/** `\u0000` to `\u001F` stand for control characters, which no part holds; others may stand for anything. */
const MAY_BE_ANYTHING = /\\u(?!00[01])/

/** What of a folded word is the same in a line, whichever way its characters that need an escape are written. */
function plainParts(word: string): string[] {
  // An escape ends with a letter, with which a mark behind it would be composed: only what follows the marks is sure.
  return word
    .split(/[\s"\\/\p{Cc}]+/u)
    .map((part) => part.replace(/^\p{M}+/u, ''))
    .filter((part) => part !== '')
}
