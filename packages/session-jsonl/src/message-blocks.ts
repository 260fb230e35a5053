import { hasMalformedContent, hasText, isContentBlock, isPart } from './content-block.ts'
import type {
  BlockPlace,
  ContentBlock,
  DocumentBlock,
  ImageBlock,
  TextBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './content-block.ts'
import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import { wellFormed, wellFormedCopy } from './well-formed.ts'

/**
 * The blocks of an entry's message that can be sent, well-formed and sharing nothing with it. What is no block, or lacks
 * what its kind needs, is left out; so are texts of blanks alone.
 */
export function blocksOf(entry: Entry, role: 'user' | 'assistant'): ContentBlock[] {
  return contentItems(entry).flatMap((item): ContentBlock[] => {
    const block = asBlock(withoutMalformed(item), role)
    if (block === undefined || (block.type === 'text' && !hasText(block.text))) return []
    if (block.type === 'tool_use') return [withObjectInput(block)]
    return [block.type === 'tool_result' ? withValidContent(block) : block]
  })
}

/** A result without what cannot be sent of its content, however deep; anything else as it is. */
function withoutMalformed(item: unknown): unknown {
  if (!isObject(item) || item['type'] !== 'tool_result' || !hasMalformedContent(item)) return item
  const { content, ...bare } = item
  return Array.isArray(content)
    ? { ...bare, content: content.filter((part: unknown) => isPart(part, 'tool_result')) }
    : bare
}

/** A well-formed copy of a block, or the block that a bare text stands for; `undefined` if it cannot be sent. */
function asBlock(item: unknown, place: BlockPlace): ContentBlock | undefined {
  if (typeof item === 'string') return { type: 'text', text: wellFormed(item) }
  // Asked before the copy, which must not be led too deep.
  if (!isContentBlock(item, place)) return undefined
  const block = wellFormedCopy(item)
  return isContentBlock(block, place) ? block : undefined
}

/** What the content of an entry's message consists of; a content that is no list is its only item. */
function contentItems(entry: Entry): unknown[] {
  const content: unknown = isObject(entry.message) ? entry.message['content'] : undefined
  return Array.isArray(content) ? content : [content]
}

/**
 * How many parts of an entry's message are left out of what is sent, or changed, because they are malformed. Empty
 * texts are not: they are left out as the API wants it.
 */
export function malformedParts(entry: Entry): number {
  const { type, message } = entry
  if ((type !== 'user' && type !== 'assistant') || message === undefined) return 0
  return contentItems(entry).filter((item) => {
    const kept = withoutMalformed(item)
    return kept !== item || !isPart(kept, type)
  }).length
}

/** A call that was cut off in the middle may hold its input as text; the API wants an object. */
function withObjectInput(block: ToolUseBlock): ToolUseBlock {
  return isObject(block.input) ? block : { ...block, input: {} }
}

/** The API refuses empty texts inside a result too, and a failed result that says nothing. */
export function withValidContent(block: ToolResultBlock): ToolResultBlock {
  const content = Array.isArray(block.content) ? block.content.flatMap(resultPart) : block.content
  const silent =
    typeof content === 'string' ? !hasText(content) : content === undefined || content.length === 0
  if (silent && block.is_error === true) return { ...block, content: 'Failed without a message.' }
  return content === undefined ? block : { ...block, content }
}

function resultPart(part: unknown): (TextBlock | ImageBlock | DocumentBlock)[] {
  const block = asBlock(part, 'tool_result')
  return block && isResultPart(block) && (block.type !== 'text' || hasText(block.text)) ? [block] : []
}

function isResultPart(block: ContentBlock): block is TextBlock | ImageBlock | DocumentBlock {
  // What isContentBlock lets pass there: these three, and kinds that are not known here.
  return !['thinking', 'redacted_thinking', 'tool_use', 'tool_result'].includes(block.type)
}
