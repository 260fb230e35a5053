/** Runs the actions of one key one after another, in the order they were given; a failed one stops nobody. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(action)
    const settled: Promise<unknown> = result.then(
      () => this.#forget(key, settled),
      () => this.#forget(key, settled),
    )
    this.#last.set(key, settled)
    return result
  }

  /** Whether an action of this key runs or waits. */
  isBusy(key: string): boolean {
    return this.#last.has(key)
  }

  #forget(key: string, settled: Promise<unknown>): void {
    if (this.#last.get(key) === settled) this.#last.delete(key)
  }
}
