import { constants, fstatSync, readSync, writeSync } from 'node:fs'
import type { BigIntStats, Dirent, StatsFs } from 'node:fs'
import * as fs from 'node:fs/promises'
import { errorMessage, LociError } from './error.ts'

/** What a fault hook answers: nothing, an error to throw, or how many bytes a write may take. */
export type Fault = undefined | NodeJS.ErrnoException | { shortWriteBytes: number }
/** Called before each operation, with its name and the path it works on. */
export type FaultHook = (operation: string, path: string) => Fault

let faultHook: FaultHook | undefined

/** Installs (or, with `undefined`, removes) the hook. Used by `@loci/disk/testing` alone. */
export function setFaultHook(hook: FaultHook | undefined): void {
  faultHook = hook
}

const FULL = new Set(['ENOSPC', 'EDQUOT'])
const ADVICE: Record<string, string> = {
  ENOSPC: 'free some space and try again',
  EDQUOT: 'the disk quota is used up; free some space and try again',
  EACCES: 'check its permissions',
  EPERM: 'check its permissions',
  EROFS: 'the file system is read-only',
  ENOENT: 'it, or a parent of it, does not exist',
  EISDIR: 'it is a directory; give a file',
  ENOTDIR: 'it, or a parent of it, is not a directory',
  EEXIST: 'it exists already; move it away or choose another name',
  EMFILE: 'too many files are open; raise the limit (ulimit -n)',
  ENFILE: 'too many files are open on this machine',
  ENAMETOOLONG: 'the name is too long; choose a shorter one',
  ELOOP: 'it is a symbolic link, or there are too many of them',
  EIO: 'the disk reported an error; see the system log',
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

function diskError(error: unknown, operation: string, path: string): LociError {
  const errno = errnoOf(error) ?? 'EIO'
  const code = FULL.has(errno) ? 'DISK_FULL' : 'DISK_IO'
  const advice = ADVICE[errno] ?? errorMessage(error)
  return new LociError(code, `Cannot ${operation} ${JSON.stringify(path)}: ${advice} (${errno})`, {
    details: { errno, operation, path },
    cause: error,
  })
}

/** The errno of a failed file operation, such as `'EXDEV'`; `undefined` for any other error. */
export function fileErrno(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const details: unknown = 'details' in error ? error.details : undefined
  if (typeof details !== 'object' || details === null || !('errno' in details)) return undefined
  return typeof details.errno === 'string' ? details.errno : undefined
}

/** Whether a failed operation says that the file is not there. Only ENOENT does; EACCES never means absent. */
export function isAbsent(error: unknown): boolean {
  return fileErrno(error) === 'ENOENT'
}

async function run<T>(operation: string, path: string, action: () => Promise<T>): Promise<T> {
  try {
    const fault = faultHook?.(operation, path)
    if (fault instanceof Error) throw fault
    return await action()
  } catch (error) {
    throw diskError(error, operation, path)
  }
}

/** Runs one operation of `filesNow`: the hook first, every failure as a {@link LociError}. */
export function runNow<T>(operation: string, path: string, action: () => T): T {
  return guarded(operation, path, faultHook?.(operation, path), action)
}

function guarded<T>(operation: string, path: string, fault: Fault, action: () => T): T {
  try {
    if (fault instanceof Error) throw fault
    return action()
  } catch (error) {
    throw diskError(error, operation, path)
  }
}

/** Fills `buffer` from `position` on, as far as the file goes; returns how many bytes that were. */
export function readFullNow(
  path: string,
  descriptor: number,
  { buffer, position }: { buffer: Uint8Array; position: number },
): number {
  let done = 0
  while (done < buffer.length) {
    const from = done
    const taken = runNow('read', path, () =>
      readSync(descriptor, buffer, from, buffer.length - from, position + from),
    )
    if (taken === 0) break
    done += taken
  }
  return done
}

/** Writes all of `bytes` where the file stands, going on after a short write. */
export function writeAllNow(path: string, descriptor: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) {
    const rest = bytes.subarray(done)
    const fault = faultHook?.('write', path)
    const length =
      fault && !(fault instanceof Error) ? Math.min(rest.length, fault.shortWriteBytes) : rest.length
    const taken = guarded('write', path, fault, () => writeSync(descriptor, rest, 0, length))
    if (taken === 0) throw diskError(Object.assign(new Error(), { code: 'EIO' }), 'write', path)
    done += taken
  }
}

