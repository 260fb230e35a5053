import type { FileState } from './compare.ts'
import { isJsonObject } from './json-lines.ts'
import { identityOf } from './snapshot.ts'

/** The newest snapshot when something was recorded; `null`: there was none. */
export type Anchor = { messageId: string; timestamp: string } | null

export function isSameAnchor(a: Anchor, b: Anchor): boolean {
  return a === null || b === null ? a === b : identityOf(a) === identityOf(b)
}

/** One file of a rewind: from which state to which, and where the bytes of both are. */
export interface OperationFile {
  trackingPath: string
  /** Absolute, as results name it. */
  path: string
  /** The same file by the real path of its directory: what is written. */
  realPath: string
  before: FileState | null
  after: FileState | null
  /** File inside the backup folder with the bytes of `before`; `null` with absence. */
  kept: string | null
  /** File inside the backup folder with the bytes of `after`; `null` with absence. */
  source: string | null
}

/** A rewind or the undo of one, as the journal holds it before the first file is touched. */
export interface Operation {
  type: 'rewind'
  id: string
  kind: 'rewind' | 'undo'
  messageId: string
  /** The operation that an undo undoes. */
  undoes?: string
  /** Keys of its files that stood as before it already, and so count as brought back. */
  settled?: string[]
  files: OperationFile[]
  snapshot: Anchor
  timestamp: string
}

/** A line of `edits.jsonl`. */
export type EditRecord =
  | { type: 'backup'; name: string; sha256: string; sizeBytes: number; mode: number; first: boolean }
  | { type: 'track'; messageId: string; trackingPath: string; snapshot: Anchor; timestamp: string }
  | {
      type: 'edit'
      messageId: string
      trackingPath: string
      state: FileState | null
      /** `device:inode` of a file with one name: it is found by that should it be moved. */
      inode?: string
      snapshot: Anchor
      timestamp: string
    }
  /** A snapshot repeats the last state of a file that could not be read then. */
  | {
      type: 'unseen'
      messageId: string
      trackingPath: string
      reason: string
      snapshot: Anchor
      timestamp: string
    }
  /** A file was found to have been moved. Names only: what both places held is in the snapshots. */
  | { type: 'rename'; messageId: string; from: string; to: string; snapshot: Anchor; timestamp: string }
  | { type: 'evicted'; snapshots: { messageId: string; timestamp: string }[]; timestamp: string }
  /** A command runs, and `base/` holds the files as they were before it. Older ones lack `snapshot`. */
  | { type: 'command'; id: string; messageId: string; snapshot?: Anchor; timestamp: string }
  /**
   * What it changed is recorded, or nobody can tell any more. `uncovered`: keys that changed since a command that was
   * cut off began, and of which the state before is not known.
   */
  | { type: 'command-end'; id: string; uncovered?: string[]; timestamp: string }
  | Operation
  /** The file stands as the operation wants it (`after`), or as it was (`before`). */
  | { type: 'rewind-file'; id: string; trackingPath: string; side: 'before' | 'after' }
  | { type: 'rewind-end'; id: string; outcome: 'done' | 'undone'; timestamp: string }

type Fields = Record<string, unknown>

/** A record out of what a line held; `undefined` if it is none of ours. */
export function parseEditRecord(value: Fields): EditRecord | undefined {
  switch (value['type']) {
    case 'backup':
      return parseBackupNote(value)
    case 'track':
    case 'edit':
    case 'unseen':
      return parseEvent(value)
    case 'rename':
      return parseRename(value)
    case 'evicted':
      return parseEvicted(value)
    case 'command':
    case 'command-end':
      return parseCommand(value)
    case 'rewind':
      return parseOperation(value)
    case 'rewind-file': {
      const { id, trackingPath, side } = value
      if (typeof id !== 'string' || typeof trackingPath !== 'string') return undefined
      return side === 'before' || side === 'after'
        ? { type: 'rewind-file', id, trackingPath, side }
        : undefined
    }
    case 'rewind-end': {
      const { id, outcome } = value
      if (typeof id !== 'string' || (outcome !== 'done' && outcome !== 'undone')) return undefined
      return { type: 'rewind-end', id, outcome, timestamp: timeOf(value) }
    }
    default:
      return undefined
  }
}

function timeOf(value: Fields): string {
  return typeof value['timestamp'] === 'string' ? value['timestamp'] : ''
}

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

function parseBackupNote(value: Fields): EditRecord | undefined {
  const state = parseState(value)
  const { name, first } = value
  if (!state || typeof name !== 'string') return undefined
  return { type: 'backup', name, ...state, first: first === true }
}

