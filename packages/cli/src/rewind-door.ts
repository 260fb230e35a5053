import { LociError } from '@loci/disk'
import type { Entry, Session } from '@loci/session-jsonl'
import { blocksOf } from './message-content.ts'

/** Whether an entry is what somebody asked, as opposed to a tool's result or a note of the client. */
export function isPrompt(entry: Entry): boolean {
  return (
    entry.type === 'user' &&
    entry['isMeta'] !== true &&
    entry['isCompactSummary'] !== true &&
    !blocksOf(entry).some(({ type }) => type === 'tool_result')
  )
}

/**
 * Where the conversation goes for the id of an entry: the id of a prompt means before it, any other after it.
 * `null` is the empty conversation.
 * @throws {LociError} ENTRY_NOT_FOUND
 */
export async function conversationTarget(session: Session, id: string): Promise<string | null> {
  const entry = await session.entry(id)
  if (entry === undefined) throw unknownEntry(session.id, id)
  if (!isPrompt(entry)) return id
  if (entry.parentUuid === null || (await session.entry(entry.parentUuid)) !== undefined)
    return entry.parentUuid
  // The parent is lost: what the chain puts before the prompt stands in for it.
  return (await session.chain(id)).at(-2)?.uuid ?? null
}

/**
 * Which snapshot holds the files for the id of an entry: for a prompt its own, taken before it; for any other entry
 * that of the next prompt after it. `null`: no prompt came after, so the files are as they are on disk. An id that
 * is no entry is taken for a snapshot's own.
 */
export async function filesTarget(session: Session, id: string): Promise<string | null> {
  const entry = await session.entry(id)
  if (entry === undefined || isPrompt(entry)) return id
  const tips = await session.tips()
  const current = tips.filter((tip) => tip.current)
  for (const tip of [...current, ...tips]) {
    const chain = await session.chain(tip.uuid)
    const position = chain.findIndex((one) => one.uuid === id)
    const next = position === -1 ? undefined : chain.slice(position + 1).find(isPrompt)
    if (next !== undefined) return next.uuid
    if (position !== -1) return null
  }
  return null
}

function unknownEntry(sessionId: string, id: string): LociError {
  return new LociError('ENTRY_NOT_FOUND', `Session ${sessionId} has no entry ${JSON.stringify(id)}`, {
    details: { sessionId, id },
  })
}
