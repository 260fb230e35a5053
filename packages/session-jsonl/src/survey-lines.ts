import { stringFields } from './extract-field.ts'
import { parseLine } from './parse-line.ts'
import { recordFrom } from './window.ts'
import type { Window } from './window.ts'

/** What the lines of a window say of the session besides its conversation. Strings may be empty. */
export interface Survey {
  /** The last ones. */
  customTitle: string | undefined
  tag: string | undefined
  /** The first one. */
  sourceSessionId: string | undefined
  /**
   * Whether there are zero bytes, or a line that the window holds whole is no JSON object. Lines that look right at both
   * ends are not parsed.
   */
  isDamaged: boolean
}

/**
 * Looks at every line once. Pure.
 *
 * @param cut which of the lines at its ends the window cuts
 */
export function surveyLines(window: Window, cut: { first: boolean; last: boolean }): Survey {
  const { text, lines } = window
  const survey: Survey = {
    customTitle: undefined,
    tag: undefined,
    sourceSessionId: undefined,
    // JSON holds none, also where the window cuts it.
    isDamaged: text.includes('\0'),
  }
  const isSuspect = text.includes('}{"') || survey.isDamaged
  for (const line of lines) {
    const { start, end } = line
    const isCut = (start === 0 && cut.first) || (end === text.length && cut.last)
    if (!isCut && !survey.isDamaged) survey.isDamaged = isDamaged(window, start, end, isSuspect)
    readFields(window, { start, end, from: isSuspect ? start : recordFrom(text, line) }, survey)
  }
  return survey
}

/** The fields of the line from `start` to `end`, if any of them stands behind `from`. */
function readFields(
  window: Window,
  { start, end, from }: { start: number; end: number; from: number },
  survey: Survey,
): void {
  const line = window.text.slice(from, end)
  const last = (key: string): string | undefined =>
    line.includes(`"${key}"`) ? stringFields(window, start, end, key).at(-1) : undefined
  survey.customTitle = last('customTitle') ?? survey.customTitle
  survey.tag = last('tag') ?? survey.tag
  if (from === start && survey.sourceSessionId === undefined && line.includes('"sourceSessionId"'))
    [survey.sourceSessionId] = stringFields(window, start, end, 'sourceSessionId')
}

function isDamaged({ bytes, text }: Window, start: number, end: number, isSuspect: boolean): boolean {
  const last = text.charCodeAt(end - 1) === 0x0d ? end - 2 : end - 1
  if (!isSuspect && text.charCodeAt(start) === 0x7b && text.charCodeAt(last) === 0x7d) return false
  const line = text.slice(start, end)
  const looksRight = /^(?:\u00EF\u00BB\u00BF)?[ \t\r]*(?:\{[^]*\}[ \t\r]*)?$/.test(line)
  if (looksRight && !line.includes('}{"')) return false
  return parseLine(bytes.subarray(start, end)).some((part) => 'flaw' in part)
}
