import { cutText } from './cut-text.ts'
import { findExact, findMistyped, MAX_COUNTED } from './find-word.ts'
import type { WordMatch } from './find-word.ts'
import { foldText } from './fold-text.ts'
import type { Memory } from './memory.ts'
import { parseQuery } from './search-words.ts'
import type { SearchWord } from './search-words.ts'

/** A memory that was found. */
export interface SearchHit {
  memory: Memory
  /** Greater is better; comparable within one search only. */
  score: number
  /** One line of the memory, around what was found. */
  snippet: string
}

/** What a word adds that is found there; the sum stays below 1. */
const WEIGHTS = { name: 0.6, description: 0.27, body: 0.1 } as const
type Field = keyof typeof WEIGHTS
const FIELDS: readonly Field[] = ['name', 'description', 'body']
const SNIPPET_UNITS = 160
const SNIPPET_LEAD = 40

/** How one word of the query stands in a memory. */
interface Found {
  isExact: boolean
  /** From 0 to 1. */
  closeness: number
  /** Where it stands so, in the folded fields. */
  at: Partial<Record<Field, number>>
}
/** For each word of the query. */
type FoundWords = readonly (Found | undefined)[]

/**
 * The memories that hold at least one word of the query in name, description or body, best first: those that hold all
 * of its words, then those that hold more of them, rare ones counting more; a word as it was typed before one with
 * typing errors, in the name before the description, there before the body.
 *
 * Case, accents and width do not matter, and a word is found inside longer ones. One typing error is forgiven in words
 * of 4 to 7 letters, two in longer ones, none where digits are. Of the query the first 1,000 characters and 32 words
 * count.
 */
export function searchMemories(memories: readonly Memory[], query: string): SearchHit[] {
  const words = parseQuery(query)
  const found = memories.map((memory) => findIn(memory, words))
  const weights = words.map((word, index) => weightOf(word, found, index))
  return memories
    .flatMap((memory, place) => {
      const here = found[place] ?? []
      const score = scoreOf(here, weights)
      return score === 0 ? [] : [{ memory, score, here }]
    })
    .toSorted((a, b) => b.score - a.score || (a.memory.file < b.memory.file ? -1 : 1))
    .map(({ memory, score, here }) => ({ memory, score, snippet: snippetOf(memory, here, weights) }))
}

function findIn(memory: Memory, words: readonly SearchWord[]): FoundWords {
  const texts = FIELDS.map((field) => [field, foldText(memory[field])] as const)
  return words.map((word) => findWord(texts, word, findExact) ?? findWord(texts, word, findMistyped))
}

function findWord(
  texts: readonly (readonly [Field, string])[],
  word: SearchWord,
  find: (text: string, word: SearchWord) => WordMatch | undefined,
): Found | undefined {
  let found: Found | undefined
  for (const [field, text] of texts) {
    const match = find(text, word)
    if (match === undefined) continue
    found ??= { isExact: match.isExact, closeness: 0, at: {} }
    found.closeness += WEIGHTS[field] * match.quality + (0.005 * match.count) / MAX_COUNTED
    found.at[field] = match.at
  }
  return found
}

/** A word that few memories hold says more than one that most do. */
function weightOf(word: SearchWord, found: readonly FoundWords[], index: number): number {
  const holders = found.filter((here) => here[index] !== undefined).length
  const rarity = Math.log(1 + (found.length + 1) / (holders + 1))
  return word.kind === 'part' ? rarity * word.share : rarity
}

/** 0: nothing found. What is held decides, then how near it is; to hold all beats everything else. */
function scoreOf(here: FoundWords, weights: readonly number[]): number {
  let held = 0
  let near = 0
  let total = 0
  for (const [index, weight] of weights.entries()) {
    const one = here[index]
    total += weight
    if (one === undefined) continue
    held += weight
    near += weight * ((one.isExact ? 0.5 : 0) + one.closeness / 2)
  }
  if (held === 0) return 0
  const holdsAll = here.every((one) => one !== undefined)
  return (holdsAll ? 2 : 0) + held / total + near / held / 2
}

/** Around the most telling word that the body holds, else the description, else the name. */
function snippetOf(memory: Memory, here: FoundWords, weights: readonly number[]): string {
  for (const field of FIELDS.toReversed()) {
    let best: { at: number; rank: number } | undefined
    for (const [index, one] of here.entries()) {
      const at = one?.at[field]
      const rank = (weights[index] ?? 0) + (one?.isExact ? 100 : 0)
      if (at !== undefined && rank > (best?.rank ?? 0)) best = { at, rank }
    }
    if (best !== undefined) return lineAround(memory[field], placeOf(memory[field], best.at))
  }
  return ''
}

/** The place in a text of a place in it when folded, which can be longer or shorter. */
function placeOf(text: string, folded: number): number {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (foldText(text.slice(0, middle)).length < folded) low = middle + 1
    else high = middle
  }
  return low
}

function lineAround(text: string, at: number): string {
  const lead = cutText(text, Math.max(0, at - SNIPPET_LEAD)).length
  // A word that is cut off in front is left out, where blanks part words.
  const blank = lead === 0 ? -1 : text.slice(lead, at).search(/\s/)
  const skipped = lead + blank + 1
  // More than is shown, since runs of blanks become one.
  const part = text.slice(skipped, skipped + 4 * SNIPPET_UNITS)
  const line = part.replace(/\s+/g, ' ').trim()
  const shown = cutText(line, SNIPPET_UNITS)
  const isCut = shown.length < line.length || text.slice(skipped + part.length).trim() !== ''
  return `${text.slice(0, skipped).trim() === '' ? '' : '…'}${shown}${isCut ? '…' : ''}`
}
