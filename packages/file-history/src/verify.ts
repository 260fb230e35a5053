import { join } from 'node:path'
import type { Damage } from '@loci/disk'
import { readBackup } from './backup.ts'
import { EditLog } from './edits.ts'
import { inParallel } from './in-parallel.ts'
import type { SnapshotLedger } from './ledger.ts'
import { loadHistory, readSnapshots, resolveFolders } from './load-history.ts'
import { identityOf, MAX_SNAPSHOTS } from './snapshot.ts'
import type { Backup, FileHistoryState } from './snapshot.ts'
import { pathOfKey } from './track-path.ts'

/**
 * Everything wrong with a history: lines that cannot be read, recorded paths that climb, backups that are missing,
 * damaged or of another file, files that a snapshot could not read, a rewind or a command that was interrupted. Reads only; nothing for a history that does not exist.
 * A ledger that is passed in is asked for its records and its damage.
 *
 * @param options.maxSnapshots as the history is opened with; the backups of older snapshots may be gone
 * @throws {LociError} DISK_IO when the folder cannot be read
 */
export async function verifyFileHistory(options: {
  dir: string
  root: string
  ledger?: SnapshotLedger
  maxSnapshots?: number
}): Promise<Damage[]> {
  const { dir, root } = await resolveFolders(options)
  const { records, damage } = await readSnapshots(dir, options.ledger)
  const log = await EditLog.open(dir)
  damage.push(...log.damage)
  const { state } = loadHistory(records, log, options.maxSnapshots ?? MAX_SNAPSHOTS)
  damage.push(...(await checkBackups({ dir, root, state, log })))
  const known = new Set(state.snapshots.map(identityOf))
  for (const { messageId, trackingPath, reason, snapshot } of log.unseen) {
    if (snapshot === null || !known.has(identityOf(snapshot))) continue
    const { path } = pathOfKey(root, trackingPath)
    const message = `Snapshot ${messageId} holds ${trackingPath} as it was before, since it could not be read: ${reason}`
    damage.push({ kind: 'unseen-file', path, message })
  }
  for (const { messageId } of log.openCommands.values()) {
    const message = `A command of ${messageId} began and did not end: it runs still, or was cut off. What changed since is covered by the next call, open for writing; where its index is lost, base/ keeps the files as they were before it, until gc`
    damage.push({ kind: 'command-incomplete', path: join(dir, 'base'), message })
  }
  if (log.pending) {
    const { messageId } = log.pending.operation
    const message = `A rewind to ${messageId} was interrupted; open the history and resolve it`
    damage.push({ kind: 'rewind-incomplete', path: log.path, message })
  }
  return damage
}

async function checkBackups(history: {
  dir: string
  root: string
  state: FileHistoryState
  log: EditLog
}): Promise<Damage[]> {
  const { dir, root, state, log } = history
  const backups = new Map<string, { key: string; backup: Backup }>()
  const damage: Damage[] = []
  for (const snapshot of state.snapshots) {
    for (const [key, backup] of Object.entries(snapshot.trackedFileBackups)) {
      backups.set(JSON.stringify([key, backup.backupFileName]), { key, backup })
    }
  }
  for (const key of state.trackedFiles) {
    const { path, problem } = pathOfKey(root, key)
    if (problem !== undefined) damage.push({ kind: 'bad-path', path, message: `${key}: ${problem}` })
  }
  const problems = await inParallel([...backups.values()], async ({ key, backup }) => {
    const content = await readBackup(dir, backup, pathOfKey(root, key).path, log.noted(backup.backupFileName))
    return 'problem' in content ? { key, backup, problem: content.problem } : undefined
  })
  for (const found of problems) {
    if (!found) continue
    const path = join(dir, found.backup.backupFileName ?? '')
    damage.push({ kind: 'bad-backup', path, message: `${found.key}: ${found.problem}` })
  }
  return damage
}
