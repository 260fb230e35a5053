import type Anthropic from '@anthropic-ai/sdk'
import type { MessagesRequest } from './request-shape.ts'

/** A piece of what the model says. */
export type AnswerBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | {
      type: 'tool_use'
      /** Made by `createId` when absent. */
      id?: string
      name: string
      input: unknown
      /** Streamed instead of the JSON of `input`, for tests of broken input. */
      rawInput?: string
    }

/**
 * What the model says. The three `…AfterEvents` are for tests of streams; events are counted from `message_start`,
 * the `ping` after it too; a number past the last event means after the last.
 */
export interface ModelAnswer {
  content: readonly AnswerBlock[]
  /** `tool_use` when a tool is called, else `end_turn`. */
  stopReason?: Anthropic.StopReason
  /** The connection is cut after that many events. */
  cutAfterEvents?: number
  /** An `error` event after that many events, such as `overloaded_error`; then the stream ends. */
  errorAfterEvents?: { events: number; errorType: string; message: string }
  /** The stream stands still after that many events until the promise is settled. */
  holdAfterEvents?: { events: number; until: Promise<void> }
}

/** An HTTP error instead of an answer. */
export interface Fault {
  status: number
  errorType: string
  message: string
  headers?: Record<string, string>
}

/** Says what the model answers. What it throws becomes an HTTP 500 with that message, marked as not to be retried. */
export type Answerer = (request: MessagesRequest) => ModelAnswer | Fault | Promise<ModelAnswer | Fault>

/** Whether an answerer gave an error instead of an answer. */
export function isFault(answer: ModelAnswer | Fault): answer is Fault {
  return 'status' in answer
}
