import type { Earlier, Outcome } from './conversation.ts'
import { parseMemoryNote, parseSearchHits } from './memory-text.ts'
import { parsePrompt } from './parse-prompt.ts'
import { overlap, topicsOf } from './word-overlap.ts'

/** Something the request says that can answer a question. */
export interface Statement {
  text: string
  source: 'memory' | 'said' | 'result'
  /** The memory's file, or what was read or run. */
  where: string
  /** Whether the text is only the beginning of what is known. */
  isCut: boolean
}

/** How many lines of one tool result are looked at. */
const MAX_LINES = 2000
/** How much of what is asked a statement must speak of. */
const FITTING = 0.5

/**
 * The statements that answer a question best, newest first; none if nothing in the conversation fits. Pure.
 *
 * They come from memory, from what the user said, from the results of tools, and from text given with the prompt.
 */
export function recall(question: string, statements: readonly Statement[]): Statement[] {
  const asked = topicsOf(question)
  const scored = statements.map((statement) => ({
    statement,
    score: overlap(asked, topicsOf(statement.text)),
  }))
  const best = scored.reduce((most, { score }) => Math.max(most, score), 0)
  if (best < FITTING) return []
  const fitting = scored.flatMap(({ statement, score }) => (score === best ? [statement] : []))
  return withoutRepeats(fitting.toReversed()).slice(0, 3)
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
  return [...known, ...lines(material, 'text')]
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
    return [{ text: String(input['description'] ?? ''), source: 'memory', where: '', isCut: false }]
  if (name !== 'Read' && name !== 'Bash') return []
  return lines(text, String(input['file_path'] ?? input['command'] ?? ''))
}

function lines(text: string, where: string): Statement[] {
  return text
    .split('\n', MAX_LINES)
    .filter((line) => line.trim() !== '')
    .map((line) => ({ text: line.trim(), source: 'result', where, isCut: false }))
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
