import type Anthropic from '@anthropic-ai/sdk'
import { messageProblems } from './message-rules.ts'
import { shapeProblem } from './request-shape.ts'
import type { MessagesRequest, ShapedRequest } from './request-shape.ts'

/** An error of the API: its HTTP status, and the type and message in its body. */
export interface Refusal {
  status: number
  errorType: string
  message: string
}

/** The largest body the API takes, in bytes. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

const maxDepth = 500

/**
 * The request in a body, or why the API would not take it. Refused is what the Messages API refuses, with messages
 * that begin with the place (`messages.2.content.0`), and on purpose a little more: messages that do not alternate
 * (the API merges neighbours of one role), the role `system` inside `messages`, `max_tokens` of 0, tools that run on
 * the server and their blocks, fields that the SDK's type of a request does not have (also those of betas, and
 * `temperature`), and objects nested deeper than 500. The model's name and the fit of `input` to its schema are not
 * looked at, nor signatures of thinking, nor whether a called tool is among `tools`.
 * @param body the bytes, or the text where the caller has text: a lone surrogate in it is found too.
 */
export function checkRequest(body: Uint8Array | string): { request: MessagesRequest } | { refusal: Refusal } {
  if (Buffer.byteLength(body) > MAX_BODY_BYTES) {
    const message = `Request exceeds the maximum size of ${MAX_BODY_BYTES} bytes`
    return { refusal: { status: 413, errorType: 'request_too_large', message } }
  }
  let value: unknown
  try {
    value = JSON.parse(typeof body === 'string' ? body : decode(body))
  } catch (error) {
    return invalid(`The request body is not valid JSON in UTF-8: ${String(error)}`)
  }
  const problem = textProblem(value) ?? shapeProblem(value)
  if (problem !== undefined) return invalid(problem)
  const [first] = problemsOf(value as ShapedRequest)
  return first === undefined ? { request: value as MessagesRequest } : invalid(first)
}

/** What the API says about the headers of a request; `undefined` when they do. */
export function checkHeaders(headers: Headers): Refusal | undefined {
  if (!headers.get('x-api-key') && !headers.get('authorization'))
    return { status: 401, errorType: 'authentication_error', message: 'x-api-key header is required' }
  if (!headers.get('anthropic-version')) return invalid('anthropic-version: header is required').refusal
  return undefined
}

function invalid(message: string): { refusal: Refusal } {
  return { refusal: { status: 400, errorType: 'invalid_request_error', message } }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
}

/** Half a pair where a whole character belongs: JSON can say it, UTF-8 cannot, and the API refuses it. */
function textProblem(root: unknown): string | undefined {
  const open: { value: unknown; place: string; depth: number }[] = [{ value: root, place: '', depth: 0 }]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const { value, place, depth } = at
    if (typeof value === 'string' && hasLoneSurrogate(value)) return `${place}: lone surrogate in a string`
    if (typeof value !== 'object' || value === null) continue
    if (depth > maxDepth) return `${place.slice(0, 80)}…: nested too deeply`
    for (const [key, inner] of Object.entries(value).toReversed()) {
      const here = place === '' ? key : `${place}.${key}`
      if (hasLoneSurrogate(key)) return `${place}: lone surrogate in a key`
      open.push({ value: inner, place: here, depth: depth + 1 })
    }
  }
  return undefined
}

function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text)
}

/** The rules beyond the shape, in the order in which they are looked at. */
function* problemsOf(request: ShapedRequest): Generator<string> {
  const names = new Set<string>()
  for (const [index, tool] of (request.tools ?? []).entries()) {
    if (names.has(tool.name)) yield `tools.${index}.name: Tool names must be unique`
    names.add(tool.name)
  }
  if (request.tool_choice !== undefined && names.size === 0)
    yield 'tool_choice: may only be given together with tools'
  if (request.tool_choice?.type === 'tool' && !names.has(request.tool_choice.name))
    yield `tool_choice.name: there is no tool ${request.tool_choice.name}`
  if (request.thinking?.type === 'enabled' && request.thinking.budget_tokens >= request.max_tokens)
    yield 'max_tokens: must be greater than thinking.budget_tokens'
  for (const [index, sequence] of (request.stop_sequences ?? []).entries())
    if (sequence.trim() === '') yield `stop_sequences.${index}: must contain more than white space`
  yield* textProblems(request)
  yield* markProblems(request)
  yield* messageProblems(request.messages)
}

/** Text blocks wherever they stand: in the system prompt, in messages, in the results of tools. */
function* textProblems(request: ShapedRequest): Generator<string> {
  for (const { place, block } of blocksOf(request)) {
    if (block.type !== 'text' || block.text === undefined) continue
    if (block.text === '' && block.cache_control)
      yield `${place}: cache_control cannot be set for empty text blocks`
    if (block.text === '') yield `${place}: text content blocks must be non-empty`
    if (block.text.trim() === '') yield `${place}: text content blocks must contain non-whitespace text`
  }
}

function* markProblems(request: ShapedRequest): Generator<string> {
  const marks = [...blocksOf(request)].filter(({ block }) => block.cache_control)
  const count = marks.length + (request.cache_control ? 1 : 0)
  if (count > 4) yield `cache_control: at most 4 blocks may be marked, ${count} found`
  let short = false
  for (const { place, block } of marks) {
    const long = block.cache_control?.ttl === '1h'
    if (long && short) yield `${place}.cache_control.ttl: a mark of 1h must not come after one of 5m`
    short ||= !long
  }
}

interface PlacedBlock {
  place: string
  block: { type?: string | null; text?: string; cache_control?: Anthropic.CacheControlEphemeral | null }
}

/** Everything that can carry a mark, in the order of the prompt: tools, system, messages with what is inside results. */
function* blocksOf(request: ShapedRequest): Generator<PlacedBlock> {
  yield* listed('tools', request.tools ?? [])
  yield* listed('system', typeof request.system === 'string' ? [] : (request.system ?? []))
  for (const [index, message] of request.messages.entries()) {
    if (typeof message.content === 'string') continue
    for (const [position, block] of message.content.entries()) {
      const place = `messages.${index}.content.${position}`
      if (block.type === 'tool_result' && Array.isArray(block.content))
        yield* listed(`${place}.content`, block.content)
      yield { place, block }
    }
  }
}

function* listed(place: string, blocks: readonly PlacedBlock['block'][]): Generator<PlacedBlock> {
  for (const [index, block] of blocks.entries()) yield { place: `${place}.${index}`, block }
}
