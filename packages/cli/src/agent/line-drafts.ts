import type Anthropic from '@anthropic-ai/sdk'
import type { EntryDraft } from '@loci/session-jsonl'
import { cutText } from '../cut-text.ts'
import { MAX_RESULT_UNITS } from './large-result.ts'
import type { LargeResult } from './large-result.ts'
import type { ToolResult } from './tools/tool.ts'

/** The line of one block of a message; other clients write one for each, too. Pure. */
export function answerDraft(message: Anthropic.Message, index: number, promptId: string): EntryDraft {
  const { id, type, role, model, stop_reason, stop_sequence, usage } = message
  const content = message.content.slice(index, index + 1)
  return {
    type: 'assistant',
    promptId,
    message: { id, type, role, model, content, stop_reason, stop_sequence, usage },
    apiBlockIndex: index,
  }
}

/**
 * The line of a call's result, with what the model sees of it and, for who reads it later, what the tool did. Pure.
 *
 * @param call.messageId of the line with the call
 */
export function resultDraft(
  call: { id: string; messageId: string; promptId: string },
  result: ToolResult,
  large: LargeResult | undefined,
): EntryDraft {
  const content = {
    type: 'tool_result',
    tool_use_id: call.id,
    content: result.image ? withImage(result.text, result.image) : (large?.preview ?? result.text),
    ...(result.isError ? { is_error: true } : {}),
  }
  return {
    type: 'user',
    promptId: call.promptId,
    sourceToolAssistantUUID: call.messageId,
    message: { role: 'user', content: [content] },
    toolUseResult: toolUseResult(result, large),
  }
}

function withImage(text: string, { mediaType, base64 }: NonNullable<ToolResult['image']>): unknown[] {
  return [
    { type: 'text', text },
    { type: 'image', source: { type: 'base64', media_type: mediaType, data: base64 } },
  ]
}

function toolUseResult({ text, isError, details }: ToolResult, large: LargeResult | undefined): unknown {
  if (isError && details === undefined) return `Error: ${cutText(text, MAX_RESULT_UNITS)}`
  const stdout = details?.['stdout']
  const kept = typeof stdout === 'string' ? { stdout: cutText(stdout, MAX_RESULT_UNITS) } : {}
  const aside = large ? { persistedOutputPath: large.path, persistedOutputSize: large.sizeBytes } : {}
  return { ...details, ...kept, ...aside }
}
