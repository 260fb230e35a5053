import type { Entry } from '@loci/session-jsonl'
import type { Retry } from './stream-answer.ts'

/** What happens in a turn, as it happens. */
export type AgentEvent =
  /** The model speaks. */
  | { type: 'text'; delta: string }
  /** Lines that are in the transcript now: one message of the model, or the results of its calls. */
  | { type: 'written'; entries: readonly Entry[] }
  | { type: 'tool'; id: string; name: string; summary: string }
  /** A command prints something. */
  | { type: 'tool-output'; id: string; text: string }
  | { type: 'tool-result'; id: string; name: string; text: string; isError: boolean }
  /** What was streamed of the current message is void: it is asked for again. */
  | ({ type: 'retry' } & Retry)
  /** A call that was not permitted. */
  | { type: 'denial'; id: string; name: string; reason: string }
  /** Something to know, in a line. */
  | { type: 'notice'; text: string }
