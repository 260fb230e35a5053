/** What was made for a key, for the keys that were asked for last. Pure. */
export class RecentlyUsed<T> {
  readonly #most: number
  /** The key used last is the last. */
  readonly #kept = new Map<string, T>()

  /** @param most how many are kept; the one used longest ago makes room */
  constructor(most: number) {
    this.#most = most
  }

  /** What is kept under `key`, or else what `make` gives, which is kept from now on. */
  get(key: string, make: () => T): T {
    const found = this.#kept.has(key) ? (this.#kept.get(key) as T) : make()
    this.#kept.delete(key)
    this.#kept.set(key, found)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= this.#most) break
      this.#kept.delete(oldest)
    }
    return found
  }
}
