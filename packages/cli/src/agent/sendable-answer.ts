import { randomUUID } from 'node:crypto'
import type Anthropic from '@anthropic-ai/sdk'
import type { Entry, RecordDraft, Session } from '@loci/session-jsonl'
import { toolCallsOf } from '../message-content.ts'

/**
 * Changes in an answer what cannot be sent back as it is. A message or a call whose id is not new in the session gets
 * a new one: what was written under it before, lines of one message or a replaced result, would be taken for theirs.
 * So does a call with an id that the API would refuse, and a name is cut down to what it takes.
 */
export async function makeSendable(message: Anthropic.Message, session: Session): Promise<void> {
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
    call.name = call.name.replaceAll(/[^\w-]/g, '_').slice(0, 128) || '_'
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
