/** What stands for any run of items, of no length too. */
export const ANY_RUN: unique symbol = Symbol('any run')

/**
 * Whether `pattern` describes all of `items`. Takes at most as many steps as the product of both lengths, whatever is in
 * them. Pure.
 */
export function matchesRun(
  pattern: readonly (string | typeof ANY_RUN)[],
  items: readonly string[],
  matchesOne: (one: string, item: string) => boolean,
): boolean {
  let at = 0
  let taken = 0
  /** Where to go on when what follows the last run does not fit: the run takes one more. */
  let retry: { at: number; taken: number } | undefined
  while (taken < items.length) {
    const one = pattern[at]
    if (one === ANY_RUN) {
      at += 1
      retry = { at, taken }
    } else if (one !== undefined && matchesOne(one, items[taken] ?? '')) {
      at += 1
      taken += 1
    } else if (retry !== undefined) {
      retry.taken += 1
      at = retry.at
      taken = retry.taken
    } else return false
  }
  return pattern.slice(at).every((one) => one === ANY_RUN)
}
