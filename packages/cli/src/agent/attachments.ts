import type { Entry, EntryDraft } from '@loci/session-jsonl'

/** What a prompt should find in its conversation before it. */
export interface Surroundings {
  /** Local date, `YYYY-MM-DD`. */
  date: string
  /** The memory indexes as they are now; `null`: memory is off. */
  memory: string | null
}

const MEMORY = 'memory_index'

/**
 * The attachments that a prompt needs before it, given what the conversation holds: the date and the memory index,
 * when they are not there or have changed. What was sent once stays as it was; only what is new is added. Pure.
 */
export function planAttachments(chain: readonly Entry[], now: Surroundings): EntryDraft[] {
  const drafts: EntryDraft[] = []
  const known = lastMemory(chain)
  const text = now.memory === null ? undefined : memoryNote(known, now.memory)
  if (text !== undefined) drafts.push(attachment({ type: MEMORY, content: now.memory, text }))
  if (knownDate(chain) !== now.date) drafts.push(attachment({ type: 'date', date: now.date }))
  return drafts
}

/** What an attachment says to the model; `null` for those that say nothing. Pure, and the same for ever. */
export function renderAttachment(entry: Entry, options: { hasMemory: boolean }): string | null {
  const body = bodyOf(entry)
  const date = dateIn(body)
  if (date !== undefined) return `<context name="date">Today is ${date}.</context>`
  if (body?.['type'] !== MEMORY || !options.hasMemory) return null
  return typeof body['text'] === 'string' ? `<context name="memory">\n${body['text']}\n</context>` : null
}

function memoryNote(known: Record<string, unknown> | undefined, memory: string): string | undefined {
  const before = known?.['content']
  if (typeof before !== 'string') return memory === '' ? undefined : memory
  if (before === memory) return undefined
  if (memory === '') return 'The memory is empty now.'
  const added = without(memory, before)
  const removed = without(before, memory)
  // Only their order or blank lines are other than before.
  if (added.length === 0 && removed.length === 0) return undefined
  return [
    'The memory has changed since.',
    ...(added.length > 0 ? ['New in the index:', ...added] : []),
    ...(removed.length > 0 ? ['No longer in the index:', ...removed] : []),
  ].join('\n')
}

/** The last date that the conversation names. */
function knownDate(chain: readonly Entry[]): string | undefined {
  return chain.map((entry) => dateIn(bodyOf(entry))).findLast((date) => date !== undefined)
}

/** Of our own attachments, and of those of other clients. */
function dateIn(body: Record<string, unknown> | undefined): string | undefined {
  if (body?.['type'] !== 'date' && body?.['type'] !== 'date_change') return undefined
  const date = body['date'] ?? body['newDate']
  return typeof date === 'string' ? date : undefined
}

/** Lines of one text that the other has not. */
function without(text: string, other: string): string[] {
  const known = new Set(other.split('\n'))
  return text.split('\n').filter((line) => line !== '' && !known.has(line))
}

function attachment(body: Record<string, unknown>): EntryDraft {
  return { type: 'attachment', attachment: body }
}

/** The last index that the conversation names; none where only changes are left of it, the rest being compacted. */
function lastMemory(chain: readonly Entry[]): Record<string, unknown> | undefined {
  const all = chain.map(bodyOf).filter((body) => body?.['type'] === MEMORY)
  const isWhole = all.some((body) => body?.['content'] === '' || body?.['text'] === body?.['content'])
  return isWhole ? all.at(-1) : undefined
}

function bodyOf(entry: Entry): Record<string, unknown> | undefined {
  const body = entry.type === 'attachment' ? entry['attachment'] : undefined
  return typeof body === 'object' && body !== null ? { ...body } : undefined
}
