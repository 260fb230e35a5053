import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import { BASE_INDEX_NAME } from './base-index.ts'
import type { EditLog } from './edits.ts'
import { filesNotUndone } from './past-rewinds.ts'
import { namedBackups } from './snapshot.ts'
import type { FileHistoryState } from './snapshot.ts'

/** What a history keeps on the disk. */
export interface HistoryUsage {
  /** Backups by name. */
  backups: number
  /** Bytes of the files behind those names; what several names share counts once. */
  sizeBytes: number
  /** Of these, bytes that another name shares, here or in another session's folder. */
  sharedBytes: number
}

/** Counts the backups of the folder `dir`. */
export async function measureUsage(dir: string): Promise<HistoryUsage> {
  const inodes = new Map<string, { size: number; isShared: boolean }>()
  let backups = 0
  for (const name of await namesIn(dir)) {
    const stats = BACKUP_NAME.test(name) ? await orAbsent(files.lstat(join(dir, name))) : undefined
    if (!stats?.isFile()) continue
    backups += 1
    inodes.set(`${stats.dev}:${stats.ino}`, { size: Number(stats.size), isShared: stats.nlink > 1n })
  }
  const sum = (sizes: { size: number }[]): number => sizes.reduce((total, { size }) => total + size, 0)
  const all = [...inodes.values()]
  return { backups, sizeBytes: sum(all), sharedBytes: sum(all.filter(({ isShared }) => isShared)) }
}

/**
 * Removes what nothing needs: backups that no kept snapshot names, bytes kept by rewinds that are undone, the copy of the tree (unless a command runs: `trackCommand` makes it again), files left in the making by a crash.
 * Where the ledger has lines that cannot be read, the backups stay: those lines may name them.
 *
 * @returns names relative to `dir`; bytes freed, not counting files that have another name
 */
export async function collectGarbage(options: {
  dir: string
  state: FileHistoryState
  log: EditLog
  isLedgerDamaged: boolean
  /** A command that runs needs the copy of the tree. */
  isBaseInUse: boolean
  dryRun: boolean
}): Promise<{ removed: string[]; freedBytes: number }> {
  const { dir, state, log, isLedgerDamaged, dryRun } = options
  const named = namedBackups(state)
  const undos = new Set<string>()
  for (const [id, keys] of filesNotUndone(log.operations)) if (keys.size > 0) undos.add(id)
  if (log.pending) undos.add(log.pending.operation.id)
  // To finish what was interrupted, the bytes it writes are needed too; those of an undo were kept by an earlier one.
  for (const { source } of log.pending?.operation.files ?? []) {
    if (source?.startsWith('undo/')) undos.add(source.split('/')[1] ?? '')
    else if (source) named.add(source)
  }
  // Without the journal nobody can say which kept bytes are still of use.
  const isJournalDamaged = log.damage.length > 0
  const doomed: string[] = []
  for (const name of await namesIn(dir)) {
    const isUnnamed = BACKUP_NAME.test(name) && !named.has(name) && !isLedgerDamaged
    const isOldIndex = BASE_INDEX_NAME.test(name) && !options.isBaseInUse
    if (isUnnamed || isOldIndex || /^\..*\.tmp$/.test(name)) doomed.push(name)
  }
  for (const id of await namesIn(join(dir, 'undo'))) {
    if (undos.has(id) || isJournalDamaged || !/^r\d+$/.test(id)) continue
    doomed.push(...(await namesIn(join(dir, 'undo', id))).map((name) => `undo/${id}/${name}`), `undo/${id}`)
  }
  if (!options.isBaseInUse) doomed.push(...(await namesIn(join(dir, 'base'))).map((name) => `base/${name}`))
  return removeAll(dir, doomed, dryRun)
}

async function removeAll(
  dir: string,
  doomed: readonly string[],
  dryRun: boolean,
): Promise<{ removed: string[]; freedBytes: number }> {
  const removed: string[] = []
  let freedBytes = 0
  for (const name of doomed) {
    const path = join(dir, name)
    const stats = await orAbsent(files.lstat(path))
    if (stats === undefined) continue
    if (!dryRun) await orAbsent(stats.isDirectory() ? files.rmdir(path) : files.unlink(path))
    removed.push(name)
    if (stats.isFile() && stats.nlink === 1n) freedBytes += Number(stats.size)
  }
  return { removed: removed.toSorted(), freedBytes }
}

async function namesIn(folder: string): Promise<string[]> {
  return ((await orAbsent(files.readdir(folder))) ?? []).map(({ name }) => name)
}
