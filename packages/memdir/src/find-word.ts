import type { SearchWord, TypedWord } from './search-words.ts'
import { isWithin } from './typing-errors.ts'

/** How a word of a query stands in a text. */
export interface WordMatch {
  /** As it was typed. */
  isExact: boolean
  /** From 0 to 1. */
  quality: number
  /** How often it is there so well; no more than {@link MAX_COUNTED} are counted. */
  count: number
  /** Where it stands so first. */
  at: number
}

/** A word that fills a long body must not beat one in a name. */
export const MAX_COUNTED = 5
const WHOLE = 1
const PREFIX = 0.8
const INSIDE = 0.6
/** From how many letters on a word is also found at the beginning of longer ones, or anywhere in them. */
const PREFIX_FROM = 2
const INSIDE_FROM = 3

/** Where `word` stands best in a folded text; `undefined`: nowhere. */
export function findExact(text: string, word: SearchWord): WordMatch | undefined {
  let best: WordMatch | undefined
  for (let at = text.indexOf(word.text); at !== -1; at = text.indexOf(word.text, at + word.text.length)) {
    const quality = qualityAt(text, word, at)
    if (quality === 0 || quality < (best?.quality ?? 0)) continue
    if (best === undefined || quality > best.quality) best = { isExact: true, quality, count: 1, at }
    else best.count += 1
    if (best.quality === WHOLE && best.count === MAX_COUNTED) break
  }
  return best
}

function qualityAt(text: string, { kind, text: word }: SearchWord, at: number): number {
  if (kind === 'part') return WHOLE
  const goesOn = isWordUnit(text, at + word.length)
  if (!isWordUnit(text, at - 1)) return goesOn ? (word.length < PREFIX_FROM ? 0 : PREFIX) : WHOLE
  return word.length < INSIDE_FROM ? 0 : INSIDE
}

/**
 * The first word of a folded text that is `word` but for typing errors. Not every word is compared, only those that
 * hold a piece which so many errors must have left whole.
 */
export function findMistyped(text: string, word: SearchWord): WordMatch | undefined {
  if (word.kind !== 'word') return undefined
  let first: number | undefined
  for (const { piece, offset } of word.pieces) {
    for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + 1)) {
      if (first !== undefined && at - offset - word.forgiven >= first) break
      const start = startsAt(text, at, offset + word.forgiven)
      if (start === undefined) continue
      const longest = word.text.length + 2 * word.forgiven
      const end = endsAt(text, at + piece.length, start + longest)
      if (end === undefined || !isMistyped(word, text.slice(start, end))) continue
      if (first === undefined || start < first) first = start
    }
  }
  return first === undefined ? undefined : { isExact: false, quality: INSIDE, count: 1, at: first }
}

/** The same words come again in every memory, so each is compared once. */
function isMistyped({ text, forgiven, compared }: TypedWord, candidate: string): boolean {
  let is = compared.get(candidate)
  if (is === undefined) {
    is = isWithin(text, candidate, forgiven)
    compared.set(candidate, is)
  }
  return is
}

/** Where the word begins that holds place `at`, at most `most` units before it. */
function startsAt(text: string, at: number, most: number): number | undefined {
  for (let start = at; start >= Math.max(0, at - 2 * most); start -= 1)
    if (!isWordUnit(text, start - 1)) return start
  return undefined
}

/** Where the word ends that holds place `at`, at `most` at the latest. */
function endsAt(text: string, at: number, most: number): number | undefined {
  for (let end = at; end <= most; end += 1) if (!isWordUnit(text, end)) return end
  return undefined
}

/** What is known of each UTF-16 unit: 0 nothing yet, 1 part of a word, 2 not. */
const known = new Uint8Array(0x1_0000)

function isWordUnit(text: string, at: number): boolean {
  if (at < 0 || at >= text.length) return false
  const unit = text.charCodeAt(at)
  if (known[unit] === 0) known[unit] = /[\p{L}\p{N}\p{M}]/u.test(String.fromCharCode(unit)) ? 1 : 2
  return known[unit] === 1
}
