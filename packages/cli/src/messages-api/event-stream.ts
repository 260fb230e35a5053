import type Anthropic from '@anthropic-ai/sdk'
import type { AnswerBlock, ModelAnswer } from './answer.ts'
import type { PromptCount } from './prompt-cache.ts'

/** An event as the API sends it. */
export type StreamEvent =
  | Anthropic.RawMessageStreamEvent
  | { type: 'ping' }
  | { type: 'error'; error: { type: string; message: string } }

/** An event in the form of server-sent events. */
export function formatEvent(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/** The whole message that an answer is; `usage` counts bytes as tokens. */
export function messageOf(
  answer: ModelAnswer,
  request: { model: string; count: PromptCount; createId: () => string },
): Anthropic.Message {
  const content = answer.content.map((block) => contentBlock(block, request.createId))
  const stopReason =
    answer.stopReason ?? (content.some((block) => block.type === 'tool_use') ? 'tool_use' : 'end_turn')
  const { promptBytes, cacheReadBytes, cacheWriteBytes } = request.count
  return {
    id: `msg_${request.createId()}`,
    type: 'message',
    role: 'assistant',
    model: request.model,
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    stop_details: stopReason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
    container: null,
    diagnostics: null,
    usage: {
      input_tokens: promptBytes - cacheReadBytes - cacheWriteBytes,
      cache_creation_input_tokens: cacheWriteBytes,
      cache_read_input_tokens: cacheReadBytes,
      output_tokens: Math.max(1, Buffer.byteLength(JSON.stringify(answer.content))),
      cache_creation: { ephemeral_5m_input_tokens: cacheWriteBytes, ephemeral_1h_input_tokens: 0 },
      output_tokens_details: null,
      server_tool_use: null,
      service_tier: 'standard',
      inference_geo: null,
      speed: null,
    },
  }
}

function contentBlock(
  block: AnswerBlock,
  createId: () => string,
): Anthropic.TextBlock | Anthropic.ThinkingBlock | Anthropic.ToolUseBlock {
  if (block.type === 'text') return { type: 'text', text: block.text, citations: null }
  if (block.type === 'thinking') return block
  const { id = `toolu_${createId()}`, name, input } = block
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } }
}

/** The events of a message, in the API's order: text, thinking and the JSON of inputs come in several pieces. */
export function eventsOf(message: Anthropic.Message, answer: ModelAnswer): StreamEvent[] {
  const { usage } = message
  const start: Anthropic.Message = {
    ...message,
    content: [],
    stop_reason: null,
    stop_details: null,
    usage: { ...usage, output_tokens: 1 },
  }
  return [
    { type: 'message_start', message: start },
    { type: 'ping' },
    ...message.content.flatMap((block, index) => blockEvents(block, index, answer.content[index])),
    {
      type: 'message_delta',
      delta: {
        stop_reason: message.stop_reason,
        stop_sequence: null,
        stop_details: message.stop_details,
        container: null,
      },
      usage: {
        input_tokens: usage.input_tokens,
        cache_creation_input_tokens: usage.cache_creation_input_tokens,
        cache_read_input_tokens: usage.cache_read_input_tokens,
        output_tokens: usage.output_tokens,
        output_tokens_details: null,
        server_tool_use: null,
      },
    },
    { type: 'message_stop' },
  ]
}

function blockEvents(
  block: Anthropic.ContentBlock,
  index: number,
  answered: AnswerBlock | undefined,
): StreamEvent[] {
  const { start, deltas } = opened(block, answered)
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta): StreamEvent => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

interface OpenedBlock {
  start: Anthropic.RawContentBlockStartEvent['content_block']
  deltas: Anthropic.RawContentBlockDelta[]
}

function opened(block: Anthropic.ContentBlock, answered: AnswerBlock | undefined): OpenedBlock {
  if (block.type === 'text') {
    const deltas = piecesOf(block.text).map((text) => ({ type: 'text_delta' as const, text }))
    return { start: { ...block, text: '' }, deltas }
  }
  if (block.type === 'thinking') {
    const deltas = piecesOf(block.thinking).map((thinking) => ({ type: 'thinking_delta' as const, thinking }))
    return {
      start: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature: block.signature }],
    }
  }
  if (block.type !== 'tool_use') return { start: block, deltas: [] }
  const raw = answered?.type === 'tool_use' ? answered.rawInput : undefined
  // The API opens each input with an empty piece.
  const pieces = ['', ...piecesOf(raw ?? JSON.stringify(block.input ?? {}))]
  return {
    start: { ...block, input: {} },
    deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  }
}

/** A text in at most 40 pieces of four characters or more; a character is never cut in two. */
function piecesOf(text: string): string[] {
  const characters = Array.from(text)
  const size = Math.max(4, Math.ceil(characters.length / 40))
  const count = Math.ceil(characters.length / size)
  return Array.from({ length: count }, (_, at) => characters.slice(at * size, (at + 1) * size).join(''))
}
