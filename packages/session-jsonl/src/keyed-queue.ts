/** Runs the actions of one key one after another, in the order they were given; a failed one stops nobody. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<void>>()

  run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(action)
    const forget = (): void => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    }
    const settled: Promise<void> = result.then(forget, forget)
    this.#last.set(key, settled)
    return result
  }
}
