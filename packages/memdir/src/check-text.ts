import { LociError } from '@loci/disk'

/** Half of a surrogate pair. It has no bytes in UTF-8: written, it would be read back as U+FFFD. */
const HALF_CHARACTER = /\p{Cs}/u

export function isWellFormed(text: string): boolean {
  return !HALF_CHARACTER.test(text)
}

/** @throws {LociError} MEMORY_INVALID when `text` could not be read back as it is */
export function checkText(what: string, text: string): void {
  if (isWellFormed(text)) return
  throw new LociError(
    'MEMORY_INVALID',
    `The ${what} holds half a character (a lone surrogate), as a text cut by length does; cut it between characters`,
    { details: { what } },
  )
}
