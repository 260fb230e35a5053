import type Anthropic from '@anthropic-ai/sdk'
import type { Entry, RecordDraft } from '@loci/session-jsonl'
import { toolCallsOf } from '../message-content.ts'

/** Ids that stand in a session already. */
export interface KnownIds {
  messages: ReadonlySet<string>
  calls: ReadonlySet<string>
}

/** The ids of a conversation, and those whose results are replaced wherever they stand, on other branches too. Pure. */
export function knownIds(chain: readonly Entry[], replacements: readonly RecordDraft[]): KnownIds {
  return {
    messages: new Set(chain.flatMap(messageIdsOf)),
    calls: new Set([
      ...chain.flatMap(toolCallsOf).map(({ id }) => id),
      ...replacements.flatMap(replacedIdsOf),
    ]),
  }
}

/**
 * An answer as it can be sent back. A message or a call whose id is known gets a new one: what was written under it
 * before, lines of one message or a replaced result, would be taken for theirs. So does a call with an id that the API
 * would refuse; a name is cut down to what it takes, and an input that nests too deep is left out, which the tool will
 * say. Pure but for the ids.
 */
export function sendableAnswer(
  message: Anthropic.Message,
  known: KnownIds,
  createId: () => string,
): Anthropic.Message {
  const newId = (prefix: string): string => `${prefix}_${createId().replaceAll('-', '')}`
  const taken = new Set(known.calls)
  const content = message.content.map((block) => {
    if (block.type !== 'tool_use') return block
    const id = taken.has(block.id) || !/^[\w-]{1,200}$/.test(block.id) ? newId('toolu') : block.id
    taken.add(id)
    const input = isShallow(block.input, MAX_DEPTH) ? block.input : {}
    return { ...block, id, input, name: block.name.replaceAll(/[^\w-]/g, '_').slice(0, 128) || '_' }
  })
  const isNew = message.id !== '' && !known.messages.has(message.id)
  return { ...message, id: isNew ? message.id : newId('msg'), content }
}

/** Levels of an input; the API refuses a request that nests deeper than some hundreds, and with it the conversation. */
const MAX_DEPTH = 100

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((part: unknown) => isShallow(part, depth - 1))
}

function messageIdsOf({ message }: Entry): string[] {
  if (typeof message !== 'object' || message === null || !('id' in message)) return []
  return typeof message.id === 'string' ? [message.id] : []
}

function replacedIdsOf({ replacements }: RecordDraft): string[] {
  const items: unknown[] = Array.isArray(replacements) ? replacements : []
  return items.flatMap((item) =>
    typeof item === 'object' && item !== null && 'toolUseId' in item && typeof item.toolUseId === 'string'
      ? [item.toolUseId]
      : [],
  )
}
