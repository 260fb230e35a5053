import type { Conversation } from './conversation.ts'
import { draftMemory } from './memory-draft.ts'
import type { MemoryDraft } from './memory-draft.ts'
import { parseMemoryNote } from './memory-text.ts'
import type { Next } from './next-step.ts'

/** The context that asks to look back for what to remember. */
const ASKING = 'memory-extraction'

/** How people say what holds from now on, without asking to remember it. */
const LASTING =
  /^(?:always|never|from\s+now\s+on|in\s+future|i\s+(?:always|never|prefer)|we\s+(?:always|never|prefer)|my\s+name\s+is|call\s+me|i\s+am\s+an?\s|以后|从现在起|总是|从不|永远|我(?:总是|从不|更喜欢|喜欢|是|叫))/iu

/** Whether the request asks to look back, instead of going on with a prompt. Pure. */
export function asksToLookBack({ earlier }: Conversation): boolean {
  return earlier.some((item) => item.kind === 'context' && item.name === ASKING)
}

/**
 * One call for each sentence of the user that says what holds from now on, unless memory has it; then the end. Pure.
 */
export function lookBack({ earlier, prompt = '', done }: Conversation): Next {
  const prompts = [...earlier.flatMap((item) => (item.kind === 'prompt' ? [item.text] : [])), prompt]
  const drafts = prompts.flatMap(sentencesOf).filter(isLasting).map(draftOf)
  const outcomes = [...earlier.flatMap((item) => (item.kind === 'outcome' ? [item.outcome] : [])), ...done]
  const known = new Set([
    ...outcomes.flatMap(({ name, input }) => (name === 'SaveMemory' ? [String(input['description'])] : [])),
    ...earlier.flatMap((item) =>
      item.kind === 'context' && item.name === 'memory'
        ? parseMemoryNote(item.text).added.map(({ text }) => text)
        : [],
    ),
  ])
  const next = drafts.find(({ description }) => !known.has(description))
  if (next !== undefined) return { text: '', call: { name: 'SaveMemory', input: { ...next } } }
  return { text: outcomes.length === 0 ? 'Nothing to keep.' : 'Nothing else to keep.' }
}

function sentencesOf(prompt: string): string[] {
  return prompt
    .split(/(?<=[.!?。！？])\s*|\n+/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
}

function isLasting(sentence: string): boolean {
  return LASTING.test(sentence) && !/[?？]$/u.test(sentence)
}

function draftOf(sentence: string): MemoryDraft {
  return draftMemory(sentence, 'project')
}
