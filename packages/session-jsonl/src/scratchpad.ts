import { dirname, join } from 'node:path'
import { breakLease, files, isAbsent, isScratchName, LociError, orAbsent } from '@loci/disk'
import { notFound } from './read-transcript.ts'
import type { SessionAddress } from './rename.ts'
import { listFiles, lookAt, readRegular, replaceFile, revisionOf } from './scratch-file.ts'
import type { ScratchFile } from './scratch-file.ts'
import { inTurn, SCRATCH_WAIT_MS, scratchLocked, takeScratchLease } from './scratch-lease.ts'
import { resolveScratchPath, SCRATCHPAD } from './scratch-path.ts'
import { sessionPath, sideDirectory } from './session-path.ts'

/**
 * Files that the agents of one session share, in `<projectDir>/<sessionId>/scratchpad/`. Ordinary files: other programs
 * may read them as they like.
 *
 * What is guaranteed, also between processes and after a kill: a reader sees a file as somebody wrote it, never a part
 * of it or a mixture. Changes come one after another, under one lease for all of the scratchpad. So
 * - `update` loses nothing: it is given what stands there, and nobody changes that until its result does;
 * - `write` and `remove` with `ifRevision` lose nothing: where somebody was faster they are refused;
 * - `write` without it replaces what is there, whoever wrote that; of two the later one stands, whole.
 *
 * What is not: a program that writes into the folder past this handle is not kept out, two files are not changed in one
 * step, and a power cut may lose the last changes. A kill can leave scratch beside a file, which is never listed.
 *
 * Names: see the README. All methods throw {@link LociError}: PATH_INVALID PATH_OUTSIDE for names, PATH_LINK where a link
 * stands in the way, DISK_IO; those that change something also SESSION_NOT_FOUND when the session has no transcript
 * (yet, or any more), SESSION_LOCKED when somebody keeps the scratchpad for longer than `waitMs`, DISK_FULL. After an
 * error the file is as it was.
 */
export interface Scratchpad {
  /** The folder, which exists once something was written. */
  readonly dir: string
  /** Every regular file, sorted by name; empty without the folder. */
  list(): Promise<ScratchFile[]>
  /** A file and its revision, the SHA-256 of its bytes in hex; `undefined` if there is none. Not bounded: see `list` for sizes. */
  read(name: string): Promise<{ bytes: Uint8Array; revision: string } | undefined>
  /**
   * Makes or replaces a file. A new one has mode 0600, one that was there keeps its own.
   *
   * @param options.ifRevision only if the file is still that; `null`: only if there is none
   * @returns the new revision
   * @throws {LociError} SCRATCHPAD_CONFLICT with `details = { name, revision }`, what stands there now
   */
  write(
    name: string,
    data: string | Uint8Array,
    options?: { ifRevision?: string | null | undefined },
  ): Promise<string>
  /**
   * Reads, changes and writes a file in one step.
   *
   * @param change gets the bytes, `undefined` if there is no file, and gives those to write, or `undefined` to leave it.
   * Not async: everybody else waits for it. What it throws passes through
   * @returns the revision of what is there then; `null` if there is no file
   */
  update(
    name: string,
    change: (previous: Uint8Array | undefined) => string | Uint8Array | undefined,
  ): Promise<string | null>
  /**
   * Removes a file.
   *
   * @returns whether there was one
   * @throws {LociError} SCRATCHPAD_CONFLICT as for `write`
   */
  remove(name: string, options?: { ifRevision?: string | undefined }): Promise<boolean>
  /**
   * Gives the scratchpad free whose holder cannot be judged from here, as one in another container. The caller knows
   * that it is gone.
   *
   * @throws {LociError} SESSION_LOCKED when the holder decidably lives
   */
  unlock(): Promise<void>
}

/**
 * The scratchpad of a session. Opening makes nothing and takes nothing, so there is no need to close it; any number of
 * agents, in this process and others, may have it open.
 *
 * @param options.waitMs how long a change waits for other processes; default 10,000
 * @throws {LociError} ENTRY_INVALID when the id is no file name
 */
