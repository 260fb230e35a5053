import type { Entry } from '@loci/session-jsonl'

/** The blocks of an entry's message, each an object with a type; a plain string is one text block. */
export function blocksOf(entry: Entry): { type: string; [field: string]: unknown }[] {
  const { message } = entry
  if (typeof message !== 'object' || message === null || !('content' in message)) return []
  const { content } = message
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter(isBlock) : []
}

function isBlock(block: unknown): block is { type: string; [field: string]: unknown } {
  return typeof block === 'object' && block !== null && 'type' in block && typeof block.type === 'string'
}

/** The tool calls that an assistant line holds. */
export function toolCallsOf(entry: Entry): { id: string; name: string }[] {
  if (entry.type !== 'assistant') return []
  return blocksOf(entry).flatMap(({ type, id, name }) =>
    type === 'tool_use' && typeof id === 'string' ? [{ id, name: String(name) }] : [],
  )
}

/** The ids of the calls whose results a user line holds. */
export function toolResultIdsOf(entry: Entry): string[] {
  if (entry.type !== 'user') return []
  return blocksOf(entry).flatMap((block) =>
    block.type === 'tool_result' && typeof block['tool_use_id'] === 'string' ? [block['tool_use_id']] : [],
  )
}

/** What an entry says, in short: its text, the calls it makes; `''` for one that says nothing. */
export function textOf(entry: Entry | undefined): string {
  if (entry === undefined) return ''
  return blocksOf(entry).map(blockText).join(' ').replaceAll(/\s+/g, ' ').trim()
}

function blockText({ type, text, name }: { type: string; [field: string]: unknown }): string {
  if (typeof text === 'string') return text
  return type === 'tool_use' ? `[calls ${String(name)}]` : `[${type}]`
}