function parseEvent(value: Fields): EditRecord | undefined {
  const { type, messageId, trackingPath } = value
  const snapshot = parseAnchor(value['snapshot'])
  if (typeof messageId !== 'string' || typeof trackingPath !== 'string' || snapshot === undefined) {
    return undefined
  }
  const event = { messageId, trackingPath, snapshot, timestamp: timeOf(value) }
  if (type === 'track') return { type, ...event }
  if (type === 'unseen') return { type, ...event, reason: String(value['reason']) }
  const state = parseState(value['state'])
  if (state === undefined) return undefined
  const { inode } = value
  return { type: 'edit', ...event, state, ...(typeof inode === 'string' ? { inode } : {}) }
}

function parseRename(value: Fields): EditRecord | undefined {
  const { messageId, from, to } = value
  const snapshot = parseAnchor(value['snapshot'])
  if (typeof messageId !== 'string' || typeof from !== 'string' || typeof to !== 'string') return undefined
  if (snapshot === undefined) return undefined
  return { type: 'rename', messageId, from, to, snapshot, timestamp: timeOf(value) }
}

function parseEvicted(value: Fields): EditRecord | undefined {
  if (!Array.isArray(value['snapshots'])) return undefined
  const snapshots = value['snapshots']
    .map(parseAnchor)
    .filter((snapshot) => snapshot !== undefined && snapshot !== null)
  return { type: 'evicted', snapshots, timestamp: timeOf(value) }
}

function parseCommand(value: Fields): EditRecord | undefined {
  const { type, id, messageId } = value
  const timestamp = timeOf(value)
  if (typeof id !== 'string') return undefined
  if (type === 'command-end') {
    const keys = stringsOf(value['uncovered'])
    return { type, id, ...(keys.length > 0 ? { uncovered: keys } : {}), timestamp }
  }
  if (typeof messageId !== 'string') return undefined
  const snapshot = parseAnchor(value['snapshot'])
  return { type: 'command', id, messageId, ...(snapshot === undefined ? {} : { snapshot }), timestamp }
}

function parseOperation(value: Fields): Operation | undefined {
  const { id, kind, messageId, undoes, settled } = value
  const snapshot = parseAnchor(value['snapshot'])
  if (typeof id !== 'string' || (kind !== 'rewind' && kind !== 'undo')) return undefined
  if (typeof messageId !== 'string' || snapshot === undefined) return undefined
  if (!Array.isArray(value['files'])) return undefined
  const files = value['files'].map(parseOperationFile).filter((file) => file !== undefined)
  if (files.length !== value['files'].length) return undefined
  const of = typeof undoes === 'string' ? { undoes, settled: stringsOf(settled) } : {}
  return { type: 'rewind', id, kind, messageId, ...of, files, snapshot, timestamp: timeOf(value) }
}

function parseOperationFile(value: unknown): OperationFile | undefined {
  if (!isJsonObject(value)) return undefined
  const { trackingPath, path, realPath } = value
  const before = parseState(value['before'])
  const after = parseState(value['after'])
  const kept = parseInner(value['kept'])
  const source = parseInner(value['source'])
  if (typeof trackingPath !== 'string' || typeof path !== 'string' || typeof realPath !== 'string') {
    return undefined
  }
  if (before === undefined || after === undefined || kept === undefined || source === undefined) {
    return undefined
  }
  // Bytes that are to be written have to come from somewhere.
  if ((before === null) !== (kept === null) || (after === null) !== (source === null)) return undefined
  return { trackingPath, path, realPath, before, after, kept, source }
}

/** A name inside the backup folder. */
function parseInner(value: unknown): string | null | undefined {
  if (value === null) return null
  if (typeof value !== 'string' || value.startsWith('/') || value.split('/').includes('..')) return undefined
  return value
}

function parseAnchor(value: unknown): Anchor | undefined {
  if (value === null) return null
  if (!isJsonObject(value)) return undefined
  const { messageId, timestamp } = value
  if (typeof messageId !== 'string' || typeof timestamp !== 'string') return undefined
  return { messageId, timestamp }
}

function parseState(value: unknown): FileState | null | undefined {
  if (value === null) return null
  if (!isJsonObject(value)) return undefined
  const { sha256, sizeBytes, mode } = value
  if (typeof sha256 !== 'string' || typeof sizeBytes !== 'number' || typeof mode !== 'number')
    return undefined
  return { sha256, sizeBytes, mode }
}
