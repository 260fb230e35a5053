import { dirname, resolve } from 'node:path'
import {
  acquireLease,
  appendRecords,
  breakLease,
  fileErrno,
  files,
  leaseHolder,
  LociError,
  OPEN_APPEND,
  orAbsent,
  syncDirectory,
} from '@loci/disk'
import type { Lease, OpenFile } from '@loci/disk'
import { notFound } from './read-transcript.ts'
import { requireFile } from './require-file.ts'
import { sessionPath } from './session-path.ts'
import { MAX_BATCH_BYTES } from './write-queue.ts'

/** How far an append goes before it resolves: to the operating system, or to the disk. */
export type Durability = 'os' | 'fsync'

const BUFFER_BYTES = 16 * 1024

/**
 * The file of a session under its lease, opened for appending: no byte that is in it is ever written again or cut off.
 * What a failed append left of its lines stays, fenced off by the next one: the lease does not keep others from
 * appending a title or a tag, and cutting back could take theirs along.
 */
export class AppendLog {
  readonly path: string
  readonly #sessionId: string
  readonly #durability: Durability
  #open: { file: OpenFile; lease: Lease } | undefined
  /** Where the file ended after the last append. */
  #end: bigint | undefined
  #buffer: Buffer = Buffer.alloc(0)
  /** Folders that may not be on the disk yet with what they name. */
  readonly #unflushed = new Set<string>()

  constructor(options: { path: string; sessionId: string; durability: Durability }) {
    this.path = options.path
    this.#sessionId = options.sessionId
    this.#durability = options.durability
  }

  /** The open file; `undefined` before the first append to a new session. */
  get file(): OpenFile | undefined {
    return this.#open?.file
  }

  /** Whether the file is as the last append left it: nobody else has appended since. */
  get isAsLeft(): boolean {
    return this.#open !== undefined && this.#open.file.statNow().size === this.#end
  }

