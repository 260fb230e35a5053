import { dirname, join } from 'node:path'
import { files } from '@loci/disk'
import { backupNameProblem, readBackup } from './backup.ts'
import type { BackupContent } from './backup.ts'
import { isSameState, lookAt, lookOf, modeOf } from './compare.ts'
import type { FileState, Look } from './compare.ts'
import { describeChange, MAX_TEXT_BYTES } from './describe-change.ts'
import type { FileChange, Side } from './describe-change.ts'
import { contentAt, findPlace, findSnapshot } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import type { Anchor } from './edit-record.ts'
import { inParallel } from './in-parallel.ts'
import type { Unchanged } from './quick-look.ts'
import { readSmall, SMALL_BYTES } from './read-small.ts'
import { nameRenames } from './renames.ts'
import type { Move } from './renames.ts'
import { backupOf, identityOf } from './snapshot.ts'
import { BLOCKED, findBlocker } from './standing.ts'
import { isInside, ownFolder, pathOfKey, resolveTrackedPath } from './track-path.ts'

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

/** A tracked file, as found. */
export interface FileFacts {
  key: string
  path: string
  /** By the real path of the directory: what would be written. */
  realPath: string
  /** Why the file must not be looked at or written. */
  problem?: string
  target: BackupContent
  disk: Look
  /** `unreadable`: the newest snapshot holds it, in a backup that is lost. */
  left: FileState | null | 'unknown' | 'unreadable'
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
  change: FileChange
  conflict?: string
}

/** A plan with what its execution needs. */
export interface DetailedPlan {
  plan: RewindPlan
  files: PlannedFile[]
  unchanged: string[]
}

type Decision =
  | { kind: 'unchanged' }
  | { kind: 'skip'; reason: string }
  | { kind: 'change'; before: FileState | null; after: FileState | null; conflict?: string }

/** What to do with one file. Pure. */
export function decideFile({ problem, target, disk, left }: Omit<FileFacts, 'key' | 'path'>): Decision {
  if (problem !== undefined) return { kind: 'skip', reason: problem }
  if (disk.kind === 'link') return { kind: 'skip', reason: 'a symbolic link is in its place now' }
  if (disk.kind === 'special')
    return { kind: 'skip', reason: 'something that is no file is in its place now' }
  if (disk.kind === 'directory') {
    const isAbsent = 'state' in target && target.state === null
    return isAbsent ? { kind: 'unchanged' } : { kind: 'skip', reason: 'a directory is in its place now' }
  }
  if ('problem' in target) return { kind: 'skip', reason: target.problem }
  const before = disk.kind === 'file' ? disk.state : null
  const after = target.state
  if (isSameState(before, after)) return { kind: 'unchanged' }
  if (left === 'unknown' || (left !== 'unreadable' && isSameState(before, left)))
    return { kind: 'change', before, after }
  if (left === 'unreadable') {
    return { kind: 'change', before, after, conflict: 'nobody can tell whether it is as the agent left it' }
  }
  return { kind: 'change', before, after, conflict: conflictReason(before, left) }
}

function conflictReason(before: FileState | null, left: FileState | null): string {
  if (before === null) return 'it was deleted after the agent left it'
  if (left === null) return 'it was made after the agent left it absent'
  return before.sha256 === left.sha256
    ? 'its permissions were changed after the agent left it'
    : 'it was changed after the agent left it'
}

