import { acquireLease, leaseHolder, LociError } from '@loci/disk'
import type { Lease } from '@loci/disk'

/**
 * Runs `work` under the lease of a session in a store: that of its own transcript, for what is below it too.
 *
 * @param options.path the session's own transcript, whose folder is there
 * @throws {LociError} SESSION_LOCKED when another holds it longer than `waitMs`; DISK_FULL, DISK_IO; what `work` throws
 */
export async function withStoreLease(
  options: { path: string; sessionId: string; waitMs: number },
  work: () => Promise<void>,
): Promise<void> {
  const lease = await take(options)
  try {
    await work()
  } catch (error) {
    // The first error is the one to tell; a lease that stays is free to this process.
    await lease.release().catch(() => undefined)
    throw error
  }
  await lease.release()
}

async function take(options: { path: string; sessionId: string; waitMs: number }): Promise<Lease> {
  const { path, sessionId, waitMs } = options
  try {
    return await acquireLease(path, { waitMs })
  } catch (error) {
    const holder = leaseHolder(error)
    if (holder === undefined) throw error
    const { who, ...owner } = holder
    const message = `Session ${sessionId} is being written by ${who}; close it there, or store into another directory`
    throw new LociError('SESSION_LOCKED', message, { details: { sessionId, path, ...owner }, cause: error })
  }
}
