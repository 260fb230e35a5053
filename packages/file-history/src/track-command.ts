import type { CommandTracker } from './command-tracker.ts'

/** Files of a tree that are copied before a command, at most. */
export const MAX_FILES = 20_000
/** Bytes of a tree that are copied before a command, at most: 512 MiB. */
export const MAX_BASE_BYTES: number = 512 << 20

/**
 * Runs a command and covers what it does to the tree, whether it succeeds or not.
 *
 * @throws what `run` threw, after its edits are covered; both errors in an AggregateError if covering failed too
 */
export async function trackCommand<T>(
  commands: CommandTracker,
  messageId: string,
  run: () => Promise<T>,
  during: <R>(action: () => Promise<R>) => Promise<R>,
): Promise<{ result: T; changed: string[]; untracked: string[] }> {
  const base = await during(() => commands.begin(messageId))
  let isCovered = false
  try {
    const outcome = await run().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    const covered = await during(() => commands.cover(base, messageId)).catch((error: unknown) => {
      if ('error' in outcome)
        throw new AggregateError([outcome.error, error], 'The command failed, and so did recording it')
      throw error
    })
    isCovered = true
    if ('error' in outcome) throw outcome.error
    return { ...outcome, ...covered }
  } finally {
    if (isCovered) await commands.end(base)
    else commands.postpone(base)
  }
}
