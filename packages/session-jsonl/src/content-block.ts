import { isObject } from './entry.ts'
import { isShallow } from './json-depth.ts'

/** Text that a person, a tool or the model wrote. */
export interface TextBlock {
  type: 'text'
  text: string
}
/** What the model thought, signed by the API, which wants it back unchanged and in its place. */
export interface ThinkingBlock {
  type: 'thinking'
  thinking: string
  signature: string
}
export interface RedactedThinkingBlock {
  type: 'redacted_thinking'
  data: string
}
export interface ToolUseBlock {
  type: 'tool_use'
  id: string
  name: string
  input: unknown
}
export interface ImageBlock {
  type: 'image'
  source:
    | { type: 'base64'; media_type: 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'; data: string }
    | { type: 'url'; url: string }
}
export interface DocumentBlock {
  type: 'document'
  source:
    | { type: 'base64'; media_type: 'application/pdf'; data: string }
    | { type: 'text'; media_type: 'text/plain'; data: string }
    | { type: 'url'; url: string }
}
export interface ToolResultBlock {
  type: 'tool_result'
  tool_use_id: string
  content?: string | (TextBlock | ImageBlock | DocumentBlock)[]
  is_error?: boolean
}

/**
 * A part of a message as the Messages API takes it. Blocks of kinds that are not named here are passed through as
 * they are.
 *
 * Source: https://docs.claude.com/en/api/messages
 */
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | ImageBlock
  | DocumentBlock

/** A message as the Messages API takes it: assignable to its `MessageParam`. */
export type ModelMessage = { role: 'user' | 'assistant'; content: string | ContentBlock[] }

/** Where a block stands: in a message of that role, or in the result of a tool. */
export type BlockPlace = 'user' | 'assistant' | 'tool_result'

/**
 * Whether a block can stand in its place: it has what its kind needs, and is not so deep that it cannot be sent. A kind
 * that is not known here is taken to be right, since it came from the API. Of the content of a result see
 * {@link hasMalformedContent}.
 */
export function isContentBlock(value: unknown, place: BlockPlace): value is ContentBlock {
  if (!isObject(value) || !isShallow(value)) return false
  switch (value['type']) {
    case 'text':
      return typeof value['text'] === 'string'
    case 'thinking':
      return (
        place === 'assistant' &&
        typeof value['thinking'] === 'string' &&
        typeof value['signature'] === 'string'
      )
    case 'redacted_thinking':
      return place === 'assistant' && typeof value['data'] === 'string'
    case 'tool_use':
      return place === 'assistant' && isName(value['id']) && isName(value['name'])
    case 'tool_result':
      return place === 'user' && isName(value['tool_use_id'])
    case 'image':
    case 'document':
      return place !== 'assistant' && isSource(value['source'])
    default:
      return typeof value['type'] === 'string'
  }
}

/** Whether a result holds something that cannot be sent, besides what can. */
export function hasMalformedContent(result: Record<string, unknown>): boolean {
  const { content } = result
  if (content === undefined || typeof content === 'string') return false
  return !Array.isArray(content) || !content.every((part) => isPart(part, 'tool_result'))
}

/** Whether an item of a list of blocks is one, or a text that stands for one. */
export function isPart(item: unknown, place: BlockPlace): boolean {
  return typeof item === 'string' || isContentBlock(item, place)
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isSource(source: unknown): boolean {
  if (!isObject(source)) return false
  const { type, data, media_type: mediaType, url } = source
  if (type === 'base64') return typeof data === 'string' && typeof mediaType === 'string'
  if (type === 'text') return typeof data === 'string'
  return type === 'url' ? typeof url === 'string' : typeof type === 'string'
}

/** Whether `value` is a text that the API takes: it refuses empty ones and such of blanks alone. */
export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
