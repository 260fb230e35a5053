import { parseLine } from './parse-line.ts'
import { previewOf, promptOf } from './prompt-text.ts'

/**
 * The newest prompt in a text of whole lines (what a window cuts off at its ends does not count): that of the last
 * `last-prompt` record that names one, or of the last user line that is one, whichever comes later. `lastPrompt` is
 * absent where the conversation was moved to its beginning since. Commands are no prompts here. Pure.
 *
 * @returns `undefined` when the text says nothing of prompts
 */
export function lastPromptIn(text: string, sessionId: string): { lastPrompt?: string } | undefined {
  for (let end = text.length; end > 0;) {
    const start = text.lastIndexOf('\n', end - 1) + 1
    const line = text.slice(start, end)
    end = start - 1
    // Most lines are not worth the parsing.
    if (!line.includes('"user"') && !line.includes('"last-prompt"')) continue
    const parts = parseLine(Buffer.from(line.replaceAll('\0', ' ')), sessionId)
    for (const part of parts.toReversed()) {
      const said = 'record' in part ? promptIn(part.record) : undefined
      if (said) return said
    }
  }
  return undefined
}

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
