import type { LineFacts } from './line-facts.ts'

/**
 * The lines of a transcript from some place on to its end: what {@link LineFacts} says of each, in file order. Grows at
 * both ends: towards the beginning as more of the file is looked at, and with what is appended.
 */
export class LineTable {
  /** What was added before {@link #lines}, the first part first. */
  #before: (readonly LineFacts[])[] = []
  #lines: LineFacts[] = []
  readonly #byUuid = new Map<string, LineFacts>()
  readonly #lastRecords = new Map<string, LineFacts>()
  readonly #repeats: number[] = []
  #hasNameless = false
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
    if (this.#before.length > 0) {
      this.#lines = [...this.#before, this.#lines].flat()
      this.#before = []
    }
    return this.#lines
  }

  /** The last line of the conversation; it may have no uuid. */
  get last(): LineFacts | undefined {
    const isOfIt = ({ place }: LineFacts): boolean => place === 'main' || place === 'nameless'
    for (const part of [...this.#before, this.#lines].toReversed()) {
      const line = part.findLast((one) => isOfIt(one))
      if (line) return line
    }
    return undefined
  }

  /** The last record of a kind outside the tree. */
  lastRecord(type: string): LineFacts | undefined {
    return this.#lastRecords.get(type)
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
    this.#before.unshift(lines)
    this.#begin = begin
    for (const line of lines) this.#index(line)
  }

  /** Adds the lines after those that are there. */
  append(lines: readonly LineFacts[], end: number): void {
    for (const line of lines) {
      this.#lines.push(line)
      this.#index(line)
    }
    this.#end = end
  }

  #index(line: LineFacts): void {
    const { uuid, offset } = line
    if (line.place === 'nameless') this.#hasNameless = true
    if (line.place === 'outside') {
      const last = this.#lastRecords.get(line.type)
      if (last === undefined || last.offset < offset) this.#lastRecords.set(line.type, line)
    }
    if (uuid === '') return
    const known = this.#byUuid.get(uuid)
    if (known !== undefined) this.#repeats.push(Math.min(known.offset, offset))
    if (known === undefined || known.offset < offset) this.#byUuid.set(uuid, line)
  }
}
