import { joinedTo, withJoined, withKeys, withTracked } from './joins.ts'

/** One recorded state of one file. */
export interface Backup {
  /** Name inside the backup folder; `null`: the file did not exist. */
  backupFileName: string | null
  /** Counts the changes of this file, from 1. Repeated as long as bytes, mode and existence stay the same. */
  version: number
  /** ISO 8601, UTC. */
  backupTime: string
  /** Real path of the file's directory then. Absent in records of old clients. */
  realParentDir?: string
}

/** The state of every tracked file at one message. */
export interface Snapshot {
  messageId: string
  /** ISO 8601, UTC. */
  timestamp: string
  /** By path: relative to the root when inside it, else absolute. */
  trackedFileBackups: Record<string, Backup>
}

/**
 * A line of the ledger: a whole snapshot, or one file that joined a snapshot before its first edit.
 *
 * Source: `docs/formats/file-history.md`; the shapes that the widest-used client writes into its transcript.
 */
export type LedgerRecord =
  | {
      type: 'file-history-snapshot'
      messageId: string
      snapshot: Snapshot
      /** Older form of a delta: the snapshot takes the place of the one with its `messageId`. */
      isSnapshotUpdate: boolean
    }
  | {
      type: 'file-history-delta'
      messageId: string
      snapshotMessageId: string
      trackingPath: string
      backup: Backup
      timestamp: string
    }

/** What the history knows. Immutable: every change is a new state. */
export interface FileHistoryState {
  /** Oldest first. */
  readonly snapshots: readonly Snapshot[]
  /** Keys of every file that some snapshot holds. */
  readonly trackedFiles: ReadonlySet<string>
  /** Message ids whose snapshots were dropped to make room. */
  readonly evictedIds: ReadonlySet<string>
}

/**
 * Where the state lives. `createStore(emptyFileHistoryState())` of `@loci/app-state` fits; so does any pair that
 * runs the updater and replaces the state before `setState` returns.
 */
export interface HistoryCell {
  getState(): FileHistoryState
  setState(updater: (previous: FileHistoryState) => FileHistoryState): void
}

/** How many snapshots are kept unless `maxSnapshots` says otherwise. */
export const MAX_SNAPSHOTS = 100

/** The state before anything happened. */
export function emptyFileHistoryState(): FileHistoryState {
  return { snapshots: [], trackedFiles: new Set(), evictedIds: new Set() }
}

/** Tells a snapshot from every other: message ids repeat. */
export function identityOf(snapshot: { messageId: string; timestamp: string }): string {
  return `${snapshot.timestamp} ${snapshot.messageId}`
}

/** The backup of `key` in `snapshot`. Own properties only: a file may be called `constructor`. */
export function backupOf(snapshot: Snapshot | undefined, key: string): Backup | undefined {
  if (snapshot === undefined) return undefined
  const joins = joinedTo(snapshot)
  const first = joins?.first ?? snapshot.trackedFileBackups
  return joins?.joined.get(key) ?? (Object.hasOwn(first, key) ? first[key] : undefined)
}

/**
 * The record of a snapshot that comes after `former`: the looks at the tracked files, and what it inherits of the
 * others. The same one where nothing differs.
 */
export function nextRecord(
  former: Snapshot | undefined,
  looks: readonly { key: string; backup: Backup }[],
  isInherited: (key: string) => boolean,
): Record<string, Backup> {
  const record = former?.trackedFileBackups ?? {}
  const looked = new Map(looks.map(({ key, backup }) => [key, backup]))
  const keys = Object.keys(record)
  if (keys.length === looked.size && keys.every((key) => record[key] === looked.get(key))) return record
  const inherited = Object.entries(record).filter(([key]) => isInherited(key))
  return Object.fromEntries(new Map([...inherited, ...looked]))
}

/**
 * The state that a ledger tells, before anything is evicted, and the highest version of each file.
 * Deltas join their snapshot; an update takes its place. A delta whose snapshot is not in the ledger joins the
 * snapshot before it: that one would get the same backup, as the oldest recorded after it.
 */
export function foldLedger(records: readonly LedgerRecord[]): {
  state: FileHistoryState
  versions: Map<string, number>
} {
  const ids = new Set<string>()
  for (const record of records) {
    if (record.type === 'file-history-snapshot') ids.add(record.snapshot.messageId)
  }
  const snapshots: Snapshot[] = []
  const early = new Map<string, { key: string; backup: Backup }[]>()
  const versions = new Map<string, number>()
  const see = (key: string, backup: Backup): void => {
    versions.set(key, Math.max(versions.get(key) ?? 0, backup.version))
  }
  for (const record of records) {
    if (record.type === 'file-history-delta') {
      const { snapshotMessageId: id, trackingPath: key, backup } = record
      see(key, backup)
      const index = snapshots.findLastIndex((snapshot) => snapshot.messageId === id)
      if (index >= 0) joinAt(snapshots, index, key, backup)
      else if (ids.has(id)) early.set(id, [...(early.get(id) ?? []), { key, backup }])
      else if (snapshots.length > 0) joinAt(snapshots, snapshots.length - 1, key, backup)
      continue
    }
    const { snapshot } = record
    for (const [key, backup] of Object.entries(snapshot.trackedFileBackups)) see(key, backup)
    const index = record.isSnapshotUpdate
      ? snapshots.findLastIndex(({ messageId }) => messageId === snapshot.messageId)
      : -1
    if (index >= 0) snapshots[index] = snapshot
    else snapshots.push(snapshot)
    for (const { key, backup } of early.get(snapshot.messageId) ?? []) {
      joinAt(snapshots, index >= 0 ? index : snapshots.length - 1, key, backup)
    }
    early.delete(snapshot.messageId)
  }
  return { state: withSnapshots(emptyFileHistoryState(), snapshots), versions }
}

