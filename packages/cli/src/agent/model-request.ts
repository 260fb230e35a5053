import type Anthropic from '@anthropic-ai/sdk'
import type { ModelMessage } from '@loci/session-jsonl'
import type { Tool } from './tools/tool.ts'

const MAX_OUTPUT_TOKENS = 32_000
const CACHE: Anthropic.CacheControlEphemeral = { type: 'ephemeral' }

/**
 * The request for the next message of a conversation. Its beginning (tools, system, earlier messages) is, byte for
 * byte, that of the request before. Marks for the prompt cache stand at the end of the system prompt, at the end of the
 * conversation, and where the user spoke before that, so that a long turn still finds the last entry. Pure.
 */
export function modelRequest(options: {
  model: string
  system: readonly string[]
  tools: readonly Tool[]
  messages: readonly ModelMessage[]
}): Anthropic.MessageCreateParamsStreaming {
  const { model, system, tools, messages } = options
  return {
    model,
    max_tokens: MAX_OUTPUT_TOKENS,
    stream: true,
    tools: tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    })),
    system: system.map((text, index) => ({
      type: 'text',
      text,
      ...(index === system.length - 1 ? { cache_control: CACHE } : {}),
    })),
    messages: markedMessages(messages),
  }
}

function markedMessages(messages: readonly ModelMessage[]): Anthropic.MessageParam[] {
  const spoken = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : []))
  const marked = new Set(spoken.slice(-2))
  return messages.map((message, index) => (marked.has(index) ? withMark(message) : message))
}

function withMark({ role, content }: ModelMessage): Anthropic.MessageParam {
  if (typeof content === 'string')
    return content.trim() === ''
      ? { role, content }
      : { role, content: [{ type: 'text', text: content, cache_control: CACHE }] }
  const last = content.at(-1)
  // The API takes no mark on a thought or an empty text, and a user has none.
  const isBare = last?.type === 'thinking' || last?.type === 'redacted_thinking'
  if (last === undefined || isBare || (last.type === 'text' && last.text.trim() === ''))
    return { role, content }
  return { role, content: [...content.slice(0, -1), { ...last, cache_control: CACHE }] }
}
