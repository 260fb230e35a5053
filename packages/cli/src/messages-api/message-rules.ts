import type { ShapedBlock, ShapedMessage } from './request-shape.ts'

/** What is wrong with the messages of a request beyond their shape: turns, empty content, thinking, calls and results. */
export function* messageProblems(messages: readonly ShapedMessage[]): Generator<string> {
  const called = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const place = `messages.${index}`
    if (message.role !== (index % 2 === 0 ? 'user' : 'assistant'))
      yield index === 0
        ? `${place}.role: the first message must use the user role`
        : `${place}.role: roles must alternate between user and assistant`
    const last = index === messages.length - 1
    yield* contentProblems(message, place, last)
    yield* blockProblems(message, place)
    yield* pairProblems({
      place,
      before: blocksIn(messages[index - 1]),
      here: blocksIn(message),
      after: blocksIn(messages[index + 1]),
    })
    for (const [position, block] of blocksIn(message).entries()) {
      if (block.type !== 'tool_use') continue
      if (called.has(block.id)) yield `${place}.content.${position}.id: tool_use ids must be unique`
      called.add(block.id)
    }
  }
}

function blocksIn(message: ShapedMessage | undefined): readonly ShapedBlock[] {
  return message === undefined || typeof message.content === 'string' ? [] : message.content
}

function* contentProblems(message: ShapedMessage, place: string, last: boolean): Generator<string> {
  const { content, role } = message
  const prefill = last && role === 'assistant'
  if (content.length === 0 && !prefill)
    yield `${place}.content: all messages must have non-empty content except for the optional final assistant message`
  if (typeof content === 'string' && content !== '' && content.trim() === '')
    yield `${place}.content: text content blocks must contain non-whitespace text`
  const end = typeof content === 'string' ? content : content.at(-1)
  const endText = typeof end === 'object' && end.type === 'text' ? end.text : end
  if (prefill && typeof endText === 'string' && endText.trimEnd() !== endText)
    yield `${place}.content: final assistant content cannot end with trailing whitespace`
}

const userOnly = new Set(['tool_result', 'image', 'document', 'search_result'])
const assistantOnly = new Set(['tool_use', 'thinking', 'redacted_thinking'])
const isThinking = (block: ShapedBlock | undefined): boolean =>
  block?.type === 'thinking' || block?.type === 'redacted_thinking'

function* blockProblems(message: ShapedMessage, place: string): Generator<string> {
  const blocks = blocksIn(message)
  const foreign = message.role === 'user' ? assistantOnly : userOnly
  for (const [position, block] of blocks.entries())
    if (foreign.has(block.type))
      yield `${place}.content.${position}: ${block.type} blocks cannot be in ${message.role} messages`
  if (!blocks.some(isThinking)) return
  if (isThinking(blocks.at(-1)))
    yield `${place}.content.${blocks.length - 1}: the final block in an assistant message cannot be thinking`
  if (!isThinking(blocks[0]))
    yield `${place}.content.0: a message with thinking blocks must begin with one, found ${blocks[0]?.type}`
}

function* pairProblems(turn: {
  place: string
  before: readonly ShapedBlock[]
  here: readonly ShapedBlock[]
  after: readonly ShapedBlock[]
}): Generator<string> {
  const { place, here } = turn
  const answered = new Set(
    turn.after.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : [])),
  )
  const asked = new Set(turn.before.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])))
  const seen = new Set<string>()
  for (const [position, block] of here.entries()) {
    const at = `${place}.content.${position}`
    if (block.type === 'tool_use' && !answered.has(block.id))
      yield `${at}: tool_use ${block.id} has no tool_result in the next message`
    if (block.type !== 'tool_result') continue
    if (!asked.has(block.tool_use_id))
      yield `${at}: tool_result ${block.tool_use_id} has no tool_use in the message before`
    if (seen.has(block.tool_use_id)) yield `${at}: each tool_use must have a single result`
    seen.add(block.tool_use_id)
    if (here.slice(0, position).some((earlier) => earlier.type !== 'tool_result'))
      yield `${at}: tool_result blocks must come first in their message`
  }
}
