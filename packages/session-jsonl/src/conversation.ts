import { hasText } from './content-block.ts'
import type { ContentBlock, ModelMessage, ToolResultBlock } from './content-block.ts'
import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import { blocksOf, withValidContent } from './message-blocks.ts'
import { messageId } from './tool-index.ts'
import { wellFormed } from './well-formed.ts'

/** How a conversation is made into messages. */
export interface ConversationRules {
  /** What tool results are replaced by, by tool call id. */
  replacements: ReadonlyMap<string, string>
  /** What an attachment says to the model; `null` for nothing. Without it attachments are left out. */
  renderAttachment?: ((entry: Entry) => string | null) | undefined
}

/** A user message in the making. */
interface UserTurn {
  role: 'user'
  blocks: ContentBlock[]
  /** The one plain string it consists of, if it does. */
  plain: string | undefined
}

/** An assistant message in the making, with the results of its calls as they come. */
interface AssistantTurn {
  role: 'assistant'
  id: string | undefined
  blocks: ContentBlock[]
  results: Map<string, ToolResultBlock | undefined>
  /** Attachments that came with the results. */
  notes: ContentBlock[]
}

/**
 * The messages that a chain stands for, accepted by the Messages API as they are: roles alternate, the first is the
 * user's, every tool call has exactly one result in the message after it, nothing is empty.
 *
 * - Lines of one `message.id` are one message, also where results of its first calls stand between them; neighbours of
 *   one role are merged.
 * - A call without a result gets one that says "Interrupted."; a result without a call, a second result and a repeated
 *   call are left out. A result that comes late moves to its place.
 * - What is no block, or lacks what its kind needs, is left out: see {@link malformedParts}.
 * - Texts of blanks alone, and thinking that nothing follows in its message, which the API refuses, are left out. All
 *   other thinking stays in its place.
 * - `system` lines are not sent. An attachment that is rendered goes into the user message that follows it, after its
 *   tool results; without one that follows it is left out, so that what was sent once never changes.
 * - Every string is well-formed UTF-16.
 *
 * Pure: the same chain gives the same bytes. What is sent when it ends with a prompt or with all results of a message
 * is, byte for byte, the beginning of what is sent as it grows, which is what a prompt cache needs.
 */
export function buildConversation(chain: readonly Entry[], rules: ConversationRules): ModelMessage[] {
  const turns: (UserTurn | AssistantTurn)[] = []
  const callsSeen = new Set<string>()
  let notes: ContentBlock[] = []
  for (const entry of chain) {
    if (entry.type === 'attachment') {
      const text = rules.renderAttachment?.(entry)
      if (hasText(text)) notes.push({ type: 'text', text: wellFormed(text) })
    } else if (entry.type === 'assistant') {
      addAssistant(turns, entry, callsSeen)
    } else if (entry.type === 'user' && addUser(turns, entry, rules.replacements, notes)) {
      notes = []
    }
  }
  return emit(turns)
}

function addAssistant(turns: (UserTurn | AssistantTurn)[], entry: Entry, callsSeen: Set<string>): void {
  const blocks = blocksOf(entry, 'assistant').filter((block) => {
    if (block.type !== 'tool_use') return true
    if (callsSeen.has(block.id)) return false
    callsSeen.add(block.id)
    return true
  })
  if (blocks.length === 0) return
  const id = messageId(entry)
  const last = turns.at(-1)
  const isSame = last?.role === 'assistant' && id !== undefined && last.id === id
  const joins = last?.role === 'assistant' && (isSame || last.results.size === 0)
  const turn: AssistantTurn = joins
    ? last
    : { role: 'assistant', id, blocks: [], results: new Map(), notes: [] }
  if (!joins) turns.push(turn)
  turn.id = id
  // Where the line between two messages is lost they become one, which may begin with thinking but not go on with it.
  turn.blocks.push(...(joins && !isSame ? blocks.filter((block) => !isThinking(block)) : blocks))
  for (const block of blocks) if (block.type === 'tool_use') turn.results.set(block.id, undefined)
}

