import type Anthropic from '@anthropic-ai/sdk'
import { LociError } from '@loci/disk'

/** What follows from the way in which a message ended, other than that its calls are done. */
export interface Stop {
  /** What its calls are answered. */
  undone?: string
  notice?: string
  /** The turn fails. */
  error?: LociError
}

/** See {@link Stop}; `undefined`: an answer or calls, whole. Pure. */
export function stopOf({ stop_reason }: Anthropic.Message, promptId: string): Stop | undefined {
  switch (stop_reason) {
    case 'max_tokens':
      return {
        undone: 'The answer was cut at its greatest length, so this call was not made.',
        notice: 'The answer was cut at its greatest length.',
      }
    case 'refusal':
      return {
        undone: 'The answer was broken off as a refusal, so this call was not made.',
        error: new LociError(
          'MODEL_REFUSED',
          `The model refused to answer; /rewind ${promptId} takes the prompt back`,
        ),
      }
    case 'model_context_window_exceeded':
      return {
        undone: 'The conversation was full in the middle of the answer, so this call was not made.',
        error: new LociError(
          'MODEL_REJECTED',
          'The conversation is longer than the model can take; /compact makes room, /branch goes on from an earlier message',
        ),
      }
    // Only tools that run on the server pause, and we offer none; to go on unasked could go on for ever.
    case 'pause_turn':
      return { notice: 'The model paused; a further prompt lets it go on.' }
    default:
      return undefined
  }
}
