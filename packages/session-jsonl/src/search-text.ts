import { isObject } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { fold, isAscii } from './search-query.ts'
import { cutUnits, wellFormed } from './well-formed.ts'

/** A text that an entry holds, and who it is from: `tool` for what a tool answered. */
interface Said {
  role: 'user' | 'assistant' | 'tool'
  text: string
}

/**
 * Where an entry holds all the words, which may be in several of its texts: the first text with one of them, as a
 * snippet around it. `undefined` if it does not hold them, or is no prompt, answer or result. Pure.
 *
 * @param words folded
 */
export function findWords(
  record: Entry | RecordDraft,
  words: readonly string[],
): { role: Said['role']; snippet: string } | undefined {
  if (record.type !== 'user' && record.type !== 'assistant') return undefined
  const missing = new Set(words)
  let first: Said | undefined
  for (const said of textsOf(record.type, record['message'])) {
    const folded = fold(said.text)
    const here = words.filter((word) => folded.includes(word))
    if (here.length > 0) first ??= said
    for (const word of here) missing.delete(word)
  }
  if (first === undefined || missing.size > 0) return undefined
  return { role: first.role, snippet: snippetOf(first.text, words) }
}

function* textsOf(role: 'user' | 'assistant', message: unknown): Generator<Said> {
  const content: unknown = isObject(message) ? message['content'] : undefined
  const blocks: unknown[] = Array.isArray(content) ? content : [content]
  for (const block of blocks) {
    if (typeof block === 'string') yield { role, text: block }
    if (!isObject(block)) continue
    if (block['type'] === 'text' && typeof block['text'] === 'string') yield { role, text: block['text'] }
    if (block['type'] === 'tool_use') for (const text of strings(block['input'])) yield { role, text }
    if (block['type'] !== 'tool_result') continue
    const parts: unknown[] = Array.isArray(block['content']) ? block['content'] : [block['content']]
    for (const part of parts) {
      const text: unknown = isObject(part) && part['type'] === 'text' ? part['text'] : part
      if (typeof text === 'string') yield { role: 'tool', text }
    }
  }
}

/** The strings in a JSON value, however deep, in order; no keys. */
function* strings(value: unknown): Generator<string> {
  const open: unknown[] = [value]
  while (open.length > 0) {
    const item = open.pop()
    if (typeof item === 'string') yield item
    else if (typeof item === 'object' && item !== null) open.push(...Object.values(item).toReversed())
  }
}

const SNIPPET_UNITS = 200
/** How much of a snippet stands before the words. */
const BEFORE_UNITS = 60

/**
 * One line of at most 200 UTF-16 units around the first of the words in `text`, with `…` where it is cut; never half a
 * surrogate pair. Pure.
 *
 * @param words folded
 */
export function snippetOf(text: string, words: readonly string[]): string {
  const line = wellFormed(text).replaceAll(/\s+/g, ' ').trim()
  const folded = fold(line)
  const places = words.map((word) => folded.indexOf(word)).filter((place) => place !== -1)
  const at = unfoldedPlace(line, Math.min(...places, folded.length))
  // Near the end more is shown before it; one unit is for the mark of the cut.
  const latest = line.length > SNIPPET_UNITS ? line.length - SNIPPET_UNITS + 1 : 0
  let from = Math.max(0, Math.min(at - BEFORE_UNITS, latest))
  // The second half of a pair.
  if (/^[\uDC00-\uDFFF]/.test(line.slice(from, from + 1))) from += 1
  const before = from > 0 ? '…' : ''
  const rest = before + line.slice(from)
  // A copy: a slice would keep the whole text in memory.
  return Buffer.from(
    rest.length <= SNIPPET_UNITS ? rest : `${cutUnits(rest, SNIPPET_UNITS - 1).trimEnd()}…`,
  ).toString()
}

/** Where in a line, about, the character is that is at `place` once the line is folded. */
function unfoldedPlace(line: string, place: number): number {
  if (isAscii(line)) return place
  let start = 0
  let left = place
  // Nothing is composed over a space.
  for (;;) {
    const space = line.indexOf(' ', start)
    const end = space === -1 ? line.length : space + 1
    const length = fold(line.slice(start, end)).length
    if (left < length || space === -1) return start + placeInWord(line.slice(start, end), left)
    left -= length
    start = end
  }
}

function placeInWord(word: string, place: number): number {
  let low = 0
  let high = word.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (fold(word.slice(0, middle + 1)).length > place) high = middle
    else low = middle + 1
  }
  return low
}
