import type { Entry } from '@loci/session-jsonl'
import { isPrompt } from '../rewind-door.ts'
import { toolCallsOf, toolResultIdsOf } from '../message-content.ts'

/**
 * What the last turn of a conversation was interrupted in, as a sentence; `null`: it came to its end. What it had
 * written is there; what it was about to do is not repeated by itself. Pure.
 */
export function interruptedTurn(chain: readonly Entry[]): string | null {
  const last = chain.findLast(({ type }) => type === 'user' || type === 'assistant')
  if (last === undefined) return null
  const open = openCalls(chain)
  if (open.length > 0) {
    const names = open.map(({ name }) => name).join(', ')
    return `The last turn was interrupted while it ran ${names}; whether that had an effect is not known.`
  }
  if (last.type === 'assistant') return null
  if (isPrompt(last)) return 'The last prompt was interrupted before it was answered.'
  return 'The last turn was interrupted after its tools had run, before the model answered.'
}

function openCalls(chain: readonly Entry[]): { id: string; name: string }[] {
  const lastPrompt = chain.findLastIndex(isPrompt)
  const turn = chain.slice(lastPrompt + 1)
  const answered = new Set(turn.flatMap(toolResultIdsOf))
  return turn.flatMap(toolCallsOf).filter(({ id }) => !answered.has(id))
}