/** The first to join stays: it is the older state, and the snapshot's time is before both. */
function joinAt(snapshots: Snapshot[], index: number, key: string, backup: Backup): void {
  const snapshot = snapshots[index]
  if (snapshot === undefined || backupOf(snapshot, key) !== undefined) return
  snapshots[index] = withJoined(snapshot, key, backup)
}

function withSnapshots(state: FileHistoryState, snapshots: readonly Snapshot[]): FileHistoryState {
  const trackedFiles = new Set<string>()
  for (const snapshot of snapshots) {
    for (const key of Object.keys(snapshot.trackedFileBackups)) trackedFiles.add(key)
  }
  return { ...state, snapshots, trackedFiles }
}

/** `snapshot` is the newest now. An evicted id that comes again is kept again. */
export function addSnapshot(state: FileHistoryState, snapshot: Snapshot): FileHistoryState {
  const evictedIds = new Set(state.evictedIds)
  evictedIds.delete(snapshot.messageId)
  const trackedFiles = withKeys(state.trackedFiles, Object.keys(snapshot.trackedFileBackups))
  return { ...state, snapshots: [...state.snapshots, snapshot], trackedFiles, evictedIds }
}

/** `key` joins the newest snapshot, or the one given by its identity, if it is not in it. */
export function joinSnapshot(
  state: FileHistoryState,
  key: string,
  backup: Backup,
  identity?: string,
): FileHistoryState {
  const snapshots = [...state.snapshots]
  const index =
    identity === undefined
      ? snapshots.length - 1
      : snapshots.findLastIndex((snapshot) => identityOf(snapshot) === identity)
  if (snapshots[index] === undefined) return state
  joinAt(snapshots, index, key, backup)
  return withTracked(state, snapshots, key)
}

/**
 * Takes a snapshot back that the ledger did not take, given as it was added. Files that joined it meanwhile are recorded
 * as joining a snapshot the ledger does not know, and so go where {@link foldLedger} would put them: into the one before.
 */
export function removeSnapshot(state: FileHistoryState, added: Snapshot): FileHistoryState {
  const index = state.snapshots.findLastIndex((snapshot) => identityOf(snapshot) === identityOf(added))
  const removed = state.snapshots[index]
  if (removed === undefined) return state
  const snapshots = state.snapshots.filter((_, position) => position !== index)
  for (const [key, backup] of Object.entries(removed.trackedFileBackups)) {
    if (backupOf(added, key) === undefined) joinAt(snapshots, index - 1, key, backup)
  }
  return withSnapshots(state, snapshots)
}

/** Takes a file back that joined the snapshot `identity`. */
export function removeJoined(
  state: FileHistoryState,
  identity: string,
  key: string,
  backup: Backup,
): FileHistoryState {
  const snapshots = state.snapshots.map((snapshot) => {
    if (identityOf(snapshot) !== identity || backupOf(snapshot, key) !== backup) return snapshot
    const rest = Object.entries(snapshot.trackedFileBackups).filter(([other]) => other !== key)
    return { ...snapshot, trackedFileBackups: Object.fromEntries(rest) }
  })
  return withSnapshots(state, snapshots)
}

/** Drops the snapshots that `isEvicted` names; their ids are remembered unless a kept snapshot has the same. */
export function evict(
  state: FileHistoryState,
  isEvicted: (snapshot: Snapshot, index: number) => boolean,
): FileHistoryState {
  const kept = state.snapshots.filter((snapshot, index) => !isEvicted(snapshot, index))
  if (kept.length === state.snapshots.length) return state
  const evictedIds = new Set(state.evictedIds)
  for (const { messageId } of state.snapshots) evictedIds.add(messageId)
  for (const { messageId } of kept) evictedIds.delete(messageId)
  return { ...withSnapshots(state, kept), evictedIds }
}

/** Names of all backups that some snapshot of the state holds. */
export function namedBackups(state: FileHistoryState): Set<string> {
  const names = new Set<string>()
  for (const snapshot of state.snapshots) {
    for (const { backupFileName } of Object.values(snapshot.trackedFileBackups)) {
      if (backupFileName !== null) names.add(backupFileName)
    }
  }
  return names
}

/**
 * The backup that `key` has at the snapshot with this index: its own, else the oldest recorded after it, which is
 * the state before the first edit. That one is a first version, or the record of the first is lost and what comes
 * after it must not be taken in its place.
 *
 * @param isFirst whether a backup of a version above 1 is known to be a file's first
 */
export function targetBackup(
  state: FileHistoryState,
  index: number,
  key: string,
  isFirst: (backup: Backup) => boolean,
): Backup | { problem: string } {
  for (let at = index; at < state.snapshots.length; at += 1) {
    const backup = backupOf(state.snapshots[at], key)
    if (backup === undefined) continue
    if (at === index || backup.version === 1 || isFirst(backup)) return backup
    return { problem: 'the record of its first backup is lost; a later one would not be its state then' }
  }
  return { problem: 'no snapshot from this one on holds it' }
}
