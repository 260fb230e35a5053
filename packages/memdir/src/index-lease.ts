import { join } from 'node:path'
import { acquireLease, leaseHolder, LociError } from '@loci/disk'
import type { Lease } from '@loci/disk'

/** How long a change waits for another process to finish its own. */
export const LEASE_WAIT_MS = 10_000

/**
 * Runs `change` while no other process changes the same index. The index is named `name` and need not exist;
 * its directory must.
 *
 * @throws {LociError} MEMORY_CONFLICT with `details = { pid, host, since, decidable }` when another process
 * holds it for longer than `waitMs`
 */
export async function withIndexLease<T>(
  dir: string,
  name: string,
  waitMs: number,
  change: () => Promise<T>,
): Promise<T> {
  const lease = await acquire(join(dir, name), waitMs)
  try {
    return await change()
  } finally {
    // What was changed is changed: a lease that cannot be given back must not turn that into a failure. In this
    // process it counts as free from now on, and the next change here frees it for the others too.
    await lease.release().catch(() => undefined)
  }
}

async function acquire(path: string, waitMs: number): Promise<Lease> {
  try {
    return await acquireLease(path, { waitMs })
  } catch (error) {
    const holder = leaseHolder(error)
    if (holder === undefined) throw error
    const { who, ...details } = holder
    const advice = holder.decidable
      ? 'wait for it or end it, then try again'
      : 'if that is gone for certain, free the file with breakLease of @loci/disk'
    throw new LociError(
      'MEMORY_CONFLICT',
      `Memory in ${JSON.stringify(path)} is being changed by ${who}; ${advice}`,
      {
        details,
        cause: error,
      },
    )
  }
}
