/**
 * How long to wait before the next try, in milliseconds: twice as long after each failure, to `mostMs`, and by chance
 * up to half of it less, so that many who failed together do not come back together. Pure.
 *
 * @param failures how many tries in a row have failed, from 1
 * @param random from 0 to 1
 */
export function retryDelayMs(
  failures: number,
  options: { firstMs: number; mostMs: number; random: number },
): number {
  const { firstMs, mostMs, random } = options
  const fullMs = Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (1 - random / 2))
}
