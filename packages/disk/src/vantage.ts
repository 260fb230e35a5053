import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { files } from './file-operations.ts'
import type { LeaseOwner, Vantage } from './lease-owner.ts'

/**
 * The locks that this thread holds, shared by every copy of this package in it. What this thread owns on disk but
 * not here it has given up, even if the disk failed before it could say so there.
 */
interface OwnLocks {
  readonly thread: string
  readonly held: Set<string>
}
const OWN_LOCKS = Symbol.for('@loci/disk.own-locks')

/** The locks of this thread. */
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
    startTime: (await lookAtProcess(process.pid)).startTime,
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
    localFileSystem: isLocalFileSystem(type),
    ownLease: (owner) => (owner.thread !== thread ? 'not-ours' : held.has(file) ? 'held' : 'given-up'),
    lookAt: lookAtProcess,
  }
}

/**
 * File systems that one machine alone has mounted.
 * Source: the magic numbers of statfs(2): ext2–4, xfs, btrfs, tmpfs, overlay, f2fs, zfs, bcachefs.
 */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0xf2f52010, 0x2fc12fc1, 0xca451a4e,
])

/** Whether a file system of this type (of `statfs`) is one that this machine alone has mounted, as far as that is known. */
export function isLocalFileSystem(type: number): boolean {
  return process.platform === 'linux' && LOCAL_FILE_SYSTEMS.has(type >>> 0)
}

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

async function lookAtProcess(pid: number): Promise<{ alive: boolean; startTime: string | null }> {
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