/** Compares the tracked files with the snapshot. Reads only. `paths`: files, or directories with all below them. */
export async function makePlan(
  view: HistoryView,
  messageId: string,
  paths: readonly string[] | undefined,
): Promise<DetailedPlan> {
  const { state, root } = view
  const index = findSnapshot(state, messageId)
  const wanted = paths && (await resolveWanted(root, paths))
  const keys = [...state.trackedFiles].filter((key) => !wanted || isWanted(pathOfKey(root, key).path, wanted))
  const facts = await inParallel(keys.toSorted(), (key) => gatherFacts(view, index, key))
  const detailed: DetailedPlan = {
    plan: { messageId, changes: [], conflicts: [], skipped: [], ...(paths ? { paths: [...paths] } : {}) },
    files: [],
    unchanged: [],
  }
  const { plan } = detailed
  const lost = view.log
    .lostKeys(state, view.isLedgerDamaged)
    .map((key) => pathOfKey(root, key).path)
    .filter((path) => !wanted || isWanted(path, wanted))
  const reason = 'its record is lost: no snapshot that can be read holds it'
  plan.skipped.push(...lost.map((path) => ({ path, reason })))
  plan.skipped.push(...cutOffCommands(view, index), ...uncoveredFiles(view, index, wanted))
  for (const path of wanted ?? []) {
    const isNamed = [...facts.map((fact) => fact.path), ...lost].some((named) => isInside(path, named))
    if (!isNamed) plan.skipped.push({ path, reason: 'it is not tracked' })
  }
  const decided = facts.map((fact) => ({ fact, decision: decideFile(fact) }))
  const going = new Set<string>()
  for (const { fact, decision } of decided) {
    if (decision.kind === 'change' && decision.after === null) going.add(fact.realPath)
  }
  for (const { fact, decision } of decided) {
    if (isBlocked(fact, decision, going)) plan.skipped.push({ path: fact.path, reason: BLOCKED })
    else if (decision.kind === 'unchanged') detailed.unchanged.push(fact.path)
    else if (decision.kind === 'skip') plan.skipped.push({ path: fact.path, reason: decision.reason })
    else {
      const file = await planFile(view, fact, decision)
      detailed.files.push(file)
      plan.changes.push(file.change)
      if (file.conflict !== undefined) plan.conflicts.push({ path: file.path, reason: file.conflict })
    }
  }
  detailed.files.sort(byPath)
  detailed.unchanged.sort()
  plan.changes = nameRenames(plan.changes, movedPaths(view)).toSorted(byPath)
  plan.conflicts.sort(byPath)
  plan.skipped.sort(byPath)
  return detailed
}

/** Whether something that stays stands in the place of a directory above a file that is to be made. */
function isBlocked({ realPath }: FileFacts, decision: Decision, going: ReadonlySet<string>): boolean {
  if (decision.kind !== 'change' || decision.before !== null) return false
  const blocker = findBlocker(realPath)
  return blocker !== undefined && !going.has(blocker)
}

/** The moves that the history knows of, by absolute paths. */
export function movedPaths({ root, log }: HistoryView): Move[] {
  const pathOf = (key: string): string => pathOfKey(root, key).path
  return log.moves.map(({ from, to }) => ({ from: pathOf(from), to: pathOf(to) }))
}

/** The commands since the snapshot of which nobody recorded what they changed; a later snapshot holds what they did. */
function cutOffCommands(view: HistoryView, index: number): NamedFile[] {
  const open = [...view.log.openCommands.values()].filter(({ snapshot }) => isSince(view, index, snapshot))
  return open.map(({ messageId }) => ({
    path: view.root,
    reason: `a command of ${messageId} was cut off, or runs still: what it changed is not recorded; base/ of the history keeps the files as they were before it`,
  }))
}

/** Files that changed since the snapshot, in or after a command that was cut off, and that nothing covers. */
function uncoveredFiles(
  view: HistoryView,
  index: number,
  wanted: readonly string[] | undefined,
): NamedFile[] {
  const { root, state, log } = view
  const found = new Map<string, NamedFile>()
  for (const { command, keys } of log.uncovered) {
    if (!isSince(view, index, command.snapshot)) continue
    const reason = `it changed since a command of ${command.messageId} began that was cut off, and is not covered: what it held before is not known`
    for (const key of keys) {
      const { path } = pathOfKey(root, key)
      if (state.trackedFiles.has(key) || (wanted && !isWanted(path, wanted))) continue
      found.set(key, { path, reason })
    }
  }
  return [...found.values()]
}

/** Whether something was recorded while the snapshot with this index, or a later one, was the newest. */
function isSince({ state }: HistoryView, index: number, anchor: Anchor | undefined): boolean {
  if (anchor === undefined) return true
  if (anchor === null) return false
  return state.snapshots.findLastIndex((one) => identityOf(one) === identityOf(anchor)) >= index
}

/** Order of everything that lists files. */
export function byPath(a: { path: string }, b: { path: string }): number {
  if (a.path === b.path) return 0
  return a.path < b.path ? -1 : 1
}

async function resolveWanted(root: string, paths: readonly string[]): Promise<string[]> {
  return inParallel(paths, async (path) =>
    path === '.' || path === root ? root : (await resolveTrackedPath(root, path)).path,
  )
}

function isWanted(path: string, wanted: readonly string[]): boolean {
  return wanted.some((folder) => isInside(folder, path))
}