export function openScratchpad(options: SessionAddress & { waitMs?: number }): Scratchpad {
  const { projectDir, sessionId, waitMs = SCRATCH_WAIT_MS } = options
  const transcript = sessionPath(projectDir, sessionId)
  const dir = join(sideDirectory(projectDir, sessionId), SCRATCHPAD)
  const pathOf = (name: string): Promise<string> => resolveScratchPath(projectDir, sessionId, name)

  async function changing<T>(name: string, work: (path: string) => Promise<T>): Promise<T> {
    return inTurn(dir, async () => {
      // Before the first step that could lead through a link.
      await pathOf(name).catch((error: unknown) => {
        throw isAbsent(error) ? unwritten(transcript, sessionId, error) : error
      })
      if ((await orAbsent(files.lstat(transcript))) === undefined) throw unwritten(transcript, sessionId)
      await files.mkdir(dirname(dir), 0o755)
      const lease = await takeScratchLease(dir, sessionId, waitMs).catch((error: unknown) => {
        // The session was deleted while this waited for its turn.
        throw isAbsent(error) ? notFound(transcript, error) : error
      })
      try {
        if ((await orAbsent(files.lstat(transcript))) === undefined) {
          // It was deleted since: the folder is nobody's, and may be one that was made here.
          await removeUnused(dirname(dir)).catch(() => undefined)
          throw notFound(transcript)
        }
        return await work(await pathOf(name))
      } finally {
        // What was changed is changed: a lease that cannot be given back is free for this process, and soon for others.
        await lease.release().catch(() => undefined)
      }
    })
  }

  return {
    dir,
    async list() {
      const above = await orAbsent(resolveScratchPath(projectDir, sessionId, 'any'))
      return above === undefined ? [] : listFiles(dirname(above), '')
    },
    async read(name) {
      const path = await orAbsent(pathOf(name))
      const bytes = path === undefined ? undefined : await readRegular(path)
      return bytes && { bytes, revision: revisionOf(bytes) }
    },
    async write(name, data, { ifRevision } = {}) {
      const bytes = bytesOf(data)
      return changing(name, async (path) => {
        if (ifRevision !== undefined) expectRevision(name, ifRevision, await readRegular(path))
        return replaceFile(path, bytes)
      })
    },
    async update(name, change) {
      return changing(name, async (path) => {
        const previous = await readRegular(path)
        // A copy: what the caller does to it must not pass for what stands there.
        const next = change(previous && Uint8Array.from(previous))
        if (next !== undefined) return replaceFile(path, bytesOf(next))
        return previous === undefined ? null : revisionOf(previous)
      })
    },
    async remove(name, { ifRevision } = {}) {
      return changing(name, async (path) => {
        if (ifRevision !== undefined) expectRevision(name, ifRevision, await readRegular(path))
        if ((await lookAt(path)) === undefined) return false
        await files.unlink(path)
        return true
      })
    },
    async unlock() {
      try {
        await orAbsent(breakLease(dir))
      } catch (error) {
        throw scratchLocked(error, dir, sessionId)
      }
    },
  }
}

/** The error for a session that nothing was appended to. One that was deleted looks the same. */
function unwritten(path: string, sessionId: string, cause?: unknown): LociError {
  const message = `Session ${sessionId} has no transcript yet; append first`
  return new LociError('SESSION_NOT_FOUND', message, { details: { path }, cause })
}

/** Removes a folder that holds nothing but locks and scratch. */
async function removeUnused(directory: string): Promise<void> {
  if ((await files.readdir(directory)).every(({ name }) => isScratchName(name)))
    await files.removeTree(directory)
}

function expectRevision(name: string, expected: string | null, bytes: Uint8Array | undefined): void {
  const revision = bytes === undefined ? null : revisionOf(bytes)
  if (revision === expected) return
  const what = revision === null ? 'is not there (any more)' : 'was written by somebody else'
  throw new LociError(
    'SCRATCHPAD_CONFLICT',
    `${JSON.stringify(name)} ${what}; read it again, then write, or use update()`,
    { details: { name, revision } },
  )
}

function bytesOf(data: unknown): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data)
  if (data instanceof Uint8Array) return data
  throw new TypeError('what is written must be a string or bytes')
}
