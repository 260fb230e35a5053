import { randomUUID } from 'node:crypto'
import { isFault } from './answer.ts'
import type { Answerer, Fault, ModelAnswer } from './answer.ts'
import { checkHeaders, checkRequest } from './check-request.ts'
import type { Refusal } from './check-request.ts'
import { eventBody } from './event-body.ts'
import { eventsOf, formatEvent, messageOf } from './event-stream.ts'
import { createPromptCache } from './prompt-cache.ts'
import type { PromptCount } from './prompt-cache.ts'
import type { MessagesRequest } from './request-shape.ts'

/** A request as the API saw it, told when its status is known and before the first byte of the answer. */
export interface SeenRequest extends PromptCount {
  /** The parsed body; the text where it does not parse; `undefined` where there is none. */
  body: unknown
  status: number
  /** The message of a refusal or a fault. */
  error?: string
}

export interface MessagesApiOptions {
  answer: Answerer
  onRequest?: (seen: SeenRequest) => void
  /** The unique part of ids: letters, digits, `_`, `-`. */
  createId?: () => string
}

export interface MessagesApi {
  /** Answers POST to `<any base>/v1/messages`, and any other request with the API's 404. Fits the SDK's `fetch` option. */
  fetch: typeof globalThis.fetch
}

/**
 * The Messages API in front of an answerer: it refuses what the API refuses (see `checkRequest`), streams server-sent
 * events or gives the whole message, and counts the prompt cache. Its `usage` counts bytes of the prompt's canonical
 * form as tokens. Each API has a cache of its own.
 */
export function createMessagesApi(options: MessagesApiOptions): MessagesApi {
  const { answer, onRequest, createId = () => randomUUID().replaceAll('-', '') } = options
  const cache = createPromptCache()

  async function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    signal?.throwIfAborted()
    // The signal is kept out: a request that follows one can be collected together with what it should tell.
    const call = new Request(input, { ...init, signal: null })
    const body = typeof init?.body === 'string' ? init.body : new Uint8Array(await call.arrayBuffer())
    const response = await respond(call, body, signal)
    signal?.throwIfAborted()
    return response
  }

  async function respond(
    call: Request,
    body: string | Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    if (call.method !== 'POST' || !new URL(call.url).pathname.endsWith('/v1/messages')) {
      const message = `There is no ${call.method} ${new URL(call.url).pathname}`
      return fail({ status: 404, errorType: 'not_found_error', message }, { body: bodyOf(body), ...nothing })
    }
    const refusal = checkHeaders(call.headers)
    const checked = refusal === undefined ? checkRequest(body) : { refusal }
    if ('refusal' in checked) return fail(checked.refusal, { body: bodyOf(body), ...nothing })
    const { request } = checked
    const answered = Promise.resolve(request).then(answer).catch(failed)
    return reply(request, asFault(await orAborted(answered, signal), request), signal)
  }

  function reply(
    request: MessagesRequest,
    answered: ModelAnswer | Fault,
    signal: AbortSignal | undefined,
  ): Response {
    if (isFault(answered)) return fail(answered, { body: request, ...cache.see(request) })
    const count = cache.take(request)
    onRequest?.({ body: request, status: 200, ...count })
    const message = messageOf(answered, { model: request.model, count, createId })
    const frames =
      request.stream === true
        ? withError(eventsOf(message, answered).map(formatEvent), answered.errorAfterEvents)
        : [JSON.stringify(message)]
    const body = eventBody(frames, {
      hold: answered.holdAfterEvents,
      cutAfter: answered.cutAfterEvents,
      signal,
    })
    const type = request.stream === true ? 'text/event-stream; charset=utf-8' : 'application/json'
    return new Response(body, { headers: { 'content-type': type, 'request-id': `req_${createId()}` } })
  }

  function fail(fault: Fault | Refusal, seen: Omit<SeenRequest, 'status' | 'error'>): Response {
    const { status, errorType, message } = fault
    onRequest?.({ ...seen, status, error: message })
    const id = `req_${createId()}`
    const headers = { 'request-id': id, ...('headers' in fault ? fault.headers : {}) }
    return Response.json(
      { type: 'error', error: { type: errorType, message }, request_id: id },
      { status, headers },
    )
  }

  return { fetch }
}

const nothing: PromptCount = { promptBytes: 0, sharedBytes: 0, cacheReadBytes: 0, cacheWriteBytes: 0 }

/** A promise, or the reason of the abort if that comes first. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const over = new AbortController()
  const gone = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal })
  })
  try {
    signal?.throwIfAborted()
    return await Promise.race([promise, gone])
  } finally {
    over.abort()
  }
}

function failed(error: unknown): Fault {
  const message = `The answerer threw: ${String(error)}`
  return { status: 500, errorType: 'api_error', message, headers: { 'x-should-retry': 'false' } }
}

/** Without a stream there is no place for an `error` event: it is the status then. */
function asFault(answered: ModelAnswer | Fault, request: MessagesRequest): ModelAnswer | Fault {
  if (isFault(answered) || request.stream === true || answered.errorAfterEvents === undefined) return answered
  const { errorType, message } = answered.errorAfterEvents
  return { status: errorType === 'overloaded_error' ? 529 : 500, errorType, message }
}

function withError(frames: readonly string[], error: ModelAnswer['errorAfterEvents']): readonly string[] {
  if (error === undefined) return frames
  const { events, errorType: type, message } = error
  return [...frames.slice(0, events), formatEvent({ type: 'error', error: { type, message } })]
}

function bodyOf(body: string | Uint8Array): unknown {
  if (body.length === 0) return undefined
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
