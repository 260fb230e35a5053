import { dirname, join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { BACKUP_NAME } from './backup.ts'
import { appendLines, isJsonObject, readJsonLines } from './json-lines.ts'
import type { Backup, LedgerRecord, Snapshot } from './snapshot.ts'

/**
 * Where snapshots are recorded, in the order they were made. The default is a JSON Lines file in the backup folder;
 * an agent passes its transcript. `load` gives every record that is there, in order; `append` resolves once
 * the record is handed to the operating system.
 */
export interface SnapshotLedger {
  load(): Promise<LedgerRecord[]>
  append(record: LedgerRecord): Promise<void>
  /**
   * What could not be read of what is there. Any of it may be a record that names backups, so as long as there is
   * some, no backup is removed. Leave it out only where `load` throws rather than leave something out.
   */
  damage?(): Promise<Damage[]>
}

/** The ledger of a history that was given none. */
export function defaultLedgerPath(dir: string): string {
  return join(dir, 'snapshots.jsonl')
}

/** A ledger that takes several records in one write. */
export interface BatchLedger extends SnapshotLedger {
  appendAll(records: readonly LedgerRecord[]): Promise<void>
}

/** A ledger in the JSON Lines file `path`. Lines that cannot be read are left out and stay where they are. */
export function fileLedger(path: string): BatchLedger {
  const textOf = recordText()
  const appendAll = (records: readonly LedgerRecord[]): Promise<void> =>
    appendLines(path, records.map(textOf))
  return {
    load: async () => (await readLedger(path)).records,
    append: (record) => appendAll([record]),
    appendAll,
    damage: async () => (await readLedger(path)).damage,
  }
}

/** Backups beside no ledger are somebody's: it is lost, or these are a session's, whose ledger is its transcript. */
async function missingLedger(path: string): Promise<Damage[]> {
  if ((await orAbsent(files.lstat(path))) !== undefined) return []
  const beside = (await orAbsent(files.readdir(dirname(path)))) ?? []
  const count = beside.filter(({ name }) => BACKUP_NAME.test(name)).length
  if (count === 0) return []
  const message = `It is not there, and ${count} ${count === 1 ? 'backup is' : 'backups are'} beside it: nothing tells which files they are of`
  return [{ kind: 'ledger-missing', path, message }]
}

/** The JSON of ledger records. That of the files is kept from one snapshot to the next, which often has the same. */
export function recordText(): (record: LedgerRecord) => string {
  let last: { backups: Record<string, Backup>; text: string } | undefined
  return (record) => {
    if (record.type !== 'file-history-snapshot') return JSON.stringify(record)
    const { snapshot, messageId, isSnapshotUpdate } = record
    const { trackedFileBackups: backups, timestamp } = snapshot
    if (last?.backups !== backups) last = { backups, text: JSON.stringify(backups) }
    const of = { messageId: JSON.stringify(snapshot.messageId), timestamp: JSON.stringify(timestamp) }
    const inner = `{"messageId":${of.messageId},"trackedFileBackups":${last.text},"timestamp":${of.timestamp}}`
    return `{"type":"file-history-snapshot","messageId":${JSON.stringify(messageId)},"snapshot":${inner},"isSnapshotUpdate":${isSnapshotUpdate}}`
  }
}

/** The records of the JSON Lines file `path` and the damage in it. Lines of other types are passed over. */
export async function readLedger(path: string): Promise<{ records: LedgerRecord[]; damage: Damage[] }> {
  const { lines, damage } = await readJsonLines(path)
  const records: LedgerRecord[] = []
  for (const { value, line, offset } of lines) {
    const { record, problems } = parseLedgerRecord(value)
    if (record) records.push(record)
    for (const message of problems) damage.push({ kind: 'bad-record', path, line, offset, message })
  }
  if (lines.length === 0) damage.push(...(await missingLedger(path)))
  return { records, damage }
}

/**
 * A ledger record out of foreign data. A backup that makes no sense is left out of its snapshot, which keeps the
 * rest. Fields we do not know stay.
 */
export function parseLedgerRecord(value: unknown): { record?: LedgerRecord; problems: string[] } {
  if (!isJsonObject(value)) return { problems: ['A ledger record is not an object'] }
  if (value['type'] === 'file-history-delta') return parseDelta(value)
  if (value['type'] === 'file-history-snapshot') return parseSnapshotRecord(value)
  return { problems: [] }
}

function parseDelta(value: Record<string, unknown>): { record?: LedgerRecord; problems: string[] } {
  const { messageId, snapshotMessageId, trackingPath, timestamp } = value
  const backup = parseBackup(value['backup'])
  if (
    typeof messageId !== 'string' ||
    typeof snapshotMessageId !== 'string' ||
    typeof trackingPath !== 'string' ||
    backup === undefined
  ) {
    return { problems: ['A file-history-delta lacks a field or has one of another type'] }
  }
  return {
    record: {
      type: 'file-history-delta',
      messageId,
      snapshotMessageId,
      trackingPath,
      backup,
      timestamp: typeof timestamp === 'string' ? timestamp : backup.backupTime,
    },
    problems: [],
  }
}

function parseSnapshotRecord(value: Record<string, unknown>): { record?: LedgerRecord; problems: string[] } {
  const { messageId, snapshot, isSnapshotUpdate } = value
  const lacking = { problems: ['A file-history-snapshot lacks a field or has one of another type'] }
  if (typeof messageId !== 'string' || !isJsonObject(snapshot)) return lacking
  const { messageId: id, timestamp, trackedFileBackups } = snapshot
  if (typeof id !== 'string' || typeof timestamp !== 'string' || !isJsonObject(trackedFileBackups)) {
    return lacking
  }
  const problems: string[] = []
  const backups: [string, Backup][] = []
  for (const [key, foreign] of Object.entries(trackedFileBackups)) {
    const backup = parseBackup(foreign)
    if (backup) backups.push([key, backup])
    else problems.push(`The backup of ${JSON.stringify(key)} in snapshot ${id} makes no sense`)
  }
  const parsed: Snapshot = { messageId: id, trackedFileBackups: Object.fromEntries(backups), timestamp }
  return {
    record: {
      type: 'file-history-snapshot',
      messageId,
      snapshot: parsed,
      isSnapshotUpdate: isSnapshotUpdate === true,
    },
    problems,
  }
}

function parseBackup(value: unknown): Backup | undefined {
  if (!isJsonObject(value)) return undefined
  const { backupFileName, version, backupTime, realParentDir } = value
  if (typeof backupFileName !== 'string' && backupFileName !== null) return undefined
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 0) return undefined
  if (typeof realParentDir !== 'string' && realParentDir !== undefined) return undefined
  return {
    ...value,
    backupFileName,
    version,
    backupTime: typeof backupTime === 'string' ? backupTime : '',
    ...(realParentDir === undefined ? {} : { realParentDir }),
  }
}
