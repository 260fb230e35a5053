import { dirname } from 'node:path'
import { files, isLociError, LociError, syncDirectory, writeFileAtomic } from '@loci/disk'
import { MAX_JSON_BYTES, readRegular } from './read-regular.ts'

/** A file as it is and as it shall be; `undefined`: not there. */
export interface FileChange {
  path: string
  before: Uint8Array | undefined
  after: Uint8Array | undefined
  /** Of an index: the topic whose lines the change is about, if it is about those of one alone. */
  linesOf?: string
  /** Permission bits of a new file; default: 0o644 less umask. */
  mode?: number
}

/**
 * Makes all the changes, in order, or none: if one fails, those made are taken back, unless somebody else
 * changed the file meanwhile, and the error is passed on. Each change by itself is atomic and on the disk when
 * the next begins, so that after a crash, or where taking back fails, a beginning of the list is done.
 *
 * @throws {LociError} MEMORY_CONFLICT, see {@link isChangedMeanwhile}, when a file is not as `before` says;
 * DISK_FULL, DISK_IO, with `details.leftBehind` where taking back failed too
 */
export async function applyChanges(changes: readonly FileChange[]): Promise<void> {
  const begun: FileChange[] = []
  try {
    for (const change of changes) {
      if (isSame(change.before, change.after)) continue
      begun.push(change)
      await apply(change)
    }
  } catch (error) {
    // That one is somebody else's, whatever is in it.
    if (isChangedMeanwhile(error)) begun.pop()
    const leftBehind = begun.map(({ path }) => path)
    try {
      for (const change of begun.toReversed()) {
        await takeBack(change)
        leftBehind.pop()
      }
    } catch {
      // What comes before one that stays must stay too: what is done is always a beginning of the list.
    }
    throw leftBehind.length === 0 ? error : withRemains(error, leftBehind)
  }
}

async function apply({ path, before, after, mode }: FileChange): Promise<void> {
  if (before !== undefined && !isSame((await readRegular(path, MAX_JSON_BYTES))?.bytes, before))
    throw changedMeanwhile(path)
  if (after === undefined) {
    await files.unlink(path)
    await syncDirectory(dirname(path))
    return
  }
  if (before === undefined) await makeFolder(dirname(path))
  const how = { durable: true, ifAbsent: before === undefined, ...(mode === undefined ? {} : { mode }) }
  const written = await writeFileAtomic(path, after, how)
  if (!written) throw changedMeanwhile(path)
}

/** Makes a folder and those above it, and flushes the names of those that are new. */
export async function makeFolder(path: string): Promise<void> {
  const first = await files.mkdir(path)
  if (first === undefined) return
  for (let made = path; ; made = dirname(made)) {
    await syncDirectory(dirname(made))
    if (made === first || made === dirname(made)) return
  }
}

/** A step that failed may have been done all the same (its last flush failed), so each looks at what is there. */
async function takeBack({ path, before, after, mode }: FileChange): Promise<void> {
  const now = await readRegular(path, MAX_JSON_BYTES)
  if (!isSame(now?.bytes, after)) return
  if (before === undefined) await files.unlink(path)
  else await writeFileAtomic(path, before, { durable: true, ...(mode === undefined ? {} : { mode }) })
}

export function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0
}

function changedMeanwhile(path: string): LociError {
  const message = `${JSON.stringify(path)} has just been changed by somebody else; try again`
  return new LociError('MEMORY_CONFLICT', message, { details: { path } })
}

/** Whether it is a file that somebody changed between the look and the write, so that looking again may help. */
export function isChangedMeanwhile(error: unknown): boolean {
  return (
    isLociError(error, 'MEMORY_CONFLICT') && error.details?.['path'] !== undefined && !isLeftBehind(error)
  )
}

/** Whether some of the changes were made and could not be taken back. */
export function isLeftBehind(error: unknown): boolean {
  return isLociError(error) && error.details?.['leftBehind'] !== undefined
}

function withRemains(error: unknown, leftBehind: string[]): unknown {
  if (!isLociError(error)) return error
  const names = leftBehind.map((path) => JSON.stringify(path)).join(', ')
  return new LociError(
    error.code,
    `${error.message}. The change of ${names} could not be taken back: the next change, or repair, finishes it`,
    {
      details: { ...error.details, leftBehind },
      cause: error,
    },
  )
}