/** Adds what a user entry says; whether `notes` found their place with it. */
function addUser(
  turns: (UserTurn | AssistantTurn)[],
  entry: Entry,
  replacements: ReadonlyMap<string, string>,
  notes: readonly ContentBlock[],
): boolean {
  const said: ContentBlock[] = []
  let answered: AssistantTurn | undefined
  for (const block of blocksOf(entry, 'user')) {
    if (block.type !== 'tool_result') {
      said.push(block)
      continue
    }
    const caller = turns.findLast(
      (turn): turn is AssistantTurn =>
        turn.role === 'assistant' &&
        turn.results.has(block.tool_use_id) &&
        turn.results.get(block.tool_use_id) === undefined,
    )
    if (caller === undefined) continue
    // The order of arrival is the order in which the results are sent.
    caller.results.delete(block.tool_use_id)
    caller.results.set(block.tool_use_id, withReplacement(block, replacements))
    answered = caller
  }
  const last = turns.at(-1)
  if (said.length === 0) {
    if (answered === undefined) return false
    if (last === answered) answered.notes.push(...notes)
    else if (last?.role === 'user') appendTo(last, notes)
    else return false
    return true
  }
  const plain = isObject(entry.message) ? entry.message['content'] : undefined
  if (last?.role === 'user') appendTo(last, [...notes, ...said])
  else {
    const alone = typeof plain === 'string' && notes.length === 0
    turns.push({ role: 'user', blocks: [...notes, ...said], plain: alone ? wellFormed(plain) : undefined })
  }
  return true
}

function appendTo(turn: UserTurn, blocks: readonly ContentBlock[]): void {
  if (blocks.length === 0) return
  turn.blocks.push(...blocks)
  turn.plain = undefined
}

function emit(turns: readonly (UserTurn | AssistantTurn)[]): ModelMessage[] {
  const messages: { role: 'user' | 'assistant'; blocks: ContentBlock[]; plain: string | undefined }[] = []
  const add = (role: 'user' | 'assistant', blocks: ContentBlock[], plain?: string): void => {
    const last = messages.at(-1)
    if (blocks.length === 0) return
    if (last?.role === role) {
      last.blocks.push(...blocks)
      last.plain = undefined
    } else messages.push({ role, blocks: [...blocks], plain })
  }
  for (const turn of turns) {
    if (turn.role === 'user') {
      add('user', turn.blocks, turn.plain)
      continue
    }
    add('assistant', withoutTrailingThinking(turn.blocks))
    add('user', [...resultsOf(turn), ...turn.notes])
  }
  // An assistant message that was all thinking is gone, and its neighbours are one.
  const [first] = messages
  if (first?.role === 'assistant') messages.unshift({ role: 'user', blocks: [], plain: MISSING_BEGINNING })
  return messages.map(({ role, blocks, plain }) => ({ role, content: plain ?? blocks }))
}

/** Stands where a conversation begins with the model, since what it answered was lost. */
const MISSING_BEGINNING = '(The beginning of this conversation is missing.)'

/** The results of a message's calls: those that came, in the order they came, then those that never did. */
function resultsOf(turn: AssistantTurn): ToolResultBlock[] {
  const came = [...turn.results.values()].filter((result) => result !== undefined)
  const missing = [...turn.results].flatMap(([id, result]): ToolResultBlock[] =>
    result ? [] : [{ type: 'tool_result', tool_use_id: id, content: 'Interrupted.', is_error: true }],
  )
  return [...came, ...missing]
}

function isThinking({ type }: ContentBlock): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

function withoutTrailingThinking(blocks: readonly ContentBlock[]): ContentBlock[] {
  const last = blocks.findLastIndex((block) => !isThinking(block))
  return blocks.slice(0, last + 1)
}

function withReplacement(block: ToolResultBlock, replacements: ReadonlyMap<string, string>): ToolResultBlock {
  const text = replacements.get(block.tool_use_id)
  return text === undefined ? block : withValidContent({ ...block, content: wellFormed(text) })
}
