import { isToolResult, lightRecords } from './light-record.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import { timeOf } from './read-head.ts'
import { recordFrom } from './window.ts'
import type { Line, Window } from './window.ts'

/**
 * The newest prompt in a window (a line that it cuts does not count): that of the last
 * `last-prompt` record that names one, or of the last user line that is one, whichever comes later. `lastPrompt` is
 * absent where the conversation was moved to its beginning since. Commands are no prompts here. Pure.
 *
 * @returns `undefined` when the window says nothing of prompts
 */
export function lastPromptIn(window: Window, sessionId: string): { lastPrompt?: string } | undefined {
  for (const line of window.lines.toReversed()) {
    const records = mayHoldPrompt(window.text, line) ? lightRecords(window, line, sessionId) : []
    for (const record of records.toReversed()) {
      const said = promptIn(record)
      if (said) return said
    }
  }
  return undefined
}

/** When the newest prompt in a window was written, in milliseconds since the epoch; a command is one here. Pure. */
export function lastPromptTime(window: Window, sessionId: string): number | undefined {
  for (const line of window.lines.toReversed()) {
    const records = mayHoldPrompt(window.text, line) ? lightRecords(window, line, sessionId) : []
    const prompt = records.findLast((record) => promptOf(record) !== undefined)
    if (prompt) return timeOf(prompt['timestamp'])
  }
  return undefined
}

/** Most lines are not worth the reading: those of a model and of its tools. */
function mayHoldPrompt(text: string, line: Line): boolean {
  const { start, end } = line
  if (text.slice(recordFrom(text, line), end).includes('"last-prompt"')) return true
  if (!text.slice(start, end).includes('"user"')) return false
  // With these quotes it stands in no string.
  const content = text.indexOf(CONTENT, start)
  return content === -1 || content >= end || !isToolResult(text, content + CONTENT.length)
}

const CONTENT = '"message":{"role":"user","content":'

function promptIn(record: Record<string, unknown>): { lastPrompt?: string } | undefined {
  if (record['type'] === 'last-prompt') {
    const { lastPrompt, leafUuid, explicit } = record
    const text = typeof lastPrompt === 'string' ? previewOf(lastPrompt) : ''
    if (text !== '') return { lastPrompt: text }
    return explicit === true && leafUuid === null ? {} : undefined
  }
  const prompt = promptOf(record)
  return prompt && 'text' in prompt ? { lastPrompt: previewOf(prompt.text) } : undefined
}
