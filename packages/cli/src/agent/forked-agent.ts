import type Anthropic from '@anthropic-ai/sdk'
import type { ContentBlock, ModelMessage } from '@loci/session-jsonl'
import type { Saved } from './agent-memory.ts'
import { answerCall } from './answer-calls.ts'
import type { CallRoom } from './answer-calls.ts'
import type { CountUsage } from './count-usage.ts'
import { modelRequest } from './model-request.ts'
import { streamAnswer } from './stream-answer.ts'
import type { Retry, Wait } from './stream-answer.ts'
import { failed } from './tools/tool.ts'
import { NO_USAGE, addUsage } from './usage.ts'
import type { TokenUsage } from '@loci/app-state'

/** Requests of one run. */
const MAX_REQUESTS = 10

/** A conversation as it was when a turn ended. */
export interface EndedTurn {
  /** Uuid of the last entry. */
  tip: string
  messages: readonly ModelMessage[]
}

/** What a fork works with: all that shapes a request is the main agent's own. */
export interface ForkRoom {
  client: Anthropic
  model: string
  system: readonly string[]
  calls: CallRoom
  /** Where a run goes on from. */
  ended: () => Promise<EndedTurn>
  count: CountUsage
  maxRetries: number
  wait: Wait
  onRetry?: (retry: Retry) => void
}

/** A fork of the main agent. */
export interface Fork {
  /**
   * Goes on with `instruction` until the model calls no more tools; others than `allowedTools` are refused.
   *
   * @returns `answer`: the last message of the model
   */
  run(request: {
    instruction: string
    allowedTools: readonly string[]
    signal?: AbortSignal
  }): Promise<{ answer: Anthropic.Message; saved: Saved[]; usage: TokenUsage }>
}

/**
 * An agent beside the main one: the same system prompt, tools and messages, so that what the provider caches of them is
 * used. It writes nothing into the transcript, asks nobody, and what it saves counts as saved in the background.
 */
export function forkedAgent(room: ForkRoom): Fork {
  return {
    async run({ instruction, allowedTools, signal = new AbortController().signal }) {
      const { client, model, system, count, maxRetries, wait, onRetry = () => undefined } = room
      const { tip, messages: before } = await room.ended()
      const messages = withInstruction(before, instruction)
      const saved: Saved[] = []
      const calls = quietCalls(room.calls, signal, (one) => saved.push(one))
      let usage = NO_USAGE
      for (let request = 1; ; request += 1) {
        const { message, isWhole } = await streamAnswer({
          client,
          request: modelRequest({ model, system, tools: calls.tools, messages }),
          signal,
          maxRetries,
          onText: () => undefined,
          onRetry,
          wait,
        })
        usage = addUsage(usage, await count(message.usage))
        if (!isWhole) signal.throwIfAborted()
        const blocks = message.content.filter((block) => block.type === 'tool_use' || block.type === 'text')
        const asked = blocks.filter((block) => block.type === 'tool_use')
        if (asked.length === 0 || message.stop_reason !== 'tool_use' || request === MAX_REQUESTS)
          return { answer: message, saved, usage }
        const results = []
        for (const block of asked) {
          const { text, isError } = allowedTools.includes(block.name)
            ? await answerCall(calls, block, { messageId: tip, signal })
            : failed(
                `${allowedTools.length === 0 ? 'No tool' : `Only ${allowedTools.join(' and ')}`} can be called now.`,
              )
          results.push({
            type: 'tool_result' as const,
            tool_use_id: block.id,
            content: text,
            ...(isError ? { is_error: true } : {}),
          })
        }
        messages.push({ role: 'assistant', content: blocks }, { role: 'user', content: results })
      }
    },
  }
}

/** A conversation that ends with an instruction; its roles alternate, also after a turn that was cut off. */
function withInstruction(before: readonly ModelMessage[], instruction: string): ModelMessage[] {
  const last = before.at(-1)
  if (last?.role !== 'user') return [...before, { role: 'user', content: instruction }]
  const said: ContentBlock[] =
    typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : last.content
  return [...before.slice(0, -1), { role: 'user', content: [...said, { type: 'text', text: instruction }] }]
}

/** Calls of which nobody hears, and that save in the background. */
function quietCalls(calls: CallRoom, signal: AbortSignal, onSaved: (saved: Saved) => void): CallRoom {
  const { memory } = calls.context
  return {
    ...calls,
    context: {
      ...calls.context,
      memory: {
        ...memory,
        async save(scope, draft, options) {
          signal.throwIfAborted()
          const saved = await memory.save(scope, draft, { ...options, inBackground: true })
          onSaved(saved)
          return saved
        },
      },
    },
    approve: undefined,
    emit: () => undefined,
    onDenial: () => undefined,
  }
}