/** An open file. All positions and lengths are bytes. */
export class OpenFile {
  readonly path: string
  readonly #handle: fs.FileHandle

  constructor(path: string, handle: fs.FileHandle) {
    this.path = path
    this.#handle = handle
  }

  /** Reads up to `buffer.length` bytes at `position`; resolves to how many were read, 0 at the end. */
  read(buffer: Uint8Array, position: number): Promise<number> {
    return run('read', this.path, async () => {
      const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, position)
      return bytesRead
    })
  }

  /** Fills `buffer` from `position` on, as far as the file goes; resolves to how many bytes that were. */
  async readFull(buffer: Uint8Array, position: number): Promise<number> {
    let done = 0
    while (done < buffer.length) {
      const taken = await this.read(buffer.subarray(done), position + done)
      if (taken === 0) break
      done += taken
    }
    return done
  }

  /** {@link readFull}, without waiting, for what is small or at hand. */
  readFullNow(buffer: Uint8Array, position: number): number {
    return readFullNow(this.path, this.#handle.fd, { buffer, position })
  }

  /** One write call: resolves to how many bytes it took, which may be fewer than given. */
  write(bytes: Uint8Array, position: number | null = null): Promise<number> {
    const fault = faultHook?.('write', this.path)
    if (fault instanceof Error) return Promise.reject(diskError(fault, 'write', this.path))
    const length = fault ? Math.min(bytes.length, fault.shortWriteBytes) : bytes.length
    return this.#handle.write(bytes, 0, length, position).then(
      ({ bytesWritten }) => bytesWritten,
      (error: unknown) => {
        throw diskError(error, 'write', this.path)
      },
    )
  }

  /** Writes all of `bytes`, going on after a short write. */
  async writeAll(bytes: Uint8Array, position: number | null = null): Promise<void> {
    let done = 0
    while (done < bytes.length) {
      const taken = await this.write(bytes.subarray(done), position === null ? null : position + done)
      if (taken === 0) throw diskError(Object.assign(new Error(), { code: 'EIO' }), 'write', this.path)
      done += taken
    }
  }

  /** {@link writeAll}, without waiting: handing a little to the system takes less than handing it to another thread. */
  writeAllNow(bytes: Uint8Array): void {
    writeAllNow(this.path, this.#handle.fd, bytes)
  }

  stat(): Promise<BigIntStats> {
    return run('fstat', this.path, () => this.#handle.stat({ bigint: true }))
  }

  /** {@link stat}, without waiting: what is known of an open file takes no disk. */
  statNow(): BigIntStats {
    return runNow('fstat', this.path, () => fstatSync(this.#handle.fd, { bigint: true }))
  }

  chmod(mode: number): Promise<void> {
    return run('fchmod', this.path, () => this.#handle.chmod(mode))
  }

  /** Sets when the file was last written and read, in seconds since the epoch: a copy is as old as what it is of. */
  setModified(seconds: number): Promise<void> {
    return run('futimes', this.path, () => this.#handle.utimes(seconds, seconds))
  }

  truncate(sizeBytes: number): Promise<void> {
    return run('ftruncate', this.path, () => this.#handle.truncate(sizeBytes))
  }

  datasync(): Promise<void> {
    return run('fdatasync', this.path, () => this.#handle.datasync())
  }

  close(): Promise<void> {
    // An injected fault comes after the real close: a descriptor is gone whatever close(2) reports.
    return this.#handle.close().then(
      () => run('close', this.path, async () => undefined),
      (error: unknown) => {
        throw diskError(error, 'close', this.path)
      },
    )
  }
}

/**
 * The file operations that Loci uses. Those of every package go through this port, for two reasons: a failing one
 * becomes a {@link LociError} in one place (`DISK_FULL`, `DISK_IO`, with `details = { errno, operation, path }`), and
 * the fault loop of `@loci/disk/testing` can make the Nth one fail without root.
 */
export const files = {
  open: (path: string, flags: string | number, mode?: number): Promise<OpenFile> =>
    run('open', path, async () => new OpenFile(path, await fs.open(path, flags, mode))),
  /** The whole file. Bounded by the caller: check the size first where the file can be large. */
  readFile: (path: string): Promise<Buffer> => run('read', path, () => fs.readFile(path)),
  stat: (path: string): Promise<BigIntStats> => run('stat', path, () => fs.stat(path, { bigint: true })),
  lstat: (path: string): Promise<BigIntStats> => run('lstat', path, () => fs.lstat(path, { bigint: true })),
  /** Whether this process may make and change what is in a directory: resolves, or fails with the reason. */
  checkWritable: (path: string): Promise<void> =>
    run('access', path, () => fs.access(path, constants.W_OK | constants.X_OK)),
  statfs: (path: string): Promise<StatsFs> => run('statfs', path, () => fs.statfs(path)),
  realpath: (path: string): Promise<string> => run('realpath', path, () => fs.realpath(path)),
  readlink: (path: string): Promise<string> => run('readlink', path, () => fs.readlink(path)),
  /** Entries sorted by name, so that nothing depends on the order a file system gives. */
  readdir: (path: string): Promise<Dirent[]> =>
    run('readdir', path, async () => {
      const entries = await fs.readdir(path, { withFileTypes: true })
      return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    }),
  /** `lstat` of what has a name in this directory that is no UTF-8; the names in hex, which no string can spell. */
  statUndecodable: (path: string): Promise<Map<string, BigIntStats>> =>
    run('readdir', path, async () => {
      const found = new Map<string, BigIntStats>()
      const prefix = Buffer.from(`${path}/`)
      for (const name of await fs.readdir(path, { encoding: 'buffer' })) {
        if (Buffer.from(name.toString('utf8')).equals(name)) continue
        const stats = await fs.lstat(Buffer.concat([prefix, name]), { bigint: true })
        found.set(name.toString('hex'), stats)
      }
      return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    }),
  /** Makes the directory and its parents; resolves to the first one made, `undefined` if all were there. */
  mkdir: (path: string, mode?: number): Promise<string | undefined> =>
    run('mkdir', path, () => fs.mkdir(path, { recursive: true, ...(mode === undefined ? {} : { mode }) })),
  rename: (from: string, to: string): Promise<void> => run('rename', to, () => fs.rename(from, to)),
  link: (from: string, to: string): Promise<void> => run('link', to, () => fs.link(from, to)),
  unlink: (path: string): Promise<void> => run('unlink', path, () => fs.unlink(path)),
  /** Removes a directory and all in it; nothing there is fine. For Loci's own temporary and side files. */
  removeTree: (path: string): Promise<void> =>
    run('remove', path, () => fs.rm(path, { recursive: true, force: true })),
  rmdir: (path: string): Promise<void> => run('rmdir', path, () => fs.rmdir(path)),
  chmod: (path: string, mode: number): Promise<void> => run('chmod', path, () => fs.chmod(path, mode)),
  /** Copies into a file that must not exist. `'reflink'` fails where blocks cannot be shared. */
  copyFile: (from: string, to: string, how: 'reflink' | 'bytes'): Promise<void> =>
    run('copy', to, () =>
      fs.copyFile(
        from,
        to,
        constants.COPYFILE_EXCL | (how === 'reflink' ? constants.COPYFILE_FICLONE_FORCE : 0),
      ),
    ),
}

/** What `stat` and `lstat` tell; sizes, times and inodes are bigints. */
export type FileStats = BigIntStats

/** Flags for {@link files.open} that have no letter: do not follow a link, do not block on a FIFO. */
export const OPEN_REGULAR: number = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Flags for {@link files.open} that have no letter: append to a file that is there, make none, and follow no link. */
export const OPEN_APPEND: number = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW

/** The value of `action`, or `undefined` if the file it works on is not there. */
export async function orAbsent<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}
