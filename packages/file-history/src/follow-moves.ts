import { dirname } from 'node:path'
import { errorMessage } from '@loci/disk'
import type { Anchor } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { findMoved } from './find-moved.ts'
import type { Seen } from './find-moved.ts'
import type { KeyedQueue } from './keyed-queue.ts'
import type { TrackedLook } from './look-at-tracked.ts'
import { matchMoves } from './renames.ts'
import type { Move, MovedSide } from './renames.ts'
import { backupOf } from './snapshot.ts'
import type { Backup, FileHistoryState, Snapshot } from './snapshot.ts'
import { pathOfKey } from './track-path.ts'
import type { VersionedBackups } from './versioned-backups.ts'

/** What following needs around it. */
interface FollowerOptions {
  dir: string
  root: string
  log: EditLog
  backups: VersionedBackups
  /** Of the paths: edits of a file wait while it is taken in. */
  paths: KeyedQueue
  state: () => FileHistoryState
  /** Whether a command that runs may have found another file under that name. */
  mayHaveBeen: (key: string) => boolean
  /** Has a file join a snapshot that is there. */
  join: (key: string, backup: Backup, messageId: string, anchor: NonNullable<Anchor>) => Promise<void>
}

/**
 * Notices that tracked files were moved, and goes on with them under their new names. Which inode each file was,
 * the log knows of those that the agent left; where it is not known, nothing is guessed.
 */
export class MoveFollower {
  readonly #options: FollowerOptions

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  /**
   * Before a snapshot that is to hold `looks`: files that went since the snapshot `former` and are found elsewhere join
   * both, `former` as absent. Moves between tracked files are noted.
   *
   * @returns looks at the files that came in
   */
  async follow(
    messageId: string,
    former: Snapshot | undefined,
    looks: readonly TrackedLook[],
    now: () => string,
  ): Promise<TrackedLook[]> {
    if (former === undefined) return []
    const { log } = this.#options
    const { gone, came } = this.#sidesOf(former, looks)
    if (gone.length === 0) return []
    const moves = matchMoves(gone, came)
    const placed = new Set(moves.map(({ from }) => from))
    const lost = new Map<string, Seen>()
    for (const { key } of gone) {
      const seen = placed.has(key) ? undefined : log.placeOf(key)
      if (seen) lost.set(key, seen)
    }
    const taken: TrackedLook[] = []
    for (const move of lost.size > 0 ? await this.#find(lost) : []) {
      const look = await this.#takeIn(move, messageId, former)
      if (look === undefined) continue
      taken.push(look)
      moves.push(move)
    }
    const { messageId: id, timestamp: at } = former
    const of = { messageId, snapshot: { messageId: id, timestamp: at }, timestamp: now() }
    // Without the lines the move is not named: no reason to have no snapshot.
    await log.noteMoves(moves, of).catch(() => undefined)
    return taken
  }

  #sidesOf(former: Snapshot, looks: readonly TrackedLook[]): { gone: MovedSide[]; came: MovedSide[] } {
    const { log } = this.#options
    const gone: MovedSide[] = []
    const came: MovedSide[] = []
    for (const { key, backup, unseen } of looks) {
      const before = backupOf(former, key)
      if (before === undefined || unseen !== undefined) continue
      if ((before.backupFileName === null) === (backup.backupFileName === null)) continue
      const state = log.noted(before.backupFileName ?? backup.backupFileName)
      const inode = log.placeOf(key)?.inode
      const side = state && { key, state, ...(inode === undefined ? {} : { inode }) }
      if (side) (backup.backupFileName === null ? gone : came).push(side)
    }
    return { gone, came }
  }

  #find(lost: ReadonlyMap<string, Seen>): Promise<Move[]> {
    const { dir, root, state } = this.#options
    return findMoved({ dir, root, tracked: state().trackedFiles }, lost)
  }

  /** The new name of a moved file joins `former` as absent: the file that it is now was under the old one then. */
  #takeIn({ to }: Move, messageId: string, former: Snapshot): Promise<TrackedLook | undefined> {
    const { root, backups, paths, state, mayHaveBeen, join } = this.#options
    const { path } = pathOfKey(root, to)
    const target = { key: to, path, parent: dirname(path) }
    return paths.run(to, async () => {
      // An edit was quicker: the file is tracked as it was then. Or the end of the command knows more.
      if (state().trackedFiles.has(to) || mayHaveBeen(to)) return undefined
      const absence = await backups.keepingFirst(to, async () => {
        const made = await backups.recordAbsence(target)
        await join(to, made, messageId, former)
        return made
      })
      return backups.backUp(target).then(
        (backup) => ({ key: to, backup }),
        (error: unknown) => ({ key: to, backup: absence, unseen: errorMessage(error) }),
      )
    })
  }
}
