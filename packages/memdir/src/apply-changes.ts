import { dirname } from 'node:path'
import { files, isLociError, LociError, writeFileAtomic } from '@loci/disk'
import { readRegular } from './read-regular.ts'

/** A file as it is and as it shall be; `undefined`: not there. */
export interface FileChange {
  path: string
  before: Uint8Array | undefined
  after: Uint8Array | undefined
}

/**
 * Makes all the changes, in order, or none: if one fails, those made are taken back, unless somebody else
 * changed the file meanwhile, and the error is passed on. Each change by itself is atomic and on the disk when
 * the next begins, so that after a crash, or where taking back fails, a beginning of the list is done.
 *
 * @throws {LociError} MEMORY_CONFLICT when a file that shall be new is there; DISK_FULL, DISK_IO, with
 * `details.leftBehind` where taking back failed too
 */
export async function applyChanges(changes: readonly FileChange[]): Promise<void> {
  const begun: FileChange[] = []
  try {
    for (const change of changes) {
      if (same(change.before, change.after)) continue
      begun.push(change)
      await apply(change)
    }
  } catch (error) {
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

async function apply({ path, before, after }: FileChange): Promise<void> {
  if (after === undefined) {
    await files.unlink(path)
    return
  }
  if (before === undefined) await files.mkdir(dirname(path))
  const written = await writeFileAtomic(path, after, { durable: true, ifAbsent: before === undefined })
  if (written) return
  throw new LociError(
    'MEMORY_CONFLICT',
    `${JSON.stringify(path)} has just been made by somebody else; try again`,
    {
      details: { path },
    },
  )
}

/** A step that failed may have been done all the same (its last flush failed), so each looks at what is there. */
async function takeBack({ path, before, after }: FileChange): Promise<void> {
  const now = await readRegular(path)
  if (!same(now?.bytes, after)) return
  if (before === undefined) await files.unlink(path)
  else await writeFileAtomic(path, before, { durable: true })
}

function same(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0
}

function withRemains(error: unknown, leftBehind: string[]): unknown {
  if (!isLociError(error)) return error
  const names = leftBehind.map((path) => JSON.stringify(path)).join(', ')
  return new LociError(
    error.code,
    `${error.message}. The change of ${names} could not be taken back: run repair`,
    {
      details: { ...error.details, leftBehind },
      cause: error,
    },
  )
}
