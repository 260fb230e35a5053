import { basename, dirname, join, resolve } from 'node:path'
import { isLociError } from '@loci/disk'
import { findSnapshot, movedPaths } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import type { FileState } from './compare.ts'
import { decideFile } from './decide-file.ts'
import type { Decision, FileFacts } from './decide-file.ts'
import type { FileChange } from './describe-change.ts'
import { gatherFacts } from './gather-facts.ts'
import { inParallel } from './in-parallel.ts'
import { loadChange } from './load-change.ts'
import { nameRenames } from './renames.ts'
import { BLOCKED, directoryOf, findBlocker } from './standing.ts'
import { isInside, pathOfKey, resolveTrackedPath } from './track-path.ts'
import { unrecordedFiles } from './unrecorded.ts'

/** A file and why it is named. */
export interface NamedFile {
  /** Absolute. */
  path: string
  /** A sentence's end, for people. */
  reason: string
}

/** What a rewind would do, fit to be printed, or handed to `rewind`. */
export interface RewindPlan {
  messageId: string
  /** Sorted by path. Conflicts are among them: what would be done to them if told to overwrite. */
  changes: FileChange[]
  /** Files that somebody else changed after the agent. */
  conflicts: NamedFile[]
  /** Tracked files that cannot be brought back. */
  skipped: NamedFile[]
  /** What the plan was restricted to. Absent: all tracked files. */
  paths?: string[]
}

/** What a rewind did. Every tracked file (or every one asked for) is named once. Paths are absolute and sorted. */
export interface RewindResult {
  messageId: string
  /** Written: bytes, mode or both. */
  restored: string[]
  deleted: string[]
  /** Were as they should be. */
  unchanged: string[]
  /** Left alone: cannot be brought back, or writing failed. A second rewind tries again. */
  skipped: NamedFile[]
  /** Left alone: changed by somebody else. */
  conflicts: NamedFile[]
  /** Whether it changed anything, and `undoRewind` brings that back. */
  undoable: boolean
}

/** A file to be written: from which state to which. */
export interface FileWrite {
  key: string
  path: string
  realPath: string
  before: FileState | null
  after: FileState | null
  /** File inside the backup folder with the bytes of `after`. */
  source: string | null
}

/** A file that a rewind would write. */
export interface PlannedFile extends FileWrite {
  conflict?: string
}

/** What a rewind would do, file by file. Lists are sorted by path. */
export interface PlannedRewind {
  messageId: string
  paths: readonly string[] | undefined
  files: PlannedFile[]
  unchanged: string[]
  skipped: NamedFile[]
}

/** Compares the tracked files with the snapshot. Reads only. `paths`: files, or directories with all below them. */
export async function planFiles(
  view: HistoryView,
  messageId: string,
  paths: readonly string[] | undefined,
): Promise<PlannedRewind> {
  const { state, root } = view
  const index = findSnapshot(state, messageId)
  const wanted = paths && (await inParallel(paths, (path) => resolveWanted(root, path)))
  const isWanted = (path: string): boolean => wanted?.some((folder) => isInside(folder, path)) ?? true
  const keys = [...state.trackedFiles].filter((key) => !wanted || isWanted(pathOfKey(root, key).path))
  const { facts, unchanged } = await gatherFacts(view, index, keys.toSorted())
  const skipped = unrecordedFiles(view, index, isWanted)
  for (const path of wanted ?? []) {
    const isNamed =
      unchanged.some((one) => isInside(path, one)) ||
      [...facts, ...skipped].some((one) => isInside(path, one.path))
    if (!isNamed) skipped.push({ path, reason: 'it is not tracked' })
  }
  const files: PlannedFile[] = []
  const decided = facts.map((fact) => ({ fact, decision: decideFile(fact) }))
  const going = new Set<string>()
  for (const { fact, decision } of decided) {
    if (decision.kind === 'change' && decision.after === null) going.add(fact.realPath)
  }
  for (const { fact, decision } of decided) {
    const { path } = fact
    if (isBlocked(fact, decision, going)) skipped.push({ path, reason: BLOCKED })
    else if (decision.kind === 'unchanged') unchanged.push(path)
    else if (decision.kind === 'skip') skipped.push({ path, reason: decision.reason })
    else files.push(plannedFile(fact, decision))
  }
  return {
    messageId,
    paths,
    files: files.toSorted(byPath),
    unchanged: unchanged.toSorted(),
    skipped: skipped.toSorted(byPath),
  }
}

/** The plan for those who ask for it: how much would change in each file takes reading both sides of all that differ. */
export async function describePlan(view: HistoryView, planned: PlannedRewind): Promise<RewindPlan> {
  const { messageId, paths, files, skipped } = planned
  const changes: FileChange[] = []
  for (const { key, path, realPath, before, after, source } of files) {
    const change = await loadChange({
      path,
      name: key,
      before: before && { state: before, file: realPath },
      after: after && source !== null ? { state: after, file: join(view.dir, source) } : null,
      patch: false,
    })
    if (change === undefined) throw new TypeError('a planned change changes nothing')
    changes.push(change)
  }
  return {
    messageId,
    changes: nameRenames(changes, movedPaths(view)).toSorted(byPath),
    conflicts: conflictsOf(files),
    skipped: [...skipped],
    ...(paths ? { paths: [...paths] } : {}),
  }
}

/** The files that somebody else changed after the agent. */
export function conflictsOf(files: readonly PlannedFile[]): NamedFile[] {
  return files.flatMap(({ path, conflict }) => (conflict === undefined ? [] : [{ path, reason: conflict }]))
}

/** Whether something that stays stands in the place of a directory above a file that is to be made. */
function isBlocked({ realPath }: FileFacts, decision: Decision, going: ReadonlySet<string>): boolean {
  if (decision.kind !== 'change' || decision.before !== null) return false
  const blocker = findBlocker(realPath)
  return blocker !== undefined && !going.has(blocker)
}

/** Order of everything that lists files. */
export function byPath(a: { path: string }, b: { path: string }): number {
  if (a.path === b.path) return 0
  return a.path < b.path ? -1 : 1
}

/** The one name of what is asked for, also below a file that stands where a directory was. */
async function resolveWanted(root: string, path: string): Promise<string> {
  if (path === '.' || path === root) return root
  try {
    return (await resolveTrackedPath(root, path)).path
  } catch (error) {
    if (!isLociError(error, 'PATH_INVALID') || path.includes('\0')) throw error
    const whole = resolve(root, path)
    if (findBlocker(whole) === undefined) throw error
    return join(await directoryOf(dirname(whole)), basename(whole))
  }
}

function plannedFile(
  { key, path, realPath, target }: FileFacts,
  { before, after, conflict }: Extract<Decision, { kind: 'change' }>,
): PlannedFile {
  const source = 'problem' in target ? null : target.source
  return { key, path, realPath, before, after, source, ...(conflict === undefined ? {} : { conflict }) }
}
