/** How many letters a word has from which on one, or two, typing errors are forgiven. */
const ONE_FROM = 4
const TWO_FROM = 8

/** How many typing errors are forgiven in a word: none in short ones, and none in what is not of letters alone. */
export function forgivenErrors(word: string): number {
  if (!/^\p{L}+$/u.test(word)) return 0
  const letters = Array.from(word).length
  return letters < ONE_FROM ? 0 : letters < TWO_FROM ? 1 : 2
}

/**
 * Whether `a` becomes `b` by at most `most` typing errors: a letter too many, too few, another one, or two neighbours
 * in the wrong order. No two errors touch the same letters (optimal string alignment).
 */
export function isWithin(a: string, b: string, most: number): boolean {
  if (Math.abs(a.length - b.length) > 2 * most) return false
  const from = Array.from(a)
  const to = Array.from(b)
  if (Math.abs(from.length - to.length) > most) return false
  let before: number[] = []
  let above = to.map((_, index) => index + 1)
  above.unshift(0)
  for (const [row, letter] of from.entries()) {
    const current = [row + 1]
    for (const [column, other] of to.entries()) {
      const changed = (above[column] ?? 0) + (letter === other ? 0 : 1)
      const shifted = Math.min(above[column + 1] ?? 0, current[column] ?? 0) + 1
      const isSwapped = column > 0 && letter === to[column - 1] && from[row - 1] === other
      const swapped = isSwapped ? (before[column - 1] ?? 0) + 1 : Infinity
      current.push(Math.min(changed, shifted, swapped))
    }
    // Two neighbours in the wrong order go on from the row before.
    if (Math.min(...current, ...above) > most) return false
    before = above
    above = current
  }
  return (above.at(-1) ?? Infinity) <= most
}

/** A part of a word, and about where in it. */
export interface Piece {
  piece: string
  /** In UTF-16 units. */
  offset: number
}

/**
 * Pieces of a word one of which stands unchanged in every word that is it but for `errors` errors (1 or 2). An error spoils one piece of `errors + 1`, unless it swaps the letters where two pieces meet: the last
 * pieces are the word with those swapped.
 */
export function surePieces(word: string, errors: number): Piece[] {
  const letters = Array.from(word)
  const bounds = Array.from({ length: errors + 2 }, (_, n) => Math.round((n * letters.length) / (errors + 1)))
  const between = (list: readonly string[], from: number, to: number): Piece => ({
    piece: list.slice(from, to).join(''),
    offset: list.slice(0, from).join('').length,
  })
  const pieces = bounds.slice(1).map((end, n) => between(letters, bounds[n] ?? 0, end))
  const inner = bounds.slice(1, -1)
  const swapped = inner.map((meet, n) => between(swapAt(letters, meet), bounds[n] ?? 0, bounds[n + 2] ?? 0))
  const all = between(inner.reduce(swapAt, letters), 0, letters.length)
  return errors > 1 ? [...pieces, ...swapped, all] : [...pieces, ...swapped]
}

function swapAt(letters: readonly string[], meet: number): readonly string[] {
  return letters.toSpliced(meet - 1, 2, letters[meet] ?? '', letters[meet - 1] ?? '')
}
