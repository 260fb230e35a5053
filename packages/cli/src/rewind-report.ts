import type { FileChange, RewindPlan, RewindResult } from '@loci/file-history'

/** What a rewind would do, a line each. Pure. */
export function planLines({ changes, conflicts, skipped }: RewindPlan): string[] {
  const all = [
    ...changes.map(changeLine),
    ...reasonLines('conflict', conflicts),
    ...reasonLines('skipped', skipped),
  ]
  return all.length === 0 ? ['nothing would change'] : all
}

/** What a rewind, or the undo of one, has done, a line each. Pure. */
export function rewindLines({ restored, deleted, conflicts, skipped }: RewindResult): string[] {
  const all = [
    ...restored.map((path) => `restored ${path}`),
    ...deleted.map((path) => `deleted ${path}`),
    ...reasonLines('conflict', conflicts),
    ...reasonLines('skipped', skipped),
  ]
  return all.length === 0 ? ['nothing to change'] : all
}

/** Whether something in it waits for a person. */
export function needsDecision({ conflicts, skipped }: Pick<RewindPlan, 'conflicts' | 'skipped'>): boolean {
  return conflicts.length + skipped.length > 0
}

export function changeLine(change: FileChange): string {
  const count = change.binary ? 'binary' : `+${change.insertions} -${change.deletions}`
  return `${change.kind}  ${change.path}  ${count}`
}

/** After an entry that no prompt followed the files are as they are. */
export function nothingToRewind(messageId: string): RewindResult {
  return { messageId, restored: [], deleted: [], unchanged: [], skipped: [], conflicts: [], undoable: false }
}

function reasonLines(word: string, all: readonly { path: string; reason: string }[]): string[] {
  return all.map(({ path, reason }) => `${word} ${path}: ${reason}`)
}
