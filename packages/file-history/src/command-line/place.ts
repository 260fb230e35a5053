import { basename, dirname, join, resolve } from 'node:path'
import { fileErrno, files, isLociError, LociError, orAbsent, writeFileAtomic } from '@loci/disk'
import { BACKUP_NAME } from '../backup.ts'
import { openFileHistory } from '../file-history.ts'
import type { FileHistory, FileHistoryOptions } from '../file-history.ts'
import { defaultLedgerPath } from '../ledger.ts'
import { findWorkTree } from '../work-tree.ts'
import { UsageError } from './arguments.ts'
import type { CommandContext } from './command-context.ts'
import { oneLine } from './visible.ts'

/** Where a history is and which files it is about. */
export interface Place {
  dir: string
  root: string
  /** Of the work tree that the root is in. */
  gitDir?: string
  /** Whether the folder of the history was named with `--dir`. */
  isGiven: boolean
}

/** A folder of this name is in the work tree: it ignores itself, and holds the history and its lock in one below it. */
const OWN_FOLDER = '.file-history'

/**
 * The files are those of the git work tree around the start, the history is in its git directory, so that neither
 * shows in the other. Without git, or for a root that is another directory, it is `.file-history/` in the root. No git
 * is run.
 *
 * @throws {UsageError} when the root is no directory
 */
export async function findPlace(context: Pick<CommandContext, 'startDir' | 'options'>): Promise<Place> {
  const { startDir, options } = context
  const given = options.root === undefined ? undefined : resolve(startDir, options.root)
  if (given !== undefined && (await orAbsent(files.stat(given)))?.isDirectory() !== true)
    throw new UsageError(`--root ${JSON.stringify(options.root)} is no directory`)
  const start = given ?? startDir
  const tree = await findWorkTree(start)
  // The history knows every path by its real name.
  const root = await files.realpath(given ?? tree?.root ?? startDir)
  const git = tree?.gitDir === undefined ? {} : { gitDir: tree.gitDir }
  if (options.dir !== undefined)
    return { dir: historyIn(resolve(startDir, options.dir)), root, ...git, isGiven: true }
  // Names are recorded from the root: two roots must not share a history.
  const isTop = tree !== undefined && (await files.realpath(tree.root)) === root
  const dir =
    isTop && tree.gitDir !== undefined ? join(tree.gitDir, 'file-history') : historyIn(join(root, OWN_FOLDER))
  return { dir, root, ...git, isGiven: false }
}

function historyIn(folder: string): string {
  return basename(folder) === OWN_FOLDER ? join(folder, 'history') : folder
}

/**
 * Makes room for a history that need not exist yet.
 *
 * @throws {LociError} PATH_INVALID where `--dir` names what is no history, or not one of ours
 */
export async function preparePlace(place: Place): Promise<void> {
  const found = await lookInto(place.dir)
  const isOurs = found === 'history' || found === 'nothing' || (found === 'no ledger' && !place.isGiven)
  if (!isOurs) throw new LociError('PATH_INVALID', await whatIsThere(place, found))
  const folder = dirname(place.dir)
  if (basename(folder) !== OWN_FOLDER) return
  await files.mkdir(folder)
  await writeFileAtomic(join(folder, '.gitignore'), '*\n', { ifAbsent: true })
}

/** What a folder holds; `no ledger`: backups of a history, and nothing that says whose they are. */
type Found = 'history' | 'nothing' | 'no ledger' | 'other files' | 'a file'

/** What a history may hold that has no snapshot yet. */
const BEGUN = /^(?:\..*\.tmp|stat\.json|base|undo)$/

async function lookInto(dir: string): Promise<Found> {
  try {
    const names = ((await orAbsent(files.readdir(dir))) ?? []).map(({ name }) => name)
    if (names.includes(basename(defaultLedgerPath(dir)))) return 'history'
    if (names.some((name) => BACKUP_NAME.test(name) || name === 'edits.jsonl')) return 'no ledger'
    return names.every((name) => BEGUN.test(name)) ? 'nothing' : 'other files'
  } catch (error) {
    if (fileErrno(error) === 'ENOTDIR') return 'a file'
    throw error
  }
}

async function whatIsThere(place: Place, found: Exclude<Found, 'history'>): Promise<string> {
  const dir = JSON.stringify(place.dir)
  if (found === 'nothing') return `There is no file history in ${dir}; ${await advice(place)}`
  if (found === 'a file') return `${dir} is a file; --dir takes the folder of a history`
  if (found === 'other files') {
    return `${dir} is no file history: it holds other files; --dir takes the folder of a history, or a new one`
  }
  return place.isGiven
    ? `${dir} has no snapshots.jsonl: they are lost, or in the transcript of a session, whose program can rewind; --dir takes another folder`
    : `${dir} has no snapshots.jsonl: they are lost; file-history run -- COMMAND begins anew`
}

/** @throws {LociError} SNAPSHOT_NOT_FOUND when there is no history */
export async function requireHistory(place: Place): Promise<void> {
  const found = await lookInto(place.dir)
  if (found === 'history') return
  const message = await whatIsThere(place, found)
  throw new LociError('SNAPSHOT_NOT_FOUND', message, { details: { dir: place.dir } })
}

/**
 * Whether there is a history: for what has an answer without one too. That a folder that somebody named has none is a
 * slip of the pen, and no answer; nor is a history that cannot be read.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND then
 */
export async function findHistory(place: Place): Promise<boolean> {
  if (!place.isGiven && (await lookInto(place.dir)) === 'nothing') return false
  await requireHistory(place)
  return true
}

/** What to say where a folder that nobody named has no history yet. */
export async function noHistory(place: Place): Promise<string> {
  return oneLine(`there is no history yet in ${place.dir}; ${await advice(place)}`)
}

/** How to get at a history: in a directory above the root there may be one. */
async function advice(place: Place): Promise<string> {
  if (place.isGiven) return 'run or snapshot with that --dir make one'
  for (let below = place.root, above = dirname(below); above !== below; above = dirname(below)) {
    const { dir } = await findPlace({ startDir: above, options: { root: above } })
    if (await isHistory(dir)) return `--root ${JSON.stringify(above)} has one`
    below = above
  }
  return 'file-history run -- COMMAND makes one'
}

/** Whether a folder is a history, as far as it can be seen: above the root there may be directories that are closed to us. */
export async function isHistory(dir: string): Promise<boolean> {
  try {
    return (await lookInto(dir)) === 'history'
  } catch (error) {
    if (isLociError(error)) return false
    throw error
  }
}

/** Opens a history for `work` and closes it again. @throws {LociError} as `openFileHistory`, and what `work` throws */
export async function withHistory<T>(
  place: Place,
  mode: 'read' | 'write',
  work: (history: FileHistory) => Promise<T>,
  limits: Pick<FileHistoryOptions, 'maxFiles' | 'maxBytes'> = {},
): Promise<T> {
  const history = await openFileHistory({ dir: place.dir, root: place.root, ...limits, mode })
  try {
    return await work(history)
  } finally {
    await history.close()
  }
}

/** What the id of a snapshot made by `run` begins with. */
export const RUN_PREFIX = 'run-'

/**
 * The id given, or that of the last run.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND when there was no run
 */
export function snapshotOrLastRun(history: FileHistory, id: string | undefined): string {
  if (id !== undefined) return id
  const last = history.snapshots().findLast(({ messageId }) => messageId.startsWith(RUN_PREFIX))
  if (last !== undefined) return last.messageId
  throw new LociError('SNAPSHOT_NOT_FOUND', 'There was no run yet in this history; give the id of a snapshot')
}
