import type { HistoryView } from './content-at.ts'
import type { Anchor } from './edit-record.ts'
import type { NamedFile } from './plan-rewind.ts'
import { identityOf } from './snapshot.ts'
import { pathOfKey } from './track-path.ts'

/** What a rewind to the snapshot with this index cannot bring back, since no record says what it was. Pure. */
export function unrecordedFiles(
  view: HistoryView,
  index: number,
  isWanted: (path: string) => boolean,
): NamedFile[] {
  const lost = lostFiles(view).filter(({ path }) => isWanted(path))
  const uncovered = uncoveredFiles(view, index).filter(({ path }) => isWanted(path))
  return [...lost, ...cutOffCommands(view, index), ...uncovered]
}

/** The files that were edited, and that no snapshot that can be read holds. */
function lostFiles({ root, state, log, isLedgerDamaged }: HistoryView): NamedFile[] {
  const reason = 'its record is lost: no snapshot that can be read holds it'
  return log.lostKeys(state, isLedgerDamaged).map((key) => ({ path: pathOfKey(root, key).path, reason }))
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
function uncoveredFiles(view: HistoryView, index: number): NamedFile[] {
  const { root, state, log } = view
  const found = new Map<string, NamedFile>()
  for (const { command, keys } of log.uncovered) {
    if (!isSince(view, index, command.snapshot)) continue
    const reason = `it changed since a command of ${command.messageId} began that was cut off, and is not covered: what it held before is not known`
    for (const key of keys) {
      if (!state.trackedFiles.has(key)) found.set(key, { path: pathOfKey(root, key).path, reason })
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
