import { APIConnectionError, APIError, BadRequestError } from '@anthropic-ai/sdk'
import type Anthropic from '@anthropic-ai/sdk'
import { LociError, errorMessage } from '@loci/disk'
import { z } from 'zod'
import { cutText } from '../cut-text.ts'
import { oneLine } from '../printable.ts'

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
/** A proxy answers with a whole page. */
const MAX_REASON_UNITS = 300

/** What the model answered. */
export interface Answer {
  message: Anthropic.Message
  /** `false`: the signal came in the middle, and the message is what had come until then. */
  isWhole: boolean
}

/**
 * One answer of the model, streamed. What was streamed of an answer that broke off is void, and said so by `onRetry`.
 * Retried, with a wait that doubles from 0.5 s to 30 s or that the server asks for (up to 60 s): 408, 409, 429, 5xx, an
 * overloaded server in mid-stream, a connection that fails or is cut, a call whose input is no whole JSON. Thoughts that
 * the server does not take back (they are bound to a model) are left out at once, so that no session is stuck with them.
 *
 * @throws {LociError} MODEL_UNAVAILABLE when retries are used up; MODEL_REJECTED when the server refuses the request
 * @throws the SDK's abort error after `signal`, when nothing of the answer had come
 */
export async function streamAnswer(options: {
  client: Anthropic
  request: Anthropic.MessageCreateParamsStreaming
  signal: AbortSignal
  maxRetries: number
  onText: (delta: string) => void
  onRetry: (retry: Retry) => void
  wait: Wait
}): Promise<Answer> {
  const { client, signal, maxRetries, onText, onRetry, wait } = options
  let { request } = options
  for (let attempt = 1; ; attempt += 1) {
    let part: Answer | undefined
    let ours: unknown
    try {
      const stream = client.messages.stream(request, { signal })
      const inputs = new Map<number, string>()
      stream.on('text', (delta) => {
        try {
          onText(delta)
        } catch (error) {
          ours ??= error
          throw error
        }
      })
      stream.on('streamEvent', (event, snapshot) => {
        part = { message: snapshot, isWhole: event.type === 'message_stop' }
        if (event.type === 'content_block_delta' && event.delta.type === 'input_json_delta')
          inputs.set(event.index, `${inputs.get(event.index) ?? ''}${event.delta.partial_json}`)
      })
      const message = await stream.finalMessage().catch((error: unknown) => {
        // What breaks after the end of a message does not matter.
        if (part?.isWhole === true) return part.message
        throw error
      })
      checkShape(message)
      checkInputs(message, inputs)
      return { message, isWhole: true }
    } catch (error) {
      if (ours !== undefined) throw ours
      if (signal.aborted) {
        if (part === undefined) throw error
        return { ...part, isWhole: false }
      }
      const failure = failureOf(error)
      if (error instanceof BadRequestError && /thinking/.test(failure.message) && holdsThoughts(request)) {
        request = withoutThoughts(request)
        onRetry({ attempt, waitMs: 0, reason: `${failure.message}; its earlier thoughts are left out` })
        continue
      }
      if (!failure.isPassing) {
        const { status } = error instanceof APIError ? error : {}
        throw new LociError('MODEL_REJECTED', failure.message, { cause: error, details: { status } })
      }
      if (attempt > maxRetries) {
        const message = `${failure.message}; tried ${attempt} ${attempt === 1 ? 'time' : 'times'}, try again later`
        throw new LociError('MODEL_UNAVAILABLE', message, { cause: error })
      }
      const waitMs = failure.waitMs ?? Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1))
      onRetry({ attempt, waitMs, reason: failure.message })
      await wait(waitMs, signal)
    }
  }
}

function holdsThoughts({ messages }: Anthropic.MessageCreateParamsStreaming): boolean {
  return messages.some(({ content }) => typeof content !== 'string' && content.some(isThought))
}

function withoutThoughts(
  request: Anthropic.MessageCreateParamsStreaming,
): Anthropic.MessageCreateParamsStreaming {
  const messages = request.messages.map((message) =>
    message.role !== 'assistant' || typeof message.content === 'string'
      ? message
      : { ...message, content: message.content.filter((block) => !isThought(block)) },
  )
  return { ...request, messages }
}

function isThought({ type }: Anthropic.ContentBlockParam): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** What no server of the Messages API sends, and could neither be written down nor sent back. */
function checkShape(message: unknown): void {
  if (!answerSchema.safeParse(message).success) throw new Error('it is no message of the Messages API')
}

const answerSchema = z.object({
  role: z.literal('assistant'),
  content: z.array(
    z.union([
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string() }),
      z.object({ type: z.string().refine((type) => type !== 'text' && type !== 'tool_use') }),
    ]),
  ),
  usage: z.object({ input_tokens: z.number(), output_tokens: z.number() }),
})

/** Stop reasons with which the last call of a message may be cut in the middle. */
const CUT: ReadonlySet<string | null> = new Set(['max_tokens', 'refusal', 'model_context_window_exceeded'])

/**
 * The SDK closes what is open in a truncated input: `rm -r /a/b` that breaks off may come out as `rm -r /a`. Such a call
 * is none.
 */
function checkInputs({ content, stop_reason }: Anthropic.Message, inputs: ReadonlyMap<number, string>): void {
  if (CUT.has(stop_reason)) return
  for (const [index, block] of content.entries()) {
    const json = inputs.get(index) ?? ''
    if (block.type === 'tool_use' && json !== '' && !isJson(json))
      throw new Error(`the input of a call of ${block.name} is no whole JSON`)
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
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
    const what = cutText(oneLine(apiMessage ?? error.message), MAX_REASON_UNITS)
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
  return cutText(oneLine(errorMessage(at)), MAX_REASON_UNITS) || code || 'no reason given'
}
