import { setFaultHook } from '@loci/disk/testing'
import { vi } from 'vitest'

/** Lets files be older than a second, which no test can wait for: from now on the process takes it to be so much later. */
export function goOn(seconds: number): void {
  const real = performance.timeOrigin + performance.now()
  const startedAt = performance.now()
  vi.spyOn(Date, 'now').mockImplementation(() => real + seconds * 1000 + (performance.now() - startedAt))
}

/** The file operations of an action, as `[operation, path]`. */
export async function operationsOf(action: () => Promise<unknown>): Promise<[string, string][]> {
  const seen: [string, string][] = []
  setFaultHook((operation, path) => {
    seen.push([operation, path])
    return undefined
  })
  try {
    await action()
  } finally {
    setFaultHook(undefined)
  }
  return seen
}
