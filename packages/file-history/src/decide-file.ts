import type { BackupContent } from './backup.ts'
import { isSameState } from './compare.ts'
import type { FileState, Look } from './compare.ts'

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

/** What a rewind would do with a file. */
export type Decision =
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
