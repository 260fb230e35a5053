import { ALPHABETS } from './secret-rules.ts'
import type { Alphabet } from './secret-rules.ts'

/** Where runs of an alphabet end in a text: found out once for all that ask, so that no text is read again and again. */
export class Runs {
  readonly #text: string
  readonly #ends = new Map<Alphabet, Uint32Array>()

  constructor(text: string) {
    this.#text = text
  }

  /** The place of the first character from `index` on that is not of the alphabet. */
  end(alphabet: Alphabet, index: number): number {
    let ends = this.#ends.get(alphabet)
    if (ends === undefined) {
      ends = endsOf(this.#text, ALPHABETS[alphabet])
      this.#ends.set(alphabet, ends)
    }
    return ends[index] ?? index
  }
}

function endsOf(text: string, members: Uint8Array): Uint32Array {
  const ends = new Uint32Array(text.length + 1)
  ends[text.length] = text.length
  for (let index = text.length - 1; index >= 0; index -= 1) {
    ends[index] = members[text.charCodeAt(index)] === 1 ? (ends[index + 1] ?? 0) : index
  }
  return ends
}
