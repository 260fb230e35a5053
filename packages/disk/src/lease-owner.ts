/** Who holds a lease, as recorded in its lock file. `null` where a system has no such thing. */
export interface LeaseOwner {
  bootId: string | null
  pidNamespace: string | null
  pid: number
  /** Start of the process in clock ticks since boot: tells a process from a later one with the same pid. */
  startTime: string | null
  /** The thread: worker threads share a pid. Absent in a record of an older writer. */
  thread: string | null
  host: string
  /** When the lease was taken, ISO 8601. For people only: nothing is decided by it. */
  since: string
}

/** What can be said of an owner from here and now. */
export type OwnerState = 'dead' | 'live' | 'undecidable'

/** Facts about this process and machine that an owner is compared with. */
export interface Vantage {
  bootId: string | null
  pidNamespace: string | null
  host: string
  /** Whether the lock file lies on a file system that no other machine can have mounted. */
  localFileSystem: boolean
  /** Whether this very thread is that owner, and then whether it still holds what it took. */
  ownLease(owner: LeaseOwner): 'held' | 'given-up' | 'not-ours'
  /** The process with that pid: whether there is one, and its start time where the system tells it. */
  lookAt(pid: number): Promise<{ alive: boolean; startTime: string | null }>
}

/**
 * Decides whether an owner lives. Same boot and pid namespace: by pid and start time. Another boot id on a
 * local file system: dead, since this machine has rebooted. Everything else cannot be decided. Neither age
 * nor any clock plays a part.
 */
export async function ownerState(owner: LeaseOwner, here: Vantage): Promise<OwnerState> {
  const own = here.ownLease(owner)
  if (own !== 'not-ours') return own === 'held' ? 'live' : 'dead'
  const sameBoot = owner.bootId === here.bootId && owner.pidNamespace === here.pidNamespace
  // Without boot ids (no /proc) the host name stands in, which can prove death but never life.
  const comparable = sameBoot && (owner.bootId !== null || owner.host === here.host)
  if (comparable) {
    const { alive, startTime } = await here.lookAt(owner.pid)
    if (!alive) return 'dead'
    if (startTime === null || owner.startTime === null) return 'undecidable'
    return startTime === owner.startTime ? 'live' : 'dead'
  }
  const rebooted = owner.bootId !== null && here.bootId !== null && owner.bootId !== here.bootId
  return rebooted && here.localFileSystem ? 'dead' : 'undecidable'
}

/** Reads what a lock file holds. `undefined` when it is not the record of an owner. */
export function parseLeaseOwner(text: string): LeaseOwner | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const {
    bootId,
    pidNamespace,
    pid,
    startTime,
    thread = null,
    host,
    since,
  } = value as Record<string, unknown>
  if (!Number.isSafeInteger(pid) || typeof host !== 'string' || typeof since !== 'string') return undefined
  if (
    !isTextOrNull(bootId) ||
    !isTextOrNull(pidNamespace) ||
    !isTextOrNull(startTime) ||
    !isTextOrNull(thread)
  )
    return undefined
  return { bootId, pidNamespace, pid: Number(pid), startTime, thread, host, since }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
