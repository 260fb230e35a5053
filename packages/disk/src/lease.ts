import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createFileAtomic, removeQuietly } from './atomic-write.ts'
import { isLociError, LociError } from './error.ts'
import { files, orAbsent } from './file-operations.ts'
import { ownerState, parseLeaseOwner } from './lease-owner.ts'
import type { LeaseOwner, OwnerState } from './lease-owner.ts'
import { ownLocks, thisOwner, vantageOn } from './vantage.ts'

/** The sole right to change something, until released or until the process ends. */
export interface Lease {
  readonly path: string
  /** Gives the lease back. A second call does nothing; after a failed one it tries again. */
  release(): Promise<void>
}

const POLL_MS = 20

/**
 * Takes the lease on `path`, whose directory must exist; `path` itself need not. Leases a decidably dead
 * owner left are taken over at once. A live owner, or one of whom nothing can be said (another container or
 * host), keeps it: see {@link breakLease}. The same process cannot take it twice.
 *
 * The lease on `dir/name` is the highest of the files `dir/.name.lock.<n>`. Each holds its owner
 * as one line of JSON and appears under its name complete (written elsewhere, then linked, which fails if the
 * name is taken). To take over, a process proves that the owner of n is dead or has released, creates n+1, and
 * then looks again: only if n+1 is the highest does it have the lease. Releasing empties the own file, which needs
 * no space on a full disk. The highest file is never removed, so n+1 cannot be created twice by two processes that both saw n: the
 * slower one finds the name taken, or finds a higher one when it looks again.
 *
 * Source: `docs/formats/lease.md`.
 *
 * @param options.waitMs how long to wait for a live owner to release; default 0
 * @throws {LociError} LEASE_HELD with `details = { pid, host, since, decidable }`; DISK_FULL, DISK_IO
 */
export async function acquireLease(path: string, options: { waitMs?: number } = {}): Promise<Lease> {
  const deadline = performance.now() + (options.waitMs ?? 0)
  for (;;) {
    const attempt = await tryAcquire(path)
    if ('lease' in attempt) return attempt.lease
    if (performance.now() >= deadline) throw heldError(path, attempt.owner, attempt.state)
    await delay(Math.min(POLL_MS, Math.max(1, deadline - performance.now())))
  }
}

/**
 * Releases by hand a lease whose owner cannot be decided from here. The caller knows that it is gone.
 * Nothing happens if nobody holds it.
 *
 * @throws {LociError} LEASE_HELD when the owner decidably lives; DISK_FULL, DISK_IO
 */
export async function breakLease(path: string): Promise<void> {
  const highest = await highestLock(path)
  if (highest === undefined) return
  const holder = await holderOf(highest.file)
  if (holder === undefined) return
  if (holder.state === 'live') throw heldError(path, holder.owner, 'live')
  await markReleased(highest.file)
}

/** A lease that is held, or was when its owner ended. */
export interface HeldLease extends LeaseHolder {
  /** What the lease is on, as {@link acquireLease} was given it. */
  path: string
  /** The file that says so. */
  lockFile: string
  /** `dead`: the next to want it has it. `undecidable`: see {@link breakLease}. */
  state: OwnerState
}

/**
 * The leases in a directory that were taken and not given back, by the names of what they are on; none where there is
 * no directory. Looks only: takes none, and opens nothing but regular files.
 *
 * @throws {LociError} DISK_IO
 */
export async function heldLeases(directory: string): Promise<HeldLease[]> {
  const highest = new Map<string, Lock>()
  for (const { name } of (await orAbsent(files.readdir(directory))) ?? []) {
    const [, on, digits] = /^\.(.+)\.lock\.([1-9]\d{0,14})$/.exec(name) ?? []
    if (on === undefined || Number(digits) <= (highest.get(on)?.number ?? 0)) continue
    highest.set(on, { file: join(directory, name), number: Number(digits) })
  }
  const held: HeldLease[] = []
  for (const [name, { file }] of highest) {
    const holder = await holderOf(file)
    if (holder === undefined) continue
    const path = join(directory, name)
    held.push({ path, lockFile: file, state: holder.state, ...describeOwner(holder) })
  }
  return held
}

type Attempt = { lease: Lease } | { owner: LeaseOwner | undefined; state: OwnerState }

async function tryAcquire(path: string): Promise<Attempt> {
  for (;;) {
    const highest = await highestLock(path)
    const holder = highest && (await holderOf(highest.file))
    if (holder && holder.state !== 'dead') return holder
    const number = (highest?.number ?? 0) + 1
    // If somebody was faster, look again at who.
    if ((await createLock(path, number)) && (await confirm(path, number))) {
      return { lease: leaseOn(path, lockFile(path, number)) }
    }
  }
}

