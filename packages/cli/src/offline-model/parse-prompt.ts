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
  const masked = maskQuotes(prompt.trim())
  const [head = '', ...rest] = masked.text.split(/\n[ \t\r]*\n/u)
  const tail = unmask(rest.join('\n\n'), masked.spans)
  const { steps, unknown } = parsePieces(joinPieces(splitPieces(head), masked), masked)
  const language = steps.length > 0 && unknown.length === 0 ? languageOfSteps(steps) : languageOf(head)
  return unknown.length === 0 && takesMore(steps.at(-1)) && tail !== ''
    ? { steps: [...steps.slice(0, -1), ...withContent(steps.at(-1), tail)], unknown, material: '', language }
    : { steps, unknown, material: tail, language }
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
