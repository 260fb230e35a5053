const AT_ONCE = 16

/**
 * `action` of each item, sixteen at once, results in the order of the items. Where one fails, the others are waited
 * for: nothing works on when the caller hears of it.
 */
export async function inParallel<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const errors: unknown[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      // The cast is checked by the loop: an index below the length.
      const item = items[index] as T
      try {
        results[index] = await action(item)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work))
  if (errors.length > 0) throw errors[0]
  return results
}
