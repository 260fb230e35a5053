import { randomUUID } from 'node:crypto'
import type Anthropic from '@anthropic-ai/sdk'
import type { Entry, RecordDraft, Session } from '@loci/session-jsonl'
import { toolCallsOf } from '../message-content.ts'

/**
 * Gives a new id to a message, and to its calls, whose own is not new in the session or is none that the API would take
 * back. What was written under an id before would be taken for theirs: lines of one message, a replaced result.
 */
export async function renameRepeated(message: Anthropic.Message, session: Session): Promise<void> {
  const chain = await session.chain()
  if (message.id === '' || chain.some((entry) => messageIdOf(entry) === message.id))
    message.id = `msg_${newId()}`
  const calls = message.content.filter((block) => block.type === 'tool_use')
  if (calls.length === 0) return
  // A replacement holds wherever its id stands, on other branches too.
  const replaced = (await session.records('content-replacement')).flatMap(replacedIdsOf)
  const taken = new Set([...chain.flatMap(toolCallsOf).map(({ id }) => id), ...replaced])
  for (const call of calls) {
    if (taken.has(call.id) || !/^[\w-]{1,200}$/.test(call.id)) call.id = `toolu_${newId()}`
    taken.add(call.id)
  }
}

function newId(): string {
  return randomUUID().replaceAll('-', '')
}

function messageIdOf({ message }: Entry): unknown {
  return typeof message === 'object' && message !== null && 'id' in message ? message.id : undefined
}

function replacedIdsOf({ replacements }: RecordDraft): string[] {
  const items: unknown[] = Array.isArray(replacements) ? replacements : []
  return items.flatMap((item) =>
    typeof item === 'object' && item !== null && 'toolUseId' in item && typeof item.toolUseId === 'string'
      ? [item.toolUseId]
      : [],
  )
}
