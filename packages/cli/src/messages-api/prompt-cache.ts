import { createHash } from 'node:crypto'
import type { MessagesRequest } from './request-shape.ts'

/** How a request's prompt met the cache; everything in bytes of its canonical form. */
export interface PromptCount {
  /** The whole prompt. */
  promptBytes: number
  /** The longest prefix it has in common with any earlier prompt, marks or not, to the byte. */
  sharedBytes: number
  cacheReadBytes: number
  cacheWriteBytes: number
}

/** A block of the prompt in canonical form. */
export interface PromptBlock {
  bytes: Buffer
  /** Whether it carries a `cache_control`. */
  marked: boolean
}

export interface PromptCache {
  /** Counts a request and writes its entries. */
  take(request: MessagesRequest): PromptCount
  /** Counts a request that came to nothing (an overloaded API): nothing is read or written, but it was seen. */
  see(request: MessagesRequest): PromptCount
}

/** The marked block is the first of them. */
const lookBackBlocks = 20

/**
 * A prompt cache that behaves as the API's does: a request writes an entry at each block with a `cache_control` mark,
 * and reads the longest entry of its model that is a prefix of its own, looking at no more than 20 blocks from each
 * of its marks backwards, the marked block counted. Without a mark it reads nothing. Not modelled: the least size of a cached prompt, and expiry (neither
 * 5 minutes nor an hour pass here).
 * @param bounds `entries`: how many entries are kept, the least recently used go first (10,000);
 *   `promptBytes`: how much of earlier prompts is kept for `sharedBytes`, the oldest go first (64 MiB).
 */
export function createPromptCache(bounds: { entries?: number; promptBytes?: number } = {}): PromptCache {
  const { entries: maxEntries = 10_000, promptBytes: maxPromptBytes = 64 * 1024 * 1024 } = bounds
  const entries = new Map<string, number>()
  let seen: Buffer[] = []

  function remember(prompt: Buffer): void {
    // What is the beginning of the new prompt says nothing that the new one does not: a growing conversation is one.
    seen = seen.filter((earlier) => !isPrefix(earlier, prompt))
    seen.push(prompt)
    let kept = seen.reduce((sum, earlier) => sum + earlier.length, 0)
    while (kept > maxPromptBytes && seen.length > 1) kept -= seen.shift()?.length ?? 0
  }

  function write(key: string, length: number): void {
    entries.delete(key)
    entries.set(key, length)
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) break
      entries.delete(oldest)
    }
  }

  function see(request: MessagesRequest): PromptCount {
    const prompt = Buffer.concat(promptBlocks(request).map((block) => block.bytes))
    const sharedBytes = seen.reduce((most, earlier) => Math.max(most, sharedLength(earlier, prompt)), 0)
    remember(prompt)
    return { promptBytes: prompt.length, sharedBytes, cacheReadBytes: 0, cacheWriteBytes: 0 }
  }

  function take(request: MessagesRequest): PromptCount {
    const prefixes = prefixesOf(request.model, promptBlocks(request))
    const marks = prefixes.flatMap((prefix, index) => (prefix.marked ? [index] : []))
    const hit = marks
      .flatMap((mark) => prefixes.slice(Math.max(0, mark - lookBackBlocks + 1), mark + 1))
      .filter((prefix) => entries.has(prefix.key))
      .toSorted((a, b) => b.length - a.length)[0]
    if (hit !== undefined) write(hit.key, hit.length)
    for (const prefix of prefixes) if (prefix.marked) write(prefix.key, prefix.length)
    const cacheReadBytes = hit?.length ?? 0
    const marked = prefixes[marks.at(-1) ?? -1]?.length ?? 0
    return { ...see(request), cacheReadBytes, cacheWriteBytes: marked - cacheReadBytes }
  }

  return { take, see }
}

/**
 * The prompt of a request as the cache sees it: tools, system, messages, block by block, without the marks. A string
 * is one text block. The order of a block's own fields does not count; the order of keys inside an `input` or a schema
 * does, as it does for the API. `tool_choice` and `thinking` stand before the messages: another value there leaves
 * only tools and system in common. A mark on the whole request, or inside a tool's result, is one on the block it ends.
 */
export function promptBlocks(request: MessagesRequest): PromptBlock[] {
  const { tool_choice, thinking } = request
  const settings =
    tool_choice === undefined && thinking === undefined ? '' : JSON.stringify({ tool_choice, thinking })
  const blocks = [
    ...(request.tools ?? []).map((tool) => promptBlock('tools', tool)),
    ...contentOf(request.system ?? []).map((block) => promptBlock('system', block)),
    ...request.messages.flatMap((message, index) =>
      contentOf(message.content).map((block) =>
        promptBlock(`${index === 0 ? settings : ''}${message.role}`, block),
      ),
    ),
  ]
  const last = blocks.at(-1)
  if (request.cache_control && last !== undefined) last.marked = true
  return blocks
}

function contentOf(content: string | readonly object[]): readonly object[] {
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function promptBlock(section: string, block: object): PromptBlock {
  const { bare, marked } = withoutMarks(block)
  return { bytes: Buffer.from(`${section} ${JSON.stringify(bare)}\n`), marked }
}

function withoutMarks(block: object): { bare: object; marked: boolean } {
  const { cache_control: mark, ...rest }: Record<string, unknown> = { ...block }
  const fields = Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const bare = Object.fromEntries(fields)
  if (bare['type'] !== 'tool_result') return { bare, marked: Boolean(mark) }
  const inner = contentOf((bare['content'] ?? []) as string | object[]).map(withoutMarks)
  const marked = Boolean(mark) || inner.some((one) => one.marked)
  return { bare: { ...bare, content: inner.map((one) => one.bare) }, marked }
}

interface Prefix {
  key: string
  length: number
  marked: boolean
}

/** For each block, the prompt up to and including it. */
function prefixesOf(model: string, blocks: readonly PromptBlock[]): Prefix[] {
  const hash = createHash('sha256').update(`${model}\n`)
  let length = 0
  return blocks.map(({ bytes, marked }) => {
    hash.update(bytes)
    length += bytes.length
    return { key: hash.copy().digest('hex'), length, marked }
  })
}

function isPrefix(short: Buffer, long: Buffer): boolean {
  return short.length <= long.length && short.equals(long.subarray(0, short.length))
}

/** How many bytes two buffers have in common at their beginning; halving, because comparing is native. */
function sharedLength(a: Buffer, b: Buffer): number {
  let same = 0
  let step = Math.min(a.length, b.length)
  while (step > 0) {
    const end = same + step
    const fits = end <= a.length && end <= b.length
    if (fits && a.subarray(same, end).equals(b.subarray(same, end))) same = end
    else step = Math.floor(step / 2)
  }
  return same
}
