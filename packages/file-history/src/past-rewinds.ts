import type { Operation } from './edit-record.ts'
import type { JournalledOperation } from './journal.ts'

/** A rewind, or the undo of one, that wrote something. */
export interface PastRewind {
  /** What `undoRewind({ id })` takes. */
  id: string
  /** Of the snapshot. */
  messageId: string
  /** ISO 8601, UTC. */
  timestamp: string
  kind: 'rewind' | 'undo'
  /** The newest snapshot when it was made; `null`: there was none. */
  since: string | null
  /** Whether every file it wrote has been brought back. An undo that is undone itself no longer counts. */
  undone: boolean
}

/**
 * The keys that each ended operation wrote and that no undo has brought back, in the order of the operations.
 * An undo may bring back some of the files only; the undo of that undo takes them back again. Pure.
 */
export function filesNotUndone(operations: readonly JournalledOperation[]): Map<string, Set<string>> {
  const left = new Map<string, Set<string>>()
  const broughtBack = new Map<string, Set<string>>()
  // An undo is newer than what it undoes, so what is left of it is known before.
  for (const { operation, written, isEnded } of operations.toReversed()) {
    if (!isEnded) continue
    const back = broughtBack.get(operation.id)
    const keys = new Set([...written].filter((key) => back?.has(key) !== true))
    left.set(operation.id, keys)
    if (operation.undoes === undefined) continue
    const others = broughtBack.get(operation.undoes) ?? []
    broughtBack.set(operation.undoes, new Set([...others, ...keys, ...(operation.settled ?? [])]))
  }
  return new Map([...left].toReversed())
}

/**
 * The operation whose undo is not over: the newest of all is an undo that left files of it behind.
 *
 * @param left as {@link filesNotUndone} tells
 */
export function unfinishedUndo(
  operations: readonly JournalledOperation[],
  left: ReadonlyMap<string, ReadonlySet<string>>,
): Operation | undefined {
  const undoes = operations.findLast(({ isEnded }) => isEnded)?.operation.undoes
  if (undoes === undefined || (left.get(undoes)?.size ?? 0) === 0) return undefined
  return operations.find(({ operation }) => operation.id === undoes)?.operation
}
