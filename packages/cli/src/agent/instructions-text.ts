import { isUtf8 } from 'node:buffer'

/** One file of instructions as the model gets it. */
export interface InstructionSection {
  /** As people and the model would name the file; another for each file. */
  name: string
  text: string
}

/** Bytes of one file that are passed on, and of all together. */
export const MAX_FILE_BYTES = 40_000
export const MAX_INSTRUCTION_BYTES = 120_000

/**
 * A file's text as it is passed on: whole lines of its beginning, and a note if that is not all; `undefined`: it is no
 * UTF-8 text. Pure.
 *
 * @param bytes its beginning, one byte more than is passed on if there are that many
 */
export function shownText(bytes: Buffer, sizeBytes: number): string | undefined {
  const isWhole = bytes.length <= MAX_FILE_BYTES
  const kept = isWhole ? bytes : wholeLines(bytes.subarray(0, MAX_FILE_BYTES))
  if (!isUtf8(kept)) return undefined
  const text = kept.toString('utf8').replace(/^\uFEFF/, '')
  if (isWhole) return text
  return `${text.replace(/\n$/, '')}\n[cut: the file has ${sizeBytes} bytes, these are the first ${kept.length}; Read shows the rest]`
}

/** A line without end is cut between two characters. */
function wholeLines(bytes: Buffer): Buffer {
  const end = bytes.lastIndexOf(0x0a) + 1
  return end > 0 ? bytes.subarray(0, end) : wholeCharacters(bytes)
}

/** Without the beginning of a character at the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  let start = bytes.length - 1
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return isUtf8(bytes.subarray(start)) ? bytes : bytes.subarray(0, start)
}

/** The paths that a text imports: words that begin with `@`, outside of code. In order, each once. Pure. */
export function importsIn(text: string): string[] {
  const prose = text
    .replace(/^(?<fence> {0,3}(?:```+|~~~+))[^]*?(?:^\k<fence>|$(?![^]))/gm, '')
    .replace(/`[^`\n]*`/g, '')
  const words = [...prose.matchAll(/(?:^|\s)@((?:\\ |[^\s\\])+)/g)].map(([, word = '']) =>
    word.replaceAll('\\ ', ' '),
  )
  return [...new Set(words.map((word) => word.replace(/[.,;:!?)\]]+$/, '')).filter((word) => word !== ''))]
}

/**
 * What a conversation that knows `known` is told of instructions that are `now` so; `undefined`: nothing has changed. Of files that
 * changed all that they say now, of others nothing. Pure.
 */
export function instructionsNote(
  known: readonly InstructionSection[],
  now: readonly InstructionSection[],
): string | undefined {
  const before = new Map(known.map(({ name, text }) => [name, text]))
  const changed = now.filter(({ name, text }) => before.get(name) !== text)
  const names = new Set(now.map(({ name }) => name))
  const gone = known.filter(({ name }) => !names.has(name)).map(({ name }) => name)
  if (changed.length === 0 && gone.length === 0) return undefined
  const intro =
    known.length === 0
      ? 'What the user and this project ask of agents. Follow it, unless the user says otherwise; what stands further down counts for more.'
      : 'The instructions have changed since.'
  return [
    intro,
    ...changed.map(
      ({ name, text }) => `\n--- ${name}\n${text.replaceAll('</context', '<\\/context').trimEnd()}`,
    ),
    ...gone.map((name) => `\n--- ${name}\n[no longer there: what it said does not count any more]`),
  ].join('\n')
}
