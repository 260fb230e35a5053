import type { Earlier, Outcome } from './conversation.ts'
import { parseMemoryNote, parseSearchHits } from './memory-text.ts'
import { parsePrompt } from './parse-prompt.ts'
import { overlap, topicsOf } from './word-overlap.ts'

/** Something the request says that can answer a question. */
export interface Statement {
  text: string
  source: 'memory' | 'said' | 'result' | 'given'
  /** The memory's file, or what was read or run; else empty. */
  where: string
  /** Whether the text is only the beginning of what is known. */
  isCut: boolean
}

/** How many lines of one tool result are looked at. */
const MAX_LINES = 2000
const ASKS_WHO = /\bwho am i\b|\bmy name\b|我是谁|我叫什么|我的名字/iu
const SAYS_WHO = /\bi am\b|\bi[’']m\b|\bmy name\b|\bcall me\b|我是|我叫|我的名字|叫我/iu

/** What answers a question. */
export interface Recalled {
  /** At most three, newest first; empty if nothing fits. */
  statements: Statement[]
  /** How much of what is asked they speak of, from 0 to 1. */
  score: number
}

/**
 * The statements that answer a question best. Pure.
 *
 * They come from memory, from what the user said, from the results of tools, and from text given with the prompt.
 */
export function recall(question: string, statements: readonly Statement[]): Recalled {
  if (ASKS_WHO.test(question)) {
    const names = statements.filter(({ text }) => SAYS_WHO.test(text))
    if (names.length > 0) return { statements: newestFirst(names), score: 1 }
  }
  const asked = topicsOf(question)
  const scored = statements.map((statement) => ({
    statement,
    score: overlap(asked, topicsOf(statement.text)),
  }))
  const score = scored.reduce((most, one) => Math.max(most, one.score), 0)
  if (score === 0) return { statements: [], score }
  return {
    statements: newestFirst(scored.flatMap((one) => (one.score === score ? [one.statement] : []))),
    score,
  }
}

function newestFirst(statements: readonly Statement[]): Statement[] {
  return withoutRepeats(statements.toReversed()).slice(0, 3)
}

/** All that the conversation says, in order, each memory file once as it was seen last. */
export function statementsOf(
  earlier: readonly Earlier[],
  done: readonly Outcome[],
  material: string,
): Statement[] {
  let known: Statement[] = []
  for (const item of earlier) known = withItem(known, item)
  for (const outcome of done) known = withMore(known, statementsOfOutcome(outcome))
  return [...known, ...linesOf(material, { source: 'given', where: '' })]
}

function withItem(known: readonly Statement[], item: Earlier): Statement[] {
  if (item.kind === 'outcome') return withMore(known, statementsOfOutcome(item.outcome))
  if (item.kind === 'prompt') return withMore(known, statementsOfPrompt(item.text))
  if (!item.name.startsWith('memory')) return [...known]
  const note = parseMemoryNote(item.text)
  const isGone = ({ source, where, text }: Statement): boolean =>
    source === 'memory' &&
    (note.isEmpty || note.removed.some((gone) => gone.where === where && gone.text === text))
  return withMore(
    known.filter((statement) => !isGone(statement)),
    note.added,
  )
}

function withMore(known: readonly Statement[], more: readonly Statement[]): Statement[] {
  const files = new Set(more.flatMap(({ where, source }) => (source === 'memory' ? [where] : [])))
  const isOld = ({ source, where }: Statement): boolean =>
    source === 'memory' && where !== '' && files.has(where)
  return [...known.filter((statement) => !isOld(statement)), ...more]
}

function statementsOfPrompt(prompt: string): Statement[] {
  const { steps, unknown } = parsePrompt(prompt)
  const told = steps.flatMap(({ step }) => (step.kind === 'remember' ? [step.text] : []))
  return [...told, ...unknown].map((text) => ({ text, source: 'said', where: '', isCut: false }))
}

function statementsOfOutcome({ name, input, text, isError }: Outcome): Statement[] {
  if (isError) return []
  if (name === 'SearchMemory') return parseSearchHits(text)
  if (name === 'SaveMemory')
    return [{ text: textIn(input, 'description'), source: 'memory', where: '', isCut: false }]
  if (name === 'Read') return linesOf(text, { source: 'result', where: textIn(input, 'file_path') })
  if (name === 'Bash') return linesOf(text, { source: 'result', where: textIn(input, 'command') })
  return []
}

function textIn(input: Outcome['input'], field: string): string {
  const value = input[field]
  return typeof value === 'string' ? value : ''
}

function linesOf(text: string, from: Pick<Statement, 'source' | 'where'>): Statement[] {
  return text
    .split('\n', MAX_LINES)
    .filter((line) => line.trim() !== '')
    .map((line) => ({ text: line.trim(), ...from, isCut: false }))
}

/** The same words from two sources are one statement, better from memory, which names its file. */
function withoutRepeats(statements: readonly Statement[]): Statement[] {
  const byText = new Map<string, Statement>()
  for (const statement of statements) {
    const key = topicsOf(statement.text).toSorted().join(' ')
    const known = byText.get(key)
    if (known === undefined || (known.where === '' && statement.source === 'memory'))
      byText.set(key, statement)
  }
  return [...byText.values()]
}
