import { cutText } from '../cut-text.ts'

const MAX_SHOWN_LINES = 60
const MAX_SHOWN_UNITS = 4000

/** A text as an answer shows it. */
export interface ShownText {
  /** In a fence that nothing in the text can close. */
  block: string
  shownLines: number
  /** Lines of the whole. */
  lines: number
  isCut: boolean
}

/** The beginning of a text, at most 60 lines and 4,000 UTF-16 units, in a fence. Pure. */
export function showText(text: string): ShownText {
  const all = text.replace(/\n$/u, '').split('\n')
  const some = all.slice(0, MAX_SHOWN_LINES).join('\n')
  const shown = cutText(some, MAX_SHOWN_UNITS)
  const longest = Math.max(2, ...(shown.match(/`+/gu) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return {
    block: `${fence}\n${shown}\n${fence}`,
    shownLines: shown.split('\n').length,
    lines: all.length,
    isCut: some.length < all.join('\n').length || shown.length < some.length,
  }
}

/** The first line of a text, cut to one that can be quoted in a sentence. */
export function firstLine(text: string, units = 200): string {
  const line = text.trim().split('\n', 1)[0]?.trim() ?? ''
  return line.length <= units ? line : `${cutText(line, units)}…`
}
