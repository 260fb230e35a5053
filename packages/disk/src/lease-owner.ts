import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { files } from './file-operations.ts'

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

/**
 * The locks that this thread holds, shared by every copy of this package in it. What this thread owns on disk but
 * not here it has given up, even if the disk failed before it could say so there.
 */
interface OwnLocks {
  readonly thread: string
  readonly held: Set<string>
}
const OWN_LOCKS = Symbol.for('@loci/disk.own-locks')

export function ownLocks(): OwnLocks {
  const realm = globalThis as { [OWN_LOCKS]?: OwnLocks }
  return (realm[OWN_LOCKS] ??= { thread: randomUUID(), held: new Set() })
}

/** This thread as an owner. */
export async function thisOwner(): Promise<LeaseOwner> {
  return {
    bootId: await readBootId(),
    pidNamespace: await readPidNamespace(),
    pid: process.pid,
    startTime: (await lookAt(process.pid)).startTime,
    thread: ownLocks().thread,
    host: hostname(),
    since: new Date().toISOString(),
  }
}

/** The view from this thread on the lock in `file`. */
export async function vantageOn(file: string): Promise<Vantage> {
  const { type } = await files.statfs(dirname(file))
  const { thread, held } = ownLocks()
  return {
    bootId: await readBootId(),
    pidNamespace: await readPidNamespace(),
    host: hostname(),
    localFileSystem: process.platform === 'linux' && LOCAL_FILE_SYSTEMS.has(type >>> 0),
    ownLease: (owner) => (owner.thread !== thread ? 'not-ours' : held.has(file) ? 'held' : 'given-up'),
    lookAt,
  }
}

/**
 * File systems that one machine alone has mounted.
 * Source: the magic numbers of statfs(2): ext2–4, xfs, btrfs, tmpfs, overlay, f2fs, zfs, bcachefs.
 */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1, 0xca451a4e,
])

function readBootId(): Promise<string | null> {
  return procText('/proc/sys/kernel/random/boot_id')
}

async function readPidNamespace(): Promise<string | null> {
  return files.readlink('/proc/self/ns/pid').catch(() => null)
}

async function procText(path: string): Promise<string | null> {
  return files.readFile(path).then(
    (bytes) => bytes.toString('utf8').trim(),
    () => null,
  )
}

async function lookAt(pid: number): Promise<{ alive: boolean; startTime: string | null }> {
  try {
    const stat = (await files.readFile(`/proc/${pid}/stat`)).toString('utf8')
    // The command may hold blanks and parentheses; the numbered fields begin after its last parenthesis.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended: it writes nothing any more and only waits for its parent.
    return { alive: fields[0] !== 'Z' && fields[0] !== 'X', startTime: fields[19] ?? null }
  } catch {
    // No /proc, or not for this process: ask with a signal that is never sent.
  }
  try {
    process.kill(pid, 0)
    return { alive: true, startTime: null }
  } catch (error) {
    const gone = error instanceof Error && 'code' in error && error.code === 'ESRCH'
    return { alive: !gone, startTime: null }
  }
}
