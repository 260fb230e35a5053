import type { FileState } from './compare.ts'
import type { FileChange } from './describe-change.ts'

/** That a file was moved, as the history names both places. */
export interface Move {
  from: string
  to: string
}

/** A file that came or went, with what tells it from others. */
export interface MovedSide {
  key: string
  /** `device:inode`, where it is known. */
  inode?: string
  state: FileState
}

/**
 * Which of the files that went are which of those that came: the same bytes and bits, and either the same inode or
 * nothing else that could be meant. Empty files without an inode are nobody's twins. Pure.
 */
export function matchMoves(gone: readonly MovedSide[], came: readonly MovedSide[]): Move[] {
  const moves: Move[] = []
  const byContent = new Map<string, { gone: MovedSide[]; came: MovedSide[] }>()
  const groupOf = ({ state }: MovedSide): { gone: MovedSide[]; came: MovedSide[] } => {
    const name = `${state.sha256} ${state.mode}`
    const group = byContent.get(name) ?? { gone: [], came: [] }
    byContent.set(name, group)
    return group
  }
  for (const side of gone) groupOf(side).gone.push(side)
  for (const side of came) groupOf(side).came.push(side)
  for (const group of byContent.values()) {
    const inodes = new Map(group.gone.map((side) => [side.inode, side]))
    inodes.delete(undefined)
    const left: MovedSide[] = []
    for (const side of group.came) {
      const former = inodes.get(side.inode)
      if (former) moves.push({ from: former.key, to: side.key })
      else left.push(side)
      inodes.delete(side.inode)
    }
    const taken = new Set(moves.map(({ from }) => from))
    const [former, ...otherFormers] = group.gone.filter(({ key }) => !taken.has(key))
    const [latter, ...otherLatters] = left
    const isSure = otherFormers.length === 0 && otherLatters.length === 0
    if (former && latter && isSure && former.state.sizeBytes > 0)
      moves.push({ from: former.key, to: latter.key })
  }
  return moves
}

/**
 * Names in the changes that make a file where it was moved from, as far as that place is deleted by the same changes:
 * one move or several, in either direction. Pure. `moves`: absolute paths.
 */
export function nameRenames(changes: readonly FileChange[], moves: readonly Move[]): FileChange[] {
  if (moves.length === 0) return [...changes]
  const beside = new Map<string, Set<string>>()
  for (const { from, to } of moves) {
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      beside.set(one, (beside.get(one) ?? new Set()).add(other))
    }
  }
  const deleted = new Set(changes.filter(({ kind }) => kind === 'delete').map(({ path }) => path))
  return changes.map((change) => {
    if (change.kind !== 'create') return change
    const renamedFrom = findDeleted(change.path, beside, deleted)
    if (renamedFrom === undefined) return change
    deleted.delete(renamedFrom)
    return { ...change, renamedFrom }
  })
}

/** The nearest deleted file along the moves. */
function findDeleted(
  path: string,
  beside: ReadonlyMap<string, ReadonlySet<string>>,
  deleted: ReadonlySet<string>,
): string | undefined {
  const seen = new Set([path])
  for (const place of seen) {
    if (deleted.has(place)) return place
    for (const next of beside.get(place) ?? []) seen.add(next)
  }
  return undefined
}
