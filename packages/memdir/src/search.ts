import { cutText } from './cut-text.ts'
import type { Memory } from './memory.ts'

/** A memory that was found. */
export interface SearchHit {
  memory: Memory
  /** Greater is better; comparable within one search only. */
  score: number
  /** One line of the memory, around the first word found. */
  snippet: string
}

const WEIGHTS = { name: 8, description: 4, body: 1 } as const
/** A word that fills a long body must not beat one in a name. */
const MAX_COUNTED = 5
const SNIPPET_UNITS = 160
const SNIPPET_LEAD = 40

/**
 * The memories that hold at least one word of the query in name, description or body, best first: those that
 * hold more of the words, then those that hold them in the name, and often. Case, accents' spelling and width
 * do not matter; a word is found inside longer ones, so that text without blanks between words works too.
 */
export function searchMemories(memories: readonly Memory[], query: string): SearchHit[] {
  const words = [
    ...new Set(
      fold(query)
        .split(/\s+/)
        .filter((word) => word !== ''),
    ),
  ]
  return memories
    .flatMap((memory) => {
      const score = words.reduce((sum, word) => sum + scoreWord(memory, word), 0)
      return score === 0 ? [] : [{ memory, score, snippet: snippetOf(memory, words) }]
    })
    .toSorted((a, b) => b.score - a.score || (a.memory.file < b.memory.file ? -1 : 1))
}

/** Each word found counts more than all that one word can collect. */
function scoreWord(memory: Memory, word: string): number {
  const found =
    WEIGHTS.name * count(memory.name, word) +
    WEIGHTS.description * count(memory.description, word) +
    WEIGHTS.body * count(memory.body, word)
  const most = MAX_COUNTED * (WEIGHTS.name + WEIGHTS.description + WEIGHTS.body)
  return found === 0 ? 0 : most + found
}

function count(text: string, word: string): number {
  return Math.min(MAX_COUNTED, fold(text).split(word).length - 1)
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

function snippetOf(memory: Memory, words: readonly string[]): string {
  const fields = [memory.body, memory.description, memory.name].map((text) =>
    text.replace(/\s+/g, ' ').trim(),
  )
  const field = fields.find((text) => words.some((word) => fold(text).includes(word))) ?? ''
  const at = Math.min(...words.map((word) => fold(field).indexOf(word)).filter((index) => index >= 0))
  // Folding can change lengths, so the place is near, not exact; all that matters is to show its surroundings.
  const skipped = cutText(field, Math.max(0, at - SNIPPET_LEAD))
  const shown = cutText(field.slice(skipped.length), SNIPPET_UNITS)
  return `${skipped === '' ? '' : '…'}${shown}${skipped.length + shown.length < field.length ? '…' : ''}`
}