async function gatherFacts(view: HistoryView, index: number, key: string): Promise<FileFacts> {
  const { path, problem } = pathOfKey(view.root, key)
  const seen = await view.quick.inTime(key)
  const standing = seen && knownLook(view, seen)
  const state = standing?.kind === 'file' ? standing.state : undefined
  const facts: FileFacts = { key, path, realPath: path, target: NOTHING, disk: ABSENT, left: 'unknown' }
  if (problem !== undefined) return { ...facts, problem, target: { problem } }
  if (isInside(ownFolder(view.dir, view.root), path)) {
    return { ...facts, problem: 'it belongs to the file history itself, or to the config home around it' }
  }
  // Most files: they stand as the snapshot has them, and nobody needs to know who left them so.
  if (seen && state && isTarget(view, index, { key, path, seen, state })) {
    return { ...facts, target: { state, source: seen.backup.backupFileName }, disk: standing ?? ABSENT }
  }
  const target = await contentAt(view, index, key, state)
  // One file that cannot be read must not hide the others: it is named.
  try {
    const place = await findPlace(view, index, key, standing && seen?.directory)
    if ('problem' in place) return { ...facts, target, ...place }
    const { realPath } = place
    const disk = standing ?? (await lookAt(realPath))
    return { ...facts, target, realPath, disk, left: await readLeft(view, key, path) }
  } catch (error) {
    return { ...facts, target, problem: error instanceof Error ? error.message : String(error) }
  }
}

const ABSENT: Look = { kind: 'absent' }
const NOTHING: BackupContent = { state: null, source: null }

/** The file, if it is known without reading: its stats prove that its newest backup has its bytes. */
function knownLook({ log }: HistoryView, { backup, stats }: Unchanged): Look | undefined {
  if (stats === null) return ABSENT
  const noted = log.noted(backup.backupFileName)
  return noted && lookOf(stats, { ...noted, mode: modeOf(stats) })
}

/** Whether the snapshot has the very backup that the file is proven to be as, made with the state it is in. */
function isTarget(
  { state: { snapshots }, log }: HistoryView,
  index: number,
  { key, path, seen, state }: { key: string; path: string; seen: Unchanged; state: FileState },
): boolean {
  const { backupFileName, realParentDir } = seen.backup
  const backup = backupOf(snapshots[index], key)
  return (
    backup?.backupFileName === backupFileName &&
    backup.realParentDir === realParentDir &&
    seen.directory === (realParentDir ?? dirname(path)) &&
    backupNameProblem(backup, path) === undefined &&
    isSameState(log.noted(backupFileName) ?? null, state)
  )
}

async function readLeft(view: HistoryView, key: string, path: string): Promise<FileFacts['left']> {
  const { dir, state, log } = view
  const left = log.leftState(key, state)
  if (left === null || left === 'unknown' || !('backup' in left)) return left
  const { backup } = left
  const noted = log.noted(backup.backupFileName)
  if (noted) return noted
  const content = await readBackup(dir, backup, path, undefined)
  return 'problem' in content ? 'unreadable' : content.state
}

async function planFile(
  view: HistoryView,
  fact: FileFacts,
  decision: Extract<Decision, { kind: 'change' }>,
): Promise<PlannedFile> {
  const { key, path, realPath, target } = fact
  const { before, after, conflict } = decision
  const source = 'problem' in target ? null : target.source
  const change = await loadChange({
    path,
    name: key,
    before: before && { state: before, file: realPath },
    after: after && source !== null ? { state: after, file: join(view.dir, source) } : null,
    patch: false,
  })
  if (change === undefined) throw new TypeError('a planned change changes nothing')
  return {
    key,
    path,
    realPath,
    before,
    after,
    source,
    change,
    ...(conflict === undefined ? {} : { conflict }),
  }
}

/** {@link describeChange} on files. */
export async function loadChange(options: {
  path: string
  name: string
  before: { state: FileState; file: string } | null
  after: { state: FileState; file: string } | null
  patch: boolean
}): Promise<FileChange | undefined> {
  const [before, after] = await Promise.all([loadSide(options.before), loadSide(options.after)])
  return describeChange({ ...options, before, after })
}

async function loadSide(side: { state: FileState; file: string } | null): Promise<Side | null> {
  if (side === null) return null
  const { state, file } = side
  if (state.sizeBytes > MAX_TEXT_BYTES) return { state, bytes: undefined }
  const small = state.sizeBytes <= SMALL_BYTES ? readSmall(file, 'one') : undefined
  return { state, bytes: small ? Buffer.from(small.bytes) : await files.readFile(file) }
}
