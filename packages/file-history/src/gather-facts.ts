import { dirname } from 'node:path'
import { errorMessage } from '@loci/disk'
import { backupNameProblem, readBackup } from './backup.ts'
import type { BackupContent } from './backup.ts'
import { lookAt, lookOf, modeOf } from './compare.ts'
import type { Look } from './compare.ts'
import { contentAt, findPlace } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import type { FileFacts } from './decide-file.ts'
import { inParallel } from './in-parallel.ts'
import type { Unchanged } from './quick-look.ts'
import { backupOf } from './snapshot.ts'
import { isInside, ownFolder, pathOfKey } from './track-path.ts'

/** A tracked file, with what is known of it without reading. */
interface Candidate {
  key: string
  path: string
  /** Its newest backup, if it is proven to be as that one. */
  seen: Unchanged | undefined
}

/**
 * Looks at the files of these keys, and at the snapshot with this index. Most files stand as the snapshot has them,
 * which their stats prove: of these there is only the path, in `unchanged`. The others are read.
 */
export async function gatherFacts(
  view: HistoryView,
  index: number,
  keys: readonly string[],
): Promise<{ facts: FileFacts[]; unchanged: string[] }> {
  const own = ownFolder(view.dir, view.root)
  const unchanged: string[] = []
  const known: FileFacts[] = []
  const unproven: Candidate[] = []
  for (const key of keys) {
    const { path, problem } = pathOfKey(view.root, key)
    const isOwn = isInside(own, path)
    const seen = await view.quick.inTime(key)
    if (problem !== undefined) known.push({ ...unseen(key, path), problem })
    else if (isOwn) known.push({ ...unseen(key, path), problem: OWN })
    else if (seen && isTarget(view, index, { key, path, seen })) unchanged.push(path)
    else unproven.push({ key, path, seen })
  }
  const read = await inParallel(unproven, (candidate) => readFacts(view, index, candidate))
  return { facts: [...known, ...read], unchanged }
}

const OWN = 'it belongs to the file history itself, or to the config home around it'
const ABSENT: Look = { kind: 'absent' }
const NOTHING: BackupContent = { state: null, source: null }

function unseen(key: string, path: string): FileFacts {
  return { key, path, realPath: path, target: NOTHING, disk: ABSENT, left: 'unknown' }
}

async function readFacts(
  view: HistoryView,
  index: number,
  { key, path, seen }: Candidate,
): Promise<FileFacts> {
  const standing = seen && knownLook(view, seen)
  const state = standing?.kind === 'file' ? standing.state : undefined
  const facts = { ...unseen(key, path), target: await contentAt(view, index, key, state) }
  // One file that cannot be read must not hide the others: it is named.
  try {
    const place = await findPlace(view, index, key, standing && seen?.directory)
    if ('problem' in place) return { ...facts, ...place }
    const { realPath } = place
    const disk = standing ?? (await lookAt(realPath))
    return { ...facts, realPath, disk, left: await readLeft(view, key, path) }
  } catch (error) {
    return { ...facts, problem: errorMessage(error) }
  }
}

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
  { key, path, seen }: { key: string; path: string; seen: Unchanged },
): boolean {
  const { backupFileName, realParentDir } = seen.backup
  const noted = log.noted(backupFileName)
  const backup = backupOf(snapshots[index], key)
  return (
    noted !== undefined &&
    noted.mode === (seen.stats && modeOf(seen.stats)) &&
    backup?.backupFileName === backupFileName &&
    backup.realParentDir === realParentDir &&
    seen.directory === (realParentDir ?? dirname(path)) &&
    backupNameProblem(backup, path) === undefined
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
