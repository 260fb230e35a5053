/** Writes what it is given in the order of the calls: what comes while something is being written is written together. */
export class Batches<T> {
  readonly #write: (items: readonly T[]) => Promise<void>
  #writing: Promise<unknown> = Promise.resolve()
  #waiting: T[] = []
  #next: Promise<void> | undefined

  constructor(write: (items: readonly T[]) => Promise<void>) {
    this.#write = write
  }

  /** Resolves when these are written; where that fails, it fails for all that were written together. */
  add(items: readonly T[]): Promise<void> {
    this.#waiting.push(...items)
    this.#next ??= this.#writeAfter(this.#writing)
    return this.#next
  }

  async #writeAfter(earlier: Promise<unknown>): Promise<void> {
    await earlier
    const items = this.#waiting
    this.#waiting = []
    this.#writing = this.#next?.catch(() => undefined) ?? Promise.resolve()
    this.#next = undefined
    await this.#write(items)
  }
}
