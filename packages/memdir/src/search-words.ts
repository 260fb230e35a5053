import { foldText } from './fold-text.ts'
import { forgivenErrors, surePieces } from './typing-errors.ts'
import type { Piece } from './typing-errors.ts'

/** Of a longer query the beginning counts: its length and how many words of it are looked for. */
const MAX_QUERY_UNITS = 1000
const MAX_WORDS = 32

/** Scripts that set no blanks between words. */
const UNSPACED_SCRIPTS =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\\u30fc]'
const UNSPACED = new RegExp(`${UNSPACED_SCRIPTS}+`, 'gv')
/** A word of a text in any other script: letters with their marks, and digits. */
const WORD = new RegExp(`[[\\p{L}\\p{N}\\p{M}]--${UNSPACED_SCRIPTS}]+`, 'gv')
/** A word as blanks or punctuation part it, found in words. */
export interface TypedWord {
  kind: 'word'
  text: string
  /** How many typing errors are forgiven. */
  forgiven: number
  /** As `surePieces` gives them; none where no error is forgiven. */
  pieces: readonly Piece[]
  /** Words compared so far, and whether they are this one but for forgiven errors. */
  compared: Map<string, boolean>
}
/** What is looked for: a word, or a part of text without blanks, or a sign, found wherever it stands. */
export type SearchWord =
  | TypedWord
  /** `share`: of the run of text that it is a part of. */
  | { kind: 'part'; text: string; share: number }

/**
 * What a query looks for, each once, bounded whatever the query. Text without blanks between words is looked for by its
 * pairs of characters: where a word begins cannot be seen there.
 */
export function parseQuery(query: string): SearchWord[] {
  const found = new Map<string, SearchWord>()
  const text = foldText(query.slice(0, MAX_QUERY_UNITS).replace(/\p{C}+/gu, ' '))
  for (const chunk of text.split(/\s+/u)) {
    for (const part of partsOf(chunk)) if (!found.has(part.text)) found.set(part.text, part)
  }
  return [...found.values()].slice(0, MAX_WORDS)
}

/** A chunk without letters and digits is looked for as it stands. */
function partsOf(chunk: string): SearchWord[] {
  const words = (chunk.match(WORD) ?? []).map(typedWord)
  const pairs = (chunk.match(UNSPACED) ?? []).flatMap(pairsOf)
  return chunk === '' || words.length + pairs.length > 0
    ? [...words, ...pairs]
    : [{ kind: 'part', text: chunk, share: 1 }]
}

function typedWord(text: string): TypedWord {
  const forgiven = forgivenErrors(text)
  const pieces = forgiven === 0 ? [] : surePieces(text, forgiven)
  return { kind: 'word', text, forgiven, pieces, compared: new Map() }
}

function pairsOf(run: string): SearchWord[] {
  const characters = Array.from(run)
  if (characters.length < 3) return [{ kind: 'part', text: run, share: 1 }]
  const share = 1 / (characters.length - 1)
  return characters.slice(1).map((character, index): SearchWord => ({
    kind: 'part',
    text: `${characters[index]}${character}`,
    share,
  }))
}
