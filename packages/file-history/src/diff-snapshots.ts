import { join } from 'node:path'
import { fileErrno, files, isLociError, LociError } from '@loci/disk'
import { lookAt } from './compare.ts'
import type { FileChange } from './describe-change.ts'
import { inParallel } from './in-parallel.ts'
import { contentAt, findPlace, findSnapshot, movedPaths } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import { loadChange } from './load-change.ts'
import type { Located } from './load-change.ts'
import { byPath } from './plan-rewind.ts'
import { nameRenames } from './renames.ts'
import { pathOfKey, resolveTrackedPath } from './track-path.ts'

/**
 * The changes of all tracked files from one snapshot to another, or to the disk. Sorted by path.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND, SNAPSHOT_EVICTED, BACKUP_MISSING
 */
export async function diffSnapshots(
  view: HistoryView,
  fromId: string,
  toId: string | undefined,
  patch: boolean,
): Promise<FileChange[]> {
  const { root, state } = view
  const from = findSnapshot(state, fromId)
  const to = toId === undefined ? undefined : findSnapshot(state, toId)
  const changes = await inParallel([...state.trackedFiles], async (key) => {
    const { path } = pathOfKey(root, key)
    const before = await locateAt(view, from, key)
    const after = to === undefined ? await locateNow(view, from, key) : await locateAt(view, to, key)
    return loadChange({ path, name: key, before, after, patch })
  })
  const found = changes.filter((change) => change !== undefined)
  return nameRenames(found, movedPaths(view)).toSorted(byPath)
}

async function locateAt(view: HistoryView, index: number, key: string): Promise<Located> {
  const content = await contentAt(view, index, key)
  if ('problem' in content) throw backupMissing(pathOfKey(view.root, key).path, content.problem)
  return content.state && content.source !== null
    ? { state: content.state, file: join(view.dir, content.source) }
    : null
}

/** Where a link, a directory or something else has taken its place, the file is gone. */
async function locateNow(view: HistoryView, index: number, key: string): Promise<Located> {
  try {
    const place = await findPlace(view, index, key)
    if ('problem' in place) return null
    const look = await lookAt(place.realPath)
    return look.kind === 'file' ? { state: look.state, file: place.realPath } : null
  } catch (error) {
    // A parent is a file now.
    if (isLociError(error, 'PATH_INVALID') || fileErrno(error) === 'ENOTDIR') return null
    throw error
  }
}

/** The bytes that a tracked file had at the snapshot with this index; `null`: it did not exist. */
export async function readFileAt(view: HistoryView, index: number, path: string): Promise<Uint8Array | null> {
  const { root, state } = view
  const target = await resolveTrackedPath(root, path)
  if (!state.trackedFiles.has(target.key)) throw backupMissing(target.path, 'it is not tracked')
  const located = await locateAt(view, index, target.key)
  return located && files.readFile(located.file)
}

function backupMissing(path: string, problem: string): LociError {
  return new LociError(
    'BACKUP_MISSING',
    `The state of ${JSON.stringify(path)} then is not there: ${problem}`,
    {
      details: { path },
    },
  )
}
