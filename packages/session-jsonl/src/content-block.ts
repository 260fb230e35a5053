import { isObject } from './entry.ts'

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

/**
 * Whether a block can stand in a message of `role`: it has what its kind needs. A kind that is not known here is
 * taken to be right, since it came from the API.
 */
export function isContentBlock(value: unknown, role: 'user' | 'assistant'): value is ContentBlock {
  if (!isObject(value)) return false
  switch (value['type']) {
    case 'text':
      return hasText(value['text'])
    case 'thinking':
      return (
        role === 'assistant' &&
        typeof value['thinking'] === 'string' &&
        typeof value['signature'] === 'string'
      )
    case 'redacted_thinking':
      return role === 'assistant' && typeof value['data'] === 'string'
    case 'tool_use':
      return role === 'assistant' && typeof value['id'] === 'string' && typeof value['name'] === 'string'
    case 'tool_result':
      return role === 'user' && typeof value['tool_use_id'] === 'string'
    default:
      return typeof value['type'] === 'string'
  }
}

/** Whether `value` is a text that the API takes: it refuses empty ones and such of blanks alone. */
export function hasText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}
