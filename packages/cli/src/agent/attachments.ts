import type { Entry, EntryDraft } from '@loci/session-jsonl'
import { sinceCompaction } from './compaction.ts'
import { instructionsNote } from './instructions-text.ts'
import type { InstructionSection } from './instructions-text.ts'

/** What a prompt should find in its conversation before it. */
export interface Surroundings {
  /** Local date, `YYYY-MM-DD`. */
  date: string
  /** The memory indexes as they are now; `null`: memory is off. */
  memory: string | null
  /** What the user and the project ask of agents; `null`: that is not looked at. */
  instructions: readonly InstructionSection[] | null
}

const MEMORY = 'memory_index'
const INSTRUCTIONS = 'project_instructions'

/**
 * The attachments that a prompt needs before it, given what the conversation holds: the instructions, the memory
 * index and the date, when they are not there or have changed. What was sent once stays as it was; only what is new is added. Pure.
 */
export function planAttachments(chain: readonly Entry[], now: Surroundings): EntryDraft[] {
  const drafts: EntryDraft[] = []
  // What was kept of the time before may tell of changes alone.
  const told = sinceCompaction(chain)
  const asked = now.instructions && instructionsNote(knownInstructions(told), now.instructions)
  if (asked) drafts.push(attachment({ type: INSTRUCTIONS, sections: now.instructions, text: asked }))
  const known = lastOf(told, MEMORY)
  const text = now.memory === null ? undefined : memoryNote(known, now.memory)
  if (text !== undefined) drafts.push(attachment({ type: MEMORY, content: now.memory, text }))
  if (knownDate(told) !== now.date) drafts.push(attachment({ type: 'date', date: now.date }))
  return drafts
}

/** What an attachment says to the model; `null` for those that say nothing. Pure, and the same for ever. */
export function renderAttachment(entry: Entry, options: { hasMemory: boolean }): string | null {
  const body = bodyOf(entry)
  const date = dateIn(body)
  if (date !== undefined) return `<context name="date">Today is ${date}.</context>`
  if (body?.['type'] === INSTRUCTIONS && typeof body['text'] === 'string')
    return `<context name="instructions">\n${body['text']}\n</context>`
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

function knownInstructions(chain: readonly Entry[]): InstructionSection[] {
  const sections = chain
    .map(bodyOf)
    .findLast((body) => body?.['type'] === INSTRUCTIONS && Array.isArray(body['sections']))?.['sections']
  return Array.isArray(sections) ? sections.filter(isSection) : []
}

function isSection(value: unknown): value is InstructionSection {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('text' in value)) return false
  return typeof value.name === 'string' && typeof value.text === 'string'
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

function lastOf(chain: readonly Entry[], type: string): Record<string, unknown> | undefined {
  return chain.map(bodyOf).findLast((body) => body?.['type'] === type)
}

function bodyOf(entry: Entry): Record<string, unknown> | undefined {
  const body = entry.type === 'attachment' ? entry['attachment'] : undefined
  return typeof body === 'object' && body !== null ? { ...body } : undefined
}
