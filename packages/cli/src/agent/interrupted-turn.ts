import type { Entry } from '@loci/session-jsonl'
import { isPrompt } from '../rewind-door.ts'
import { blocksOf, toolCallsOf, toolResultIdsOf } from '../message-content.ts'

/**
 * What the last turn of a conversation was interrupted in, as a sentence; `null`: it came to its end. What it had
 * written is there; what it was about to do is not repeated by itself. Pure.
 */
export function interruptedTurn(chain: readonly Entry[]): string | null {
  const last = chain.findLast(({ type }) => type === 'user' || type === 'assistant')
  if (last === undefined) return null
  if (last['isCompactSummary'] === true) return null
  const open = openCalls(chain)
  if (open.length > 0) {
    const names = open.map(({ name }) => name).join(', ')
    // A command that ended with the process was compared with nothing.
    const uncovered = open.some(({ name }) => name === 'Bash')
      ? ', and /rewind does not take back what the command changed'
      : ''
    return `The last turn was interrupted while it ran ${names}; whether that had an effect is not known${uncovered}.`
  }
  if (last['interrupted'] === true)
    return 'The last answer was interrupted in the middle; what had come of it is kept.'
  if (last.type === 'assistant') {
    return isWhole(last) ? null : 'The last turn was interrupted while the answer of the model was written.'
  }
  if (isPrompt(last)) return 'The last prompt was interrupted before it was answered.'
  return 'The last turn was interrupted after its tools had run, before the model answered.'
}

/** Whether an assistant line can be the last of its message: a thought is followed by something, a call was announced. */
function isWhole(line: Entry): boolean {
  const { message } = line
  const stop =
    typeof message === 'object' && message !== null && 'stop_reason' in message ? message.stop_reason : null
  const type = blocksOf(line).at(-1)?.type
  if (type === 'thinking' || type === 'redacted_thinking') return stop === 'refusal' || stop === 'max_tokens'
  return type === 'tool_use' || stop !== 'tool_use'
}

function openCalls(chain: readonly Entry[]): { id: string; name: string }[] {
  const lastPrompt = chain.findLastIndex(isPrompt)
  const turn = chain.slice(lastPrompt + 1)
  const answered = new Set(turn.flatMap(toolResultIdsOf))
  return turn.flatMap(toolCallsOf).filter(({ id }) => !answered.has(id))
}
