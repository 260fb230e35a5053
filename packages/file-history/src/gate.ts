/**
 * Lets many `shared` actions run together and an `exclusive` one alone: a rewind waits for the edits being recorded,
 * and what is asked meanwhile waits for the rewind. Where nothing exclusive waits, a shared action starts before
 * the call returns.
 */
export class Gate {
  readonly #running = new Set<Promise<unknown>>()
  #barrier: Promise<unknown> | undefined

  shared<T>(action: () => Promise<T>): Promise<T> {
    // It counts as running while it waits: a close that is asked for later waits for it as well.
    const running = this.#barrier ? this.#barrier.then(action) : action()
    const settled: Promise<unknown> = running.then(
      () => this.#leave(settled),
      () => this.#leave(settled),
    )
    this.#running.add(settled)
    return running
  }

  exclusive<T>(action: () => Promise<T>): Promise<T> {
    const earlier = [this.#barrier ?? Promise.resolve(), ...this.#running]
    const result = Promise.all(earlier).then(action)
    const barrier: Promise<unknown> = result.then(
      () => this.#lower(barrier),
      () => this.#lower(barrier),
    )
    this.#barrier = barrier
    return result
  }

  #leave(settled: Promise<unknown>): void {
    this.#running.delete(settled)
  }

  #lower(barrier: Promise<unknown>): void {
    if (this.#barrier === barrier) this.#barrier = undefined
  }
}
