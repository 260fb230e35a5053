import { APIConnectionError, APIError } from '@anthropic-ai/sdk'
import type Anthropic from '@anthropic-ai/sdk'
import { LociError, errorMessage } from '@loci/disk'

/** Waits, unless the signal comes first. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>

export interface Retry {
  /** From 1. */
  attempt: number
  waitMs: number
  reason: string
}

const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 30_000
const MAX_SERVER_WAIT_MS = 60_000

/**
 * One answer of the model, streamed and complete. What was streamed of an answer that broke off is void, and said so by
 * `onRetry`. Retried, with a wait that doubles from 0.5 s to 30 s or that the server asks for (up to 60 s): 408, 409,
 * 429, 5xx, an overloaded server in mid-stream, a connection that fails or is cut.
 *
 * @throws {LociError} MODEL_UNAVAILABLE when retries are used up; MODEL_REJECTED when the server refuses the request
 * @throws the SDK's abort error after `signal`
 */
export async function streamAnswer(options: {
  client: Anthropic
  request: Anthropic.MessageCreateParamsStreaming
  signal: AbortSignal
  maxRetries: number
  onText: (delta: string) => void
  onRetry: (retry: Retry) => void
  wait: Wait
}): Promise<Anthropic.Message> {
  const { client, request, signal, maxRetries, onText, onRetry, wait } = options
  for (let attempt = 1; ; attempt += 1) {
    try {
      const stream = client.messages.stream(request, { signal })
      stream.on('text', onText)
      return await stream.finalMessage()
    } catch (error) {
      if (signal.aborted) throw error
      const failure = failureOf(error)
      if (!failure.isPassing) throw new LociError('MODEL_REJECTED', failure.message, { cause: error })
      if (attempt > maxRetries) {
        const message = `${failure.message}; tried ${attempt} times, try again later`
        throw new LociError('MODEL_UNAVAILABLE', message, { cause: error })
      }
      const waitMs = failure.waitMs ?? Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
      onRetry({ attempt, waitMs, reason: failure.message })
      await wait(waitMs, signal)
    }
  }
}

interface Failure {
  message: string
  /** Whether it may be gone at the next try. */
  isPassing: boolean
  /** What the server asks for. */
  waitMs: number | undefined
}

function failureOf(error: unknown): Failure {
  if (error instanceof APIConnectionError) {
    const cause = error.cause === undefined ? '' : `: ${deepest(error)}`
    return { message: `The model cannot be reached${cause}`, isPassing: true, waitMs: undefined }
  }
  if (error instanceof APIError) {
    const { status, type, apiMessage } = error
    const what = apiMessage ?? error.message
    const isPassing =
      status === undefined
        ? type === null || /overloaded|rate_limit|timeout|api_error/.test(type)
        : status >= 500 || [408, 409, 429].includes(status)
    const hint = status === 401 ? '; check ANTHROPIC_API_KEY, or work without it: --offline' : ''
    return {
      message: `The model's server answered ${status ?? 'in mid-stream'} (${type ?? 'error'}): ${what}${hint}`,
      isPassing,
      waitMs: serverWait(error.headers?.get('retry-after')),
    }
  }
  // The stream ended in the middle, or held what is no event.
  return {
    message: `The answer of the model broke off: ${deepest(error)}`,
    isPassing: true,
    waitMs: undefined,
  }
}

function serverWait(header: string | null | undefined): number | undefined {
  const seconds =
    header === null || header === undefined || header.trim() === '' ? Number.NaN : Number(header)
  return seconds >= 0 ? Math.min(MAX_SERVER_WAIT_MS, seconds * 1000) : undefined
}

function deepest(error: unknown): string {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  const code = at instanceof Error && 'code' in at && typeof at.code === 'string' ? at.code : ''
  return errorMessage(at) || code || 'no reason given'
}
