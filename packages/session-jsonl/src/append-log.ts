import { dirname } from 'node:path'
import { acquireLease, appendRecords, fileErrno, files, isLociError, LociError } from '@loci/disk'
import type { Lease, OpenFile } from '@loci/disk'
import { notFound } from './read-transcript.ts'

/** How far an append goes before it resolves: to the operating system, or to the disk. */
export type Durability = 'os' | 'fsync'

/**
 * The file of a session under its lease, opened for appending: no byte that is in it is ever written again. Only the
 * beginning of an own append that failed is cut off, and where that fails it is fenced off by the next one.
 */
export class AppendLog {
  readonly path: string
  readonly #sessionId: string
  readonly #durability: Durability
  #open: { file: OpenFile; lease: Lease } | undefined

  constructor(options: { path: string; sessionId: string; durability: Durability }) {
    this.path = options.path
    this.#sessionId = options.sessionId
    this.#durability = options.durability
  }

  /** The open file; `undefined` before the first append to a new session. */
  get file(): OpenFile | undefined {
    return this.#open?.file
  }

  /**
   * Opens the file of a session that is there.
   *
   * @throws {LociError} SESSION_NOT_FOUND, SESSION_LOCKED, DISK_IO
   */
  async openExisting(): Promise<void> {
    // Asked first, so that opening what is not there leaves no lock file behind.
    await files.stat(this.path).catch((error: unknown) => {
      throw fileErrno(error) === 'ENOENT' ? notFound(this.path, error) : error
    })
    const lease = await takeLease(this.path, this.#sessionId)
    await this.#openUnder(lease, 'a+')
  }

  /** Appends lines, each with its newline, in one write. Makes the file of a new session. */
  async append(lines: string): Promise<void> {
    const file = this.#open?.file ?? (await this.#create())
    const bytes = Buffer.from(lines)
    const before = await file.stat()
    if (before.nlink === 0n) throw notFound(this.path)
    try {
      await appendRecords(file, bytes)
      if (this.#durability === 'fsync') await file.datasync()
    } catch (error) {
      await cutBack(file, Number(before.size), bytes)
      throw error
    }
  }

  /** Gives back file and lease. */
  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    try {
      await open.file.close()
    } finally {
      await open.lease.release()
    }
  }

  async #create(): Promise<OpenFile> {
    await files.mkdir(dirname(this.path), 0o755)
    const lease = await takeLease(this.path, this.#sessionId)
    const file = await this.#openUnder(lease, 'ax+')
    if (this.#durability === 'fsync') await syncDirectory(dirname(this.path))
    return file
  }

  async #openUnder(lease: Lease, flags: 'a+' | 'ax+'): Promise<OpenFile> {
    try {
      const file = await files.open(this.path, flags, 0o600)
      this.#open = { file, lease }
      return file
    } catch (error) {
      // The first error is the one to tell; a lease that stays is free to this process.
      await lease.release().catch(() => undefined)
      throw fileErrno(error) === 'EEXIST' ? sessionExists(this.path, error) : error
    }
  }
}

/** The error for an id that is taken. */
export function sessionExists(path: string, cause?: unknown): LociError {
  const message = `There is a session at ${JSON.stringify(path)} already; open it, or choose another id`
  return new LociError('SESSION_EXISTS', message, { details: { path }, cause })
}

async function takeLease(path: string, sessionId: string): Promise<Lease> {
  try {
    return await acquireLease(path)
  } catch (error) {
    if (!isLociError(error, 'LEASE_HELD')) throw error
    const { pid, host, since, decidable } = error.details
    const owner = typeof pid === 'number' ? `process ${pid} on ${String(host)}` : 'an unknown process'
    const when = typeof since === 'string' ? ` since ${since}` : ''
    const unlock = decidable === true ? '' : `, or unlock it if that process is gone for certain`
    throw new LociError(
      'SESSION_LOCKED',
      `Session ${sessionId} is open in ${owner}${when}; close it there, fork it, or open it read-only${unlock}`,
      { details: { sessionId, path, pid, host, since, decidable }, cause: error },
    )
  }
}

/**
 * Takes back the beginning of an append that failed, if it is all that came since. Quiet: the error to tell is the
 * append's, and what stays is fenced off with a newline by the next append.
 */
async function cutBack(file: OpenFile, sizeBefore: number, bytes: Uint8Array): Promise<void> {
  try {
    // One more than the append could have added, to see what is not ours.
    const since = Buffer.alloc(bytes.length + 2)
    let length = 0
    for (;;) {
      const read = await file.read(since.subarray(length), sizeBefore + length)
      if (read === 0) break
      length += read
    }
    const added = since.subarray(0, length)
    const own = added[0] === 0x0a && bytes[0] !== 0x0a ? added.subarray(1) : added
    if (length === 0 || own.length > bytes.length || !own.equals(bytes.subarray(0, own.length))) return
    await file.truncate(sizeBefore)
  } catch {
    // Said above.
  }
}

/** Flushes a directory, so that a name made in it survives a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await files.open(path, 'r')
  try {
    await directory.datasync()
  } finally {
    await directory.close()
  }
}
