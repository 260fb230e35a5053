import { setImmediate } from 'node:timers/promises'

const AT_ONCE = 16

/** Runs at most sixteen of the actions it is given at once, in the order they were given. */
export function createLimit(): <T>(action: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (action) => {
    if (running >= AT_ONCE) {
      await new Promise<void>((resolve) => {
        waiting.push(resolve)
      })
    }
    running += 1
    try {
      return await action()
    } finally {
      running -= 1
      waiting.shift()?.()
    }
  }
}

/**
 * The values of all promises. Where one is rejected, the others are waited for: nothing works on when the caller
 * hears of it.
 */
export async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises)
  return Promise.all(promises)
}

/** `action` of each item, sixteen at once; results in the order of the items. Waits for all, as {@link settleAll}. */
export function inParallel<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const limit = createLimit()
  return settleAll(items.map((item) => limit(() => action(item))))
}

const STATS_AT_ONCE = 500
const BYTES_AT_ONCE = 256 << 10

/**
 * Counts what is done without waiting. After 500 stats, or 256 KiB read or written, the event loop is to have its turn:
 * nothing else of the process waits longer than that takes.
 */
export class Pace {
  #stats = 0
  #bytes = 0
  #turn: Promise<void> | undefined

  spend(stats: number, bytes = 0): void {
    this.#stats += stats
    this.#bytes += bytes
  }

  /**
   * What is to be waited for before more is done; `undefined`: nothing. To be asked again after waiting: of many that
   * wait, only as many go on as there is room for.
   */
  get turn(): Promise<void> | undefined {
    const isDue = this.#stats >= STATS_AT_ONCE || this.#bytes >= BYTES_AT_ONCE
    if (isDue) this.#turn ??= this.#wait()
    return this.#turn
  }

  /** Resolves when there is room. Many that wait here go on together: where each does much, ask for `turn` instead. */
  async ready(): Promise<void> {
    while (this.turn !== undefined) await this.turn
  }

  async #wait(): Promise<void> {
    await setImmediate()
    this.#stats = 0
    this.#bytes = 0
    this.#turn = undefined
  }
}

/** The pace of this thread, which has one event loop. */
export const pace: Pace = new Pace()
