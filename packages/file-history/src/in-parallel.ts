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
