import { basename, dirname, join, resolve } from 'node:path'
import { fileErrno, files, LociError, orAbsent, writeFileAtomic } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { openFileHistory } from '../file-history.ts'
import type { FileHistory, FileHistoryOptions } from '../file-history.ts'
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

interface WorkTree {
  root: string
  /** Absent where `.git` names a directory that is not there, such as a worktree mounted without its repository. */
  gitDir?: string
}

/** The nearest directory upwards with a `.git`: a directory, or a file that names one (a worktree, a submodule). */
async function findWorkTree(start: string): Promise<WorkTree | undefined> {
  for (let root = start; ; root = dirname(root)) {
    const path = join(root, '.git')
    const stats = await look(path)
    if (stats?.isFile() === true) {
      const named = /^gitdir: (.+?)\r?\n*$/.exec((await files.readFile(path)).toString('utf8'))?.[1]
      const gitDir = named === undefined ? undefined : resolve(root, named)
      return gitDir !== undefined && (await isGitDirectory(gitDir)) ? { root, gitDir } : { root }
    }
    if (stats?.isDirectory() === true && (await isGitDirectory(path))) return { root, gitDir: path }
    if (root === dirname(root)) return undefined
  }
}

async function isGitDirectory(path: string): Promise<boolean> {
  return (await look(join(path, 'HEAD'))) !== undefined
}

/** What is there, as far as it can be seen: above the start there may be directories that are closed to us. */
async function look(path: string): Promise<FileStats | undefined> {
  try {
    return await orAbsent(files.stat(path))
  } catch (error) {
    if (fileErrno(error) === 'EACCES' || fileErrno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** Makes room for a history that need not exist yet. */
export async function preparePlace({ dir }: Place): Promise<void> {
  const folder = dirname(dir)
  if (basename(folder) !== OWN_FOLDER) return
  await files.mkdir(folder)
  await writeFileAtomic(join(folder, '.gitignore'), '*\n', { ifAbsent: true })
}

/** Whether there is a history. */
async function hasHistory({ dir }: Pick<Place, 'dir'>): Promise<boolean> {
  return (await orAbsent(files.stat(dir))) !== undefined
}

/** @throws {LociError} SNAPSHOT_NOT_FOUND when there is no history */
export async function requireHistory(place: Place): Promise<void> {
  if (await hasHistory(place)) return
  const message = `There is no file history in ${JSON.stringify(place.dir)}; ${await advice(place)}`
  throw new LociError('SNAPSHOT_NOT_FOUND', message, { details: { dir: place.dir } })
}

/**
 * Whether there is a history: for what has an answer without one too. That a folder that somebody named is not there is
 * a slip of the pen, and no answer.
 *
 * @throws {LociError} SNAPSHOT_NOT_FOUND when there is none where `--dir` says
 */
export async function findHistory(place: Place): Promise<boolean> {
  if (place.isGiven) await requireHistory(place)
  return hasHistory(place)
}

/** What to say where a folder that nobody named has no history yet. */
export async function noHistory(place: Place): Promise<string> {
  return oneLine(`there is no history yet in ${place.dir}; ${await advice(place)}`)
}

/** How to get at a history: in a directory above the root there may be one. */
async function advice(place: Place): Promise<string> {
  for (let below = place.root, above = dirname(below); above !== below; above = dirname(below)) {
    const { dir } = await findPlace({ startDir: above, options: { root: above } })
    if (!place.isGiven && (await hasHistory({ dir }))) return `--root ${JSON.stringify(above)} has one`
    below = above
  }
  return 'file-history run -- COMMAND makes one'
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
