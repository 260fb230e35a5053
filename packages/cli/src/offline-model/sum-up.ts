import { cutText } from '../cut-text.ts'
import { oneLine } from '../printable.ts'
import type { Conversation, Outcome } from './conversation.ts'

/** The context that asks for a summary. */
const ASKING = 'compaction'
const MAX_PROMPT_UNITS = 500
/** What is done most recently matters most. */
const MAX_DONE = 50

/** Whether the request asks for a summary, instead of going on with a prompt. Pure. */
export function asksToSumUp({ earlier }: Conversation): boolean {
  return earlier.some((item) => item.kind === 'context' && item.name === ASKING)
}

/** What the user said, a line each, and what was done. Pure. */
export function sumUp({ earlier, prompt = '', done }: Conversation): string {
  const prompts = [...earlier.flatMap((item) => (item.kind === 'prompt' ? [item.text] : [])), prompt]
  const outcomes = [...earlier.flatMap((item) => (item.kind === 'outcome' ? [item.outcome] : [])), ...done]
  const said = prompts
    .filter((text) => text.trim() !== '')
    .map((text) => `> ${cutText(oneLine(text), MAX_PROMPT_UNITS)}`)
  const calls = outcomes.slice(-MAX_DONE).map((outcome) => `- ${lineOf(outcome)}`)
  return ['The user said:', ...said, ...(calls.length > 0 ? ['', 'What was done:', ...calls] : [])].join('\n')
}

/** What the user said, in a summary of {@link sumUp}. Pure. */
export function saidIn(summary: string): string[] {
  return summary.split('\n').flatMap((line) => (line.startsWith('> ') ? [line.slice(2)] : []))
}

function lineOf({ name, input, isError }: Outcome): string {
  const about = [input['file_path'], input['command'], input['query']].find(
    (value) => typeof value === 'string',
  )
  const what = typeof about === 'string' ? ` ${cutText(oneLine(about), 200)}` : ''
  return `${name}${what}${isError ? ': failed' : ''}`
}
