import type { Outcome } from './conversation.ts'
import { draftMemory } from './memory-draft.ts'
import type { Phrases } from './phrases.ts'
import { recall } from './recall.ts'
import type { Recalled, Statement } from './recall.ts'
import { parseSearchHits } from './memory-text.ts'
import { topicsOf } from './word-overlap.ts'
import type { Step } from './step.ts'

/** A call of a tool. */
export interface Call {
  name: string
  input: Readonly<Record<string, unknown>>
}

/** How a step is done: its calls, one after another, and what is said at the end. */
export interface StepPlan {
  stages: readonly Stage[]
  /** What was done, given the outcome of each stage. */
  say: (outcomes: readonly Outcome[]) => string
}

interface Stage {
  tool: string
  /** Its input, or why the step cannot go on, given the outcomes of the stages before. */
  next: (before: readonly Outcome[]) => { input: Call['input'] } | { reason: string }
  /** Whether the step goes on although the tool reports an error. */
  tolerates?: (outcome: Outcome) => boolean
}

/** What a step can look at. */
export interface View {
  phrases: Phrases
  /** All that was said before this step. */
  statements: readonly Statement[]
  /** What the date context says. */
  date: string | undefined
  canSearch: boolean
}

const EMPTY_FILE = '(the file is empty)'
/** How Read ends when there is no such file; its name, which comes before, may be anything. */
const ABSENT = /does not exist$/u

/** How many calls a step makes at most. */
export function callsOf(step: Step): number {
  if (step.kind === 'replace' || step.kind === 'append') return 2
  return ['remember', 'ask', 'create', 'delete', 'read', 'run'].includes(step.kind) ? 1 : 0
}

/** How one step is done. Pure; the same step and view give the same plan. */
export function planStep(step: Step, view: View): StepPlan {
  const { phrases } = view
  const did = (): string => phrases.did(step)
  switch (step.kind) {
    case 'create':
      return { stages: [call('Write', { file_path: step.file, content: endLine(step.content) })], say: did }
    case 'replace': {
      const { file, from, to, everywhere } = step
      const input = { file_path: file, old_string: from, new_string: to }
      const edit = call('Edit', everywhere ? { ...input, replace_all: true } : input)
      return { stages: [call('Read', { file_path: file }), edit], say: did }
    }
    case 'append':
      return { stages: appendStages(step, phrases), say: did }
    case 'delete':
      return { stages: [call('Bash', { command: `rm -- ${shellQuote(step.file)}` })], say: did }
    case 'read':
      return {
        stages: [call('Read', { file_path: step.file })],
        say: ([outcome]) => phrases.readFile(step.file, outcome?.text ?? ''),
      }
    case 'run':
      return {
        stages: [call('Bash', { command: step.command })],
        say: ([outcome]) => phrases.ranCommand(step.command, outcome?.text ?? ''),
      }
    case 'remember':
      return { stages: [call('SaveMemory', { ...draftMemory(step.text, step.scope) })], say: did }
    case 'ask':
      return planAnswer(step.question, view)
    case 'list-memory':
      return { stages: [], say: () => listMemory(view) }
    case 'ask-date':
      return { stages: [], say: () => sayDate(view) }
    case 'forget':
      return { stages: [], say: () => phrases.forget }
    case 'greet':
      return { stages: [], say: () => phrases.greeting }
    case 'thanks':
      return { stages: [], say: () => phrases.thanks }
    default:
      return { stages: [], say: () => phrases.help }
  }
}

function call(tool: string, input: Call['input']): Stage {
  return { tool, next: () => ({ input }) }
}

function appendStages({ file, text }: Extract<Step, { kind: 'append' }>, phrases: Phrases): Stage[] {
  return [
    { ...call('Read', { file_path: file }), tolerates: ({ text: error }) => ABSENT.test(error) },
    {
      tool: 'Write',
      next([read]) {
        const known = read === undefined || read.isError || read.text === EMPTY_FILE ? '' : read.text
        if (isPartial(known)) return { reason: phrases.tooLong(file) }
        return { input: { file_path: file, content: appendLine(known, text) } }
      },
    },
  ]
}

/** Whether the result of a Read is not the whole file. */
function isPartial(text: string): boolean {
  return text.startsWith('<persisted-output>') || /(?:^|\n)\[cut: [^\n]*\n?$/u.test(text)
}

/** The text on a line of its own, with the line breaks that the file has. */
function appendLine(known: string, text: string): string {
  const newline = known.includes('\r\n') ? '\r\n' : '\n'
  const start = known === '' || known.endsWith('\n') ? known : known + newline
  return start + (text.endsWith('\n') ? text : text + newline)
}

/** A file ends with a line break; an empty one stays empty. */
function endLine(content: string): string {
  return content === '' || content.endsWith('\n') ? content : `${content}\n`
}

/** A word of a shell that stands for exactly this text. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** How much of what is asked must be spoken of; from `SURE` on, memory is not searched for more. */
const FITTING = 0.5
const SURE = 0.75

/** Answers from what is known; if that is not much of an answer, memory is searched once. */
function planAnswer(question: string, { phrases, statements, canSearch }: View): StepPlan {
  const known = recall(question, statements)
  const isWhole = known.score >= SURE && !known.statements.some(({ isCut }) => isCut)
  // Memory is searched for pieces of words: their stems find all their forms.
  const query = topicsOf(question).join(' ')
  if (isWhole || !canSearch || query === '') return { stages: [], say: () => sayRecalled(known, phrases) }
  return {
    stages: [call('SearchMemory', { query })],
    say([outcome]) {
      const found = recall(question, parseSearchHits(outcome?.text ?? ''))
      return sayRecalled(found.score >= known.score ? found : known, phrases)
    },
  }
}

function sayRecalled({ statements, score }: Recalled, phrases: Phrases): string {
  return score < FITTING ? phrases.nothingFound : statements.map(phrases.recalled).join('\n')
}

function listMemory({ statements, phrases }: View): string {
  const lines = statements.flatMap(({ source, where, text }) =>
    source === 'memory' ? [where === '' ? text : `${text} (${where})`] : [],
  )
  return lines.length === 0 ? phrases.noMemories : phrases.memories([...new Set(lines)])
}

function sayDate({ date, phrases }: View): string {
  if (date === undefined || date.trim() === '') return phrases.noDate
  const { year, month, day } = /(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)/u.exec(date)?.groups ?? {}
  if (year === undefined || month === undefined || day === undefined) return date.trim()
  const weekday = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDay()
  return phrases.date(`${year}-${month}-${day}`, weekday)
}
