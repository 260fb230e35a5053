import type { LineFacts } from './line-facts.ts'

/**
 * The lines of a transcript from some place on to its end: what {@link LineFacts} says of each, in file order. Grows at
 * both ends: towards the beginning as more of the file is looked at, and with what is appended.
 */
export class LineTable {
  readonly #parts: (readonly LineFacts[])[] = []
  readonly #byUuid = new Map<string, LineFacts>()
  readonly #repeats: number[] = []
  #hasNameless = false
  #lines: readonly LineFacts[] | undefined
  #begin: number
  #end: number

  /** A table of no lines that begins and ends at `at`. */
  constructor(at: number) {
    this.#begin = at
    this.#end = at
  }

  /** Where in the file the lines begin; 0 when all are there. */
  get begin(): number {
    return this.#begin
  }

  /** Where in the file they end. */
  get end(): number {
    return this.#end
  }

  get isComplete(): boolean {
    return this.#begin === 0
  }

  /** All lines in file order. */
  get lines(): readonly LineFacts[] {
    this.#lines ??= this.#parts.flat()
    return this.#lines
  }

  /** The line in the tree that has a uuid; of several the last. */
  node(uuid: string): LineFacts | undefined {
    return this.#byUuid.get(uuid)
  }

  /** Whether a line of the conversation has no uuid. */
  get hasNameless(): boolean {
    return this.#hasNameless
  }

  /** Whether a uuid is there twice in the lines from `offset` on. */
  hasRepeatsFrom(offset: number): boolean {
    return this.#repeats.some((earlier) => earlier >= offset)
  }

  /** Adds the lines before those that are there. */
  prepend(lines: readonly LineFacts[], begin: number): void {
    this.#parts.unshift(lines)
    this.#begin = begin
    for (const line of lines) this.#index(line)
    this.#lines = undefined
  }

  /** Adds the lines after those that are there. */
  append(lines: readonly LineFacts[], end: number): void {
    this.#parts.push(lines)
    this.#end = end
    for (const line of lines) this.#index(line)
    this.#lines = undefined
  }

  #index(line: LineFacts): void {
    if (line.place === 'nameless') this.#hasNameless = true
    if (line.uuid === '') return
    const known = this.#byUuid.get(line.uuid)
    if (known === undefined) this.#byUuid.set(line.uuid, line)
    else {
      this.#repeats.push(Math.min(known.offset, line.offset))
      if (line.offset > known.offset) this.#byUuid.set(line.uuid, line)
    }
  }
}
