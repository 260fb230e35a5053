import { setFaultHook } from '@loci/disk/testing'

/**
 * Runs a change that comes to a sudden end: from the first operation on that `at` tells, no file operation is done
 * any more. What is on the disk then is what a crash would leave.
 */
export async function cutOff(
  change: () => Promise<unknown>,
  at: (operation: string, path: string) => boolean,
): Promise<void> {
  let isOver = false
  setFaultHook((operation, path) => {
    isOver ||= at(operation, path)
    return isOver ? Object.assign(new Error('cut off'), { code: 'EIO' }) : undefined
  })
  try {
    await change()
  } catch {
    // The process would be gone.
  } finally {
    setFaultHook(undefined)
  }
  if (!isOver) throw new Error('the change came to its end')
}

/** The moment before a file appears under its name, or goes. */
export const before =
  (name: string) =>
  (operation: string, path: string): boolean =>
    ['link', 'rename', 'unlink'].includes(operation) && path.endsWith(`/${name}`)