  /**
   * Opens the file of a session that is there.
   *
   * @throws {LociError} SESSION_NOT_FOUND, SESSION_LOCKED, DISK_IO
   */
  async openExisting(): Promise<void> {
    // Asked first, so that opening what is not there leaves no lock file behind.
    await requireFile(this.path).catch((error: unknown) => {
      throw fileErrno(error) === 'ENOENT' ? notFound(this.path, error) : error
    })
    const lease = await takeLease(this.path, this.#sessionId)
    // By flags that make none: it may have been deleted since.
    await this.#openUnder(lease, OPEN_APPEND)
  }

  /**
   * Appends lines, each with its newline, in one write. Makes the file of a new session. One call at a time.
   *
   * @returns whether the file was {@link isAsLeft}
   */
  async append(lines: readonly string[]): Promise<boolean> {
    const file = this.#open?.file ?? (await this.#create())
    if (this.#durability === 'fsync') await this.#flushFolders()
    const { nlink, size } = file.statNow()
    if (nlink === 0n) throw await this.#gone()
    // Where nobody else appended since, the file ends with a line of ours.
    const isFinished = size === this.#end
    this.#end = undefined
    const end = await appendRecords(file, this.#encode(lines), { sizeBytes: size, isFinished })
    this.#end = end
    if (this.#durability === 'fsync') await file.datasync()
    return isFinished
  }

  /** The bytes of lines; in the same memory as the last time where they are not too many. */
  #encode(lines: readonly string[]): Uint8Array {
    let most = 0
    for (const line of lines) most += line.length * 3
    if (most > this.#buffer.length) {
      const length =
        most > MAX_BATCH_BYTES ? lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) : most
      if (length > MAX_BATCH_BYTES) return Buffer.from(lines.join(''))
      if (length > this.#buffer.length)
        this.#buffer = Buffer.allocUnsafeSlow(length > BUFFER_BYTES ? MAX_BATCH_BYTES : BUFFER_BYTES)
    }
    let length = 0
    for (const line of lines) length += this.#buffer.write(line, length)
    return this.#buffer.subarray(0, length)
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

  /** The error for a file that has no name any more. */
  async #gone(): Promise<LociError> {
    if ((await orAbsent(files.lstat(this.path))) === undefined) return notFound(this.path)
    const message = `The file at ${JSON.stringify(this.path)} was replaced by another while the session was open; close it and open it again`
    return new LociError('SESSION_NOT_FOUND', message, { details: { path: this.path } })
  }

  async #create(): Promise<OpenFile> {
    const folder = resolve(dirname(this.path))
    const firstMade = await files.mkdir(folder, 0o755)
    for (const one of foldersTo(folder, firstMade)) this.#unflushed.add(one)
    const lease = await takeLease(this.path, this.#sessionId)
    const file = await this.#openUnder(lease, 'ax+')
    this.#end = 0n
    return file
  }

  /** After a flush that failed, the next append tries it again. */
  async #flushFolders(): Promise<void> {
    for (const folder of this.#unflushed) {
      await syncDirectory(folder)
      this.#unflushed.delete(folder)
    }
  }

  async #openUnder(lease: Lease, flags: string | number): Promise<OpenFile> {
    try {
      const file = await files.open(this.path, flags, 0o600)
      this.#open = { file, lease }
      return file
    } catch (error) {
      // The first error is the one to tell; a lease that stays is free to this process.
      await lease.release().catch(() => undefined)
      const errno = fileErrno(error)
      if (errno === 'EEXIST') throw sessionExists(this.path, error)
      throw errno === 'ENOENT' ? notFound(this.path, error) : error
    }
  }
}

/** The folder in which a file was made, and those above it that name a folder made for it. */
function foldersTo(folder: string, firstMade: string | undefined): string[] {
  if (firstMade === undefined) return [folder]
  const top = dirname(resolve(firstMade))
  const folders = [folder]
  for (let at = folder; at.length > top.length; at = dirname(at)) folders.push(dirname(at))
  return folders
}

/** The error for an id that is taken. */
export function sessionExists(path: string, cause?: unknown): LociError {
  const message = `There is a session at ${JSON.stringify(path)} already; open it, or choose another id`
  return new LociError('SESSION_EXISTS', message, { details: { path }, cause })
}

/**
 * Gives free by hand a session whose owner cannot be decided from here. The caller knows that it is gone. Nothing
 * happens if nobody has it open.
 *
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_LOCKED when the owner decidably lives; DISK_FULL, DISK_IO
 */
export async function unlockSession(options: { projectDir: string; sessionId: string }): Promise<void> {
  const path = sessionPath(options.projectDir, options.sessionId)
  if ((await orAbsent(files.stat(path))) === undefined) throw notFound(path)
  try {
    await breakLease(path)
  } catch (error) {
    throw lockedError(error, path, options.sessionId)
  }
}

/**
 * Runs `work` under the lease of a session, which keeps every writer of this package out.
 *
 * @throws {LociError} SESSION_LOCKED, DISK_FULL, DISK_IO; what `work` throws
 */
export async function withLease<T>(path: string, sessionId: string, work: () => Promise<T>): Promise<T> {
  const lease = await takeLease(path, sessionId)
  try {
    return await work()
  } finally {
    await lease.release()
  }
}

async function takeLease(path: string, sessionId: string): Promise<Lease> {
  try {
    return await acquireLease(path)
  } catch (error) {
    throw lockedError(error, path, sessionId)
  }
}

/** A held lease as this package says it; any other error as it is. */
function lockedError(error: unknown, path: string, sessionId: string): unknown {
  const holder = leaseHolder(error)
  if (holder === undefined) return error
  const { who, ...owner } = holder
  const unlock = owner.decidable ? '' : `, or unlock it if that process is gone for certain`
  return new LociError(
    'SESSION_LOCKED',
    `Session ${sessionId} is open in ${who}; close it there, fork it, or open it read-only${unlock}`,
    { details: { sessionId, path, ...owner }, cause: error },
  )
}
