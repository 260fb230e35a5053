import { maskQuotes, unmask } from './mask-quotes.ts'
import type { MaskedText } from './mask-quotes.ts'
import { languageOf, parseStep } from './parse-step.ts'
import type { Language, ParsedStep, Step } from './step.ts'

/** A prompt as it was understood. */
export interface ParsedPrompt {
  steps: ParsedStep[]
  /** The parts that no rule fits, as they were written. */
  unknown: string[]
  /** What stands after the first empty line: text to look at, never requests. */
  material: string
  language: Language
}

const SMALL_TALK: ReadonlySet<Step['kind']> = new Set([
  'ask',
  'list-memory',
  'ask-date',
  'greet',
  'thanks',
  'help',
  'forget',
])

interface Piece {
  text: string
  /** What separated it from the piece before. */
  separator: string
}

const SEPARATOR =
  /(?:[,;.，；。]?\s+(?:and\s+)?then\b,?\s+|\s*[，,；;。]?\s*(?:然后|接着)(?:再)?[，,]?\s*|[，,]\s*(?:最后)?再\s*|\s再\s*|\s*[；;]\s*|\s*\n\s*)/giu

/**
 * Takes a prompt apart into steps. Pure. Steps are joined by "then", "然后", a semicolon or a new line, never
 * inside quotes. Free text at the end of a step (what to remember, what to write, a command) goes on over a
 * separator if what follows is no request.
 *
 * An empty line ends the requests: what follows it may have come from a file, and a line of a file that happens to
 * read like a request must not be carried out. It becomes `material`, or the content of a file to be created.
 */
export function parsePrompt(prompt: string): ParsedPrompt {
  const { masked, rest, isTorn } = takeRequests(prompt.trim())
  const { steps, unknown } = parsePieces(joinPieces(splitPieces(masked.text), masked), masked)
  const language = steps.length > 0 && unknown.length === 0 ? languageOfSteps(steps) : languageOf(masked.text)
  const last = steps.at(-1)
  if (rest === '' || unknown.length > 0 || !takesMore(last))
    return { steps, unknown, material: rest, language }
  // The content of the file would hold what was meant as the end of the request.
  if (isTorn) return { steps: [], unknown: [unmask(masked.text, masked.spans)], material: rest, language }
  return { steps: [...steps.slice(0, -1), ...withContent(last, rest)], unknown, material: '', language }
}

/** What ends a request after a quoted text of several paragraphs. */
const AFTER_PARAGRAPHS = /^\s*(?:(?:to|into|in|(?:追加|添加|写入|写|保存)到?)\s*\S+)?$/iu
const EMPTY_LINE = /\n[ \t\r]*\n/u

/**
 * Parts the requests from what follows the first empty line. A quoted text may hold empty lines, but only at the end
 * of the prompt: otherwise a quote left open in the requests could be closed by a quote in the text that follows, and
 * what stands behind that would be carried out.
 */
function takeRequests(prompt: string): { masked: MaskedText; rest: string; isTorn: boolean } {
  const whole = maskQuotes(prompt)
  const crossing = whole.spans.findIndex(({ raw }) => EMPTY_LINE.test(raw))
  const [before = '', after = ''] = whole.text.split(`\uE000${crossing}\uE001`)
  const isTorn = crossing >= 0 && !EMPTY_LINE.test(before)
  if (isTorn && AFTER_PARAGRAPHS.test(after)) return { masked: whole, rest: '', isTorn: false }
  const [head = '', ...rest] = prompt.split(EMPTY_LINE)
  return { masked: maskQuotes(head), rest: rest.join('\n\n'), isTorn }
}

function languageOfSteps(steps: readonly ParsedStep[]): Language {
  return steps.some(({ language }) => language === 'zh') ? 'zh' : 'en'
}

function splitPieces(text: string): Piece[] {
  const pieces: Piece[] = []
  let start = 0
  let separator = ''
  for (const match of text.matchAll(SEPARATOR)) {
    pieces.push({ text: text.slice(start, match.index), separator })
    separator = match[0]
    start = match.index + separator.length
  }
  return [...pieces, { text: text.slice(start), separator }]
}

/** Puts back together what was free text across a separator. */
function joinPieces(pieces: readonly Piece[], { spans }: MaskedText): string[] {
  const joined: string[] = []
  let isBlock = false
  for (const { text, separator } of pieces) {
    const before = joined.at(-1)
    const open = before === undefined ? undefined : parseStep(before, spans)
    if (
      before === undefined ||
      open?.open !== true ||
      (!isBlock && begins(text, separator, open.step, spans))
    ) {
      if (text.trim() !== '') joined.push(text)
      isBlock = false
    } else {
      // A text that begins on a line of its own has all the lines that follow.
      isBlock ||= open.step.kind === 'create' && open.step.content === '' && separator.includes('\n')
      joined[joined.length - 1] = before + separator + text
    }
  }
  return joined
}

/** Whether a piece after an open step is a step of its own. */
function begins(text: string, separator: string, open: Step, spans: MaskedText['spans']): boolean {
  const next = parseStep(text, spans)
  if (next === undefined) return false
  const writes = open.kind === 'create' || open.kind === 'append'
  if (!writes || !separator.includes('\n')) return true
  if (open.kind === 'create' && open.content === '') return false
  // A line of a text may well read like a question or a greeting.
  return !SMALL_TALK.has(next.step.kind)
}

function parsePieces(
  pieces: readonly string[],
  { spans }: MaskedText,
): Pick<ParsedPrompt, 'steps' | 'unknown'> {
  const parsed = pieces.map((piece) => ({ piece, step: parseStep(piece, spans) }))
  return {
    steps: parsed.flatMap(({ step }) => (step === undefined ? [] : [step])),
    unknown: parsed.flatMap(({ piece, step }) => (step === undefined ? [unmask(piece, spans).trim()] : [])),
  }
}

function takesMore(last: ParsedStep | undefined): boolean {
  return last?.step.kind === 'create' && (last.open || last.step.content === '')
}

function withContent(last: ParsedStep | undefined, tail: string): ParsedStep[] {
  if (last?.step.kind !== 'create') return []
  const content = last.step.content === '' ? tail : `${last.step.content}\n\n${tail}`
  return [{ ...last, step: { ...last.step, content } }]
}
