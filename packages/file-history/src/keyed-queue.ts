const IDLE: Promise<unknown> = Promise.resolve()

/** Runs the actions of one key one after another, in the order they were given; a failed one stops nobody. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, action: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(key) ?? IDLE).then(action)
    const settled: Promise<unknown> = result.then(
      () => this.#forget(key, settled),
      () => this.#forget(key, settled),
    )
    this.#last.set(key, settled)
    return result
  }

  /**
   * Runs one action for several keys, once the actions given before of all of them are over; what is given later of any
   * of them waits for it.
   */
  runAll<T>(keys: readonly string[], action: () => Promise<T>): Promise<T> {
    const earlier = new Set(keys.map((key) => this.#last.get(key) ?? IDLE))
    const result = Promise.all(earlier).then(action)
    const forget = (): void => {
      for (const key of keys) this.#forget(key, settled)
    }
    const settled: Promise<unknown> = result.then(forget, forget)
    for (const key of keys) this.#last.set(key, settled)
    return result
  }

  /** The keys of which an action runs or waits. */
  get busyKeys(): Iterable<string> {
    return this.#last.keys()
  }

  /** Whether an action of this key runs or waits. */
  isBusy(key: string): boolean {
    return this.#last.has(key)
  }

  #forget(key: string, settled: Promise<unknown>): void {
    if (this.#last.get(key) === settled) this.#last.delete(key)
  }
}
