const EVERY_MS = 1_000

/** Shows how far something is once it takes a second, and then once a second. */
export function showEverySecond(
  show: (line: string) => void,
  now: () => number = () => performance.now(),
): (line: string) => void {
  let lastMs = now()
  return (line) => {
    const nowMs = now()
    if (nowMs - lastMs < EVERY_MS) return
    lastMs = nowMs
    show(line)
  }
}
