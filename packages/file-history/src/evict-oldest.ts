import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import { statNow } from './compare.ts'
import type { EditLog } from './edits.ts'
import { pace } from './in-parallel.ts'
import { evict, namedBackups } from './snapshot.ts'
import type { FileHistoryState, HistoryCell } from './snapshot.ts'

/**
 * Drops the oldest snapshots over the limits, and the backups that only they named. Never the newest snapshot.
 * That they are gone is recorded before a backup is removed. What fails here only frees no room: `gc` does it later.
 */
export async function evictOldest(options: {
  dir: string
  cell: HistoryCell
  log: EditLog
  clock: () => Date
  maxSnapshots: number
  maxBytes: number | undefined
  sizes: BackupSizes
  /** Lines of the ledger that cannot be read may name backups: then none is removed. */
  isLedgerDamaged: boolean
}): Promise<void> {
  const { cell, log, maxSnapshots, isLedgerDamaged, dir, clock, maxBytes, sizes } = options
  try {
    if (maxBytes !== undefined) await sizes.look(namedBackups(cell.getState()))
    const before = cell.getState()
    const overBytes = maxBytes === undefined ? 0 : countOverBytes(sizes, before, maxBytes)
    const excess = Math.max(before.snapshots.length - maxSnapshots, overBytes)
    if (excess <= 0) return
    const evicted = before.snapshots.slice(0, excess)
    cell.setState((previous) => evict(previous, (snapshot) => evicted.includes(snapshot)))
    const snapshots = evicted.map(({ messageId, timestamp }) => ({ messageId, timestamp }))
    await log.append([{ type: 'evicted', snapshots, timestamp: clock().toISOString() }])
    if (isLedgerDamaged) return
    const after = cell.getState()
    const doomed = [...namedBackups({ ...after, snapshots: evicted })].filter((name) =>
      BACKUP_NAME.test(name),
    )
    // Most are in the oldest of the others: all others are asked only if one is not.
    const oldest = namedBackups({ ...after, snapshots: after.snapshots.slice(0, 1) })
    if (doomed.every((name) => oldest.has(name))) return
    const kept = namedBackups(after)
    for (const name of doomed) {
      if (kept.has(name)) continue
      await orAbsent(files.unlink(join(dir, name)))
      sizes.forget(name)
    }
  } catch {
    // The snapshot that made room necessary is recorded and must not be reported as failed.
  }
}

/** How many of the oldest snapshots have to go for the backups of the others to fit. */
function countOverBytes(sizes: BackupSizes, state: FileHistoryState, maxBytes: number): number {
  const { snapshots } = state
  const seen = new Set<string>()
  let left = maxBytes
  // From the newest on, which always stays.
  for (let index = snapshots.length - 1; index >= 0; index -= 1) {
    for (const { backupFileName } of Object.values(snapshots[index]?.trackedFileBackups ?? {})) {
      const file = backupFileName === null ? undefined : sizes.of(backupFileName)
      if (file === undefined || seen.has(file.inode)) continue
      seen.add(file.inode)
      left -= file.sizeBytes
    }
    if (left < 0) return Math.min(index + 1, snapshots.length - 1)
  }
  return 0
}

/** How large backups are. Each is looked at once, as none is ever written again. */
export class BackupSizes {
  readonly #dir: string
  readonly #known = new Map<string, { inode: string; sizeBytes: number }>()

  constructor(dir: string) {
    this.#dir = dir
  }

  /** Looks at those of the backups that are not known. */
  async look(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      if (this.#known.has(name)) continue
      while (pace.turn) await pace.turn
      const stats = statNow(join(this.#dir, name))
      if (stats) {
        this.#known.set(name, { inode: `${stats.dev}:${stats.ino}`, sizeBytes: Number(stats.size) })
      }
    }
  }

  /** `undefined`: it is not there. */
  of(name: string): { inode: string; sizeBytes: number } | undefined {
    return this.#known.get(name)
  }

  forget(name: string): void {
    this.#known.delete(name)
  }
}
