import { basename, dirname, join } from 'node:path'
import { LociError } from '@loci/disk'
import { backupNameProblem, readBackup } from './backup.ts'
import type { BackupContent } from './backup.ts'
import type { FileState } from './compare.ts'
import { isSameState } from './compare.ts'
import type { EditLog } from './edits.ts'
import type { QuickLook } from './quick-look.ts'
import type { Move } from './renames.ts'
import { targetBackup } from './snapshot.ts'
import type { FileHistoryState } from './snapshot.ts'
import { directoryOf } from './standing.ts'
import { pathOfKey } from './track-path.ts'

/** What is known at one moment: plans and diffs are made from it. */
export interface HistoryView {
  dir: string
  root: string
  state: FileHistoryState
  log: EditLog
  /** Whether some of the ledger could not be read. */
  isLedgerDamaged: boolean
  /** What the tracked files were seen to be at that moment. */
  quick: QuickLook
}

/** The moves that the history knows of, by absolute paths. */
export function movedPaths({ root, log }: HistoryView): Move[] {
  const pathOf = (key: string): string => pathOfKey(root, key).path
  return log.moves.map(({ from, to }) => ({ from: pathOf(from), to: pathOf(to) }))
}

/**
 * The index of the last snapshot with this id.
 *
 * @throws {LociError} SNAPSHOT_EVICTED, SNAPSHOT_NOT_FOUND
 */
export function findSnapshot(state: FileHistoryState, messageId: string): number {
  if (typeof messageId !== 'string') throw new TypeError('messageId must be a string')
  const index = state.snapshots.findLastIndex((snapshot) => snapshot.messageId === messageId)
  if (index >= 0) return index
  const details = { messageId }
  if (state.evictedIds.has(messageId)) {
    const message = `The snapshot ${messageId} was dropped to make room; list the snapshots that are left`
    throw new LociError('SNAPSHOT_EVICTED', message, { details })
  }
  const message = `There is no snapshot ${messageId}; list the snapshots for the ids there are`
  throw new LociError('SNAPSHOT_NOT_FOUND', message, { details })
}

/**
 * What `key` held at the snapshot with this index, read and checked. Not read if it was made with the state `standing`,
 * in which the file is now: then nobody needs the bytes.
 */
export async function contentAt(
  view: HistoryView,
  index: number,
  key: string,
  standing?: FileState,
): Promise<BackupContent> {
  const { dir, root, state, log, quick } = view
  const { path, problem } = pathOfKey(root, key)
  if (problem !== undefined) return { problem }
  const backup = targetBackup(state, index, key, ({ backupFileName }) => log.isFirst(backupFileName))
  if ('problem' in backup) return backup
  const { backupFileName: name } = backup
  const noted = log.noted(name)
  if (standing !== undefined && name !== null && noted && isSameState(noted, standing)) {
    const isThere = backupNameProblem(backup, path) === undefined && quick.holdsBackup(name)
    if (isThere) return { state: noted, source: name }
  }
  return readBackup(dir, backup, path, noted)
}

/**
 * Where the file of `key` is looked at and written: in the directory where it was when it was recorded, never through
 * a link that came since.
 *
 * @param directory the real path of its directory, if that is known
 * @throws {LociError} PATH_INVALID when a parent is a link in a circle; DISK_IO
 */
export async function findPlace(
  view: HistoryView,
  index: number,
  key: string,
  directory?: string,
): Promise<{ realPath: string } | { problem: string }> {
  const { root, state, log } = view
  const { path } = pathOfKey(root, key)
  const backup = targetBackup(state, index, key, ({ backupFileName }) => log.isFirst(backupFileName))
  const expected = ('problem' in backup ? undefined : backup.realParentDir) ?? dirname(path)
  const actual = directory ?? (await directoryOf(dirname(path)))
  if (actual === expected) return { realPath: join(actual, basename(path)) }
  return {
    problem: `its directory was ${expected} and is ${actual} now: it was moved, or is reached through a link`,
  }
}
