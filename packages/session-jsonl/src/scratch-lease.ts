import { acquireLease, leaseHolder, LociError } from '@loci/disk'
import type { Lease } from '@loci/disk'

/** How long a change waits for others, where nobody says. */
export const SCRATCH_WAIT_MS = 10_000

const turns = new Map<string, Promise<unknown>>()

/** Within one process changes take their turns here: in the order they were called, without looking again and again. */
export async function inTurn<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(dir) ?? Promise.resolve()
  const mine = before.then(work, work)
  turns.set(dir, mine)
  try {
    return await mine
  } finally {
    if (turns.get(dir) === mine) turns.delete(dir)
  }
}

/**
 * Takes the lease on the scratchpad at `dir`, whose session's folder must exist.
 *
 * @param waitMs how long to wait for another process
 * @throws {LociError} SESSION_LOCKED, DISK_FULL, DISK_IO
 */
export async function takeScratchLease(dir: string, sessionId: string, waitMs: number): Promise<Lease> {
  try {
    return await acquireLease(dir, { waitMs })
  } catch (error) {
    throw scratchLocked(error, dir, sessionId)
  }
}

/** A held lease of a scratchpad as this package says it; any other error as it is. */
export function scratchLocked(error: unknown, path: string, sessionId: string): unknown {
  const holder = leaseHolder(error)
  if (holder === undefined) return error
  const { who, ...owner } = holder
  const advice = owner.decidable
    ? 'wait for it or end it, then try again'
    : 'if that is gone for certain, unlock the scratchpad'
  return new LociError(
    'SESSION_LOCKED',
    `The scratchpad of session ${sessionId} is being changed by ${who}; ${advice}`,
    { details: { sessionId, path, ...owner }, cause: error },
  )
}
