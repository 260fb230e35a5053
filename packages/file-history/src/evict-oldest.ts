import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import type { EditLog } from './edits.ts'
import { inParallel } from './in-parallel.ts'
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
  /** Lines of the ledger that cannot be read may name backups: then none is removed. */
  isLedgerDamaged: boolean
}): Promise<void> {
  const { cell, log, maxSnapshots, isLedgerDamaged, dir, clock, maxBytes } = options
  try {
    const before = cell.getState()
    const overBytes = maxBytes === undefined ? 0 : await countOverBytes(dir, before, maxBytes)
    const excess = Math.max(before.snapshots.length - maxSnapshots, overBytes)
    if (excess <= 0) return
    const evicted = before.snapshots.slice(0, excess)
    cell.setState((previous) => evict(previous, (snapshot) => evicted.includes(snapshot)))
    const snapshots = evicted.map(({ messageId, timestamp }) => ({ messageId, timestamp }))
    await log.append([{ type: 'evicted', snapshots, timestamp: clock().toISOString() }])
    if (isLedgerDamaged) return
    const after = cell.getState()
    const kept = namedBackups(after)
    for (const name of namedBackups({ ...after, snapshots: evicted })) {
      if (!kept.has(name) && BACKUP_NAME.test(name)) await orAbsent(files.unlink(join(dir, name)))
    }
  } catch {
    // The snapshot that made room necessary is recorded and must not be reported as failed.
  }
}

/** How many of the oldest snapshots have to go for the backups of the others to fit. */
async function countOverBytes(dir: string, state: FileHistoryState, maxBytes: number): Promise<number> {
  const found = new Map<string, { inode: string; size: number }>()
  await inParallel([...namedBackups(state)], async (name) => {
    const stats = await orAbsent(files.lstat(join(dir, name)))
    if (stats) found.set(name, { inode: `${stats.dev}:${stats.ino}`, size: Number(stats.size) })
  })
  for (let count = 0; count < state.snapshots.length - 1; count += 1) {
    const inodes = new Map<string, number>()
    for (const name of namedBackups({ ...state, snapshots: state.snapshots.slice(count) })) {
      const file = found.get(name)
      if (file) inodes.set(file.inode, file.size)
    }
    const sizeBytes = [...inodes.values()].reduce((sum, size) => sum + size, 0)
    if (sizeBytes <= maxBytes) return count
  }
  return state.snapshots.length - 1
}