/** Whether the lock just created is the lease. If it is not, or that cannot be told, it is given up. */
async function confirm(path: string, number: number): Promise<boolean> {
  const own = lockFile(path, number)
  try {
    const locks = await locksOf(path)
    if (locks.at(-1)?.number === number) {
      ownLocks().held.add(own)
      for (const lock of locks.slice(0, -1)) await removeQuietly(lock.file)
      return true
    }
  } catch (error) {
    await markReleased(own)
    throw error
  }
  await removeQuietly(own)
  return false
}

function leaseOn(path: string, file: string): Lease {
  let releasing: Promise<void> | undefined
  return {
    path,
    release() {
      ownLocks().held.delete(file)
      releasing ??= markReleased(file).catch((error: unknown) => {
        releasing = undefined
        throw error
      })
      return releasing
    },
  }
}

/** Empties the lock file, unless it has gone together with its directory. */
async function markReleased(file: string): Promise<void> {
  const lock = await orAbsent(files.open(file, 'r+'))
  if (lock === undefined) return
  try {
    await lock.truncate(0)
  } finally {
    await lock.close()
  }
}

async function createLock(path: string, number: number): Promise<boolean> {
  const record = Buffer.from(`${JSON.stringify(await thisOwner())}\n`)
  return createFileAtomic(lockFile(path, number), (file) => file.writeAll(record))
}

function lockFile(path: string, number: number): string {
  return join(dirname(path), `.${basename(path)}.lock.${number}`)
}

interface Lock {
  file: string
  number: number
}

async function locksOf(path: string): Promise<Lock[]> {
  const prefix = `.${basename(path)}.lock.`
  const locks: Lock[] = []
  for (const { name } of await files.readdir(dirname(path))) {
    const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ''
    if (/^[1-9]\d{0,14}$/.test(digits))
      locks.push({ file: join(dirname(path), name), number: Number(digits) })
  }
  return locks.toSorted((a, b) => a.number - b.number)
}

async function highestLock(path: string): Promise<Lock | undefined> {
  return (await locksOf(path)).at(-1)
}

/** Who holds the lock in `file`; `undefined` if it was released (or is gone, which a look again will show). */
async function holderOf(
  file: string,
): Promise<{ owner: LeaseOwner | undefined; state: OwnerState } | undefined> {
  const stats = await orAbsent(files.lstat(file))
  if (stats === undefined) return undefined
  // Reading a FIFO would wait for ever.
  if (!stats.isFile()) return { owner: undefined, state: 'undecidable' }
  const bytes = await orAbsent(files.readFile(file))
  if (bytes === undefined) return undefined
  // Zeros are what a power cut can leave of a file written shortly before it.
  if (bytes.every((byte) => byte === 0)) return undefined
  const owner = parseLeaseOwner(bytes.toString('utf8'))
  // A lock whose owner cannot be read is nobody's to rob.
  if (owner === undefined) return { owner, state: 'undecidable' }
  return { owner, state: await ownerState(owner, await vantageOn(file)) }
}

function heldError(path: string, owner: LeaseOwner | undefined, state: OwnerState): LociError {
  const { who, ...details } = describeOwner({ owner, state })
  const advice = details.decidable
    ? 'end that process or wait for it'
    : 'if that process is gone for certain, break the lease by hand'
  return new LociError('LEASE_HELD', `${JSON.stringify(path)} is held by ${who}; ${advice}`, {
    details,
  })
}

/** Who holds a lease, as the `details` of LEASE_HELD say it; `null` where the record cannot be read. */
export interface LeaseHolder {
  pid: number | null
  host: string | null
  /** ISO 8601. */
  since: string | null
  /** Whether it is certain that the holder lives. */
  decidable: boolean
  /** The same in words. */
  who: string
}

/** The holder that a LEASE_HELD names, for a package that reports it under a code of its own; else `undefined`. */
export function leaseHolder(error: unknown): LeaseHolder | undefined {
  if (!isLociError(error, 'LEASE_HELD')) return undefined
  const { pid, host, since, decidable } = error.details ?? {}
  const details = {
    pid: typeof pid === 'number' ? pid : null,
    host: typeof host === 'string' ? host : null,
    since: typeof since === 'string' ? since : null,
    decidable: decidable === true,
  }
  return { ...details, who: describeHolder(details) }
}

function describeOwner({ owner, state }: { owner: LeaseOwner | undefined; state: OwnerState }): LeaseHolder {
  const { pid = null, host = null, since = null } = owner ?? {}
  const details = { pid, host, since, decidable: state === 'live' }
  return { ...details, who: describeHolder(details) }
}

function describeHolder({ pid, host, since }: Omit<LeaseHolder, 'who' | 'decidable'>): string {
  return pid === null || host === null
    ? 'an unknown process'
    : `process ${pid} on ${host} since ${since ?? 'unknown'}`
}
