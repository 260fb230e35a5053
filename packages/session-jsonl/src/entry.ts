import { LociError } from '@loci/disk'

/** The four kinds of line that make up a conversation. */
const CHAIN_TYPES = ['user', 'assistant', 'system', 'attachment'] as const
/** One of them. */
export type ChainType = (typeof CHAIN_TYPES)[number]

/** What a caller gives to `append`: the kind and its fields; everything else is filled in. */
export interface EntryDraft {
  type: ChainType
  /** The entry this one follows; `null` begins a new conversation in the file. Default: the tip. */
  parentUuid?: string | null
  [field: string]: unknown
}

/**
 * A line of the conversation tree as it is on disk, unknown fields included. Lines of other programs may lack
 * `sessionId` or `timestamp`.
 *
 * Source: `docs/formats/session.md`, line kinds.
 */
export interface Entry {
  type: string
  uuid: string
  parentUuid: string | null
  sessionId: string
  /** ISO 8601, UTC. */
  timestamp: string
  message?: unknown
  isSidechain?: boolean
  cwd?: string
  gitBranch?: string
  version?: string
  [field: string]: unknown
}

/** A line outside the conversation tree: titles, tags, snapshots, replacements and whatever other programs keep. */
export interface RecordDraft {
  type: string
  [field: string]: unknown
}

/** Whether `type` is one of the kinds that make up a conversation. */
export function isChainType(type: unknown): type is ChainType {
  return CHAIN_TYPES.some((known) => known === type)
}

/** Whether `value` is a JSON object, which an array is not. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a record is a line of the conversation tree that can be named: of a chain kind, with a uuid. */
export function isEntry(record: Entry | RecordDraft): record is Entry {
  return isChainType(record.type) && typeof record['uuid'] === 'string' && record['uuid'] !== ''
}

/** Beyond this a line is reported and skipped by who reads it; a JavaScript string cannot hold much more. */
export const MAX_LINE_BYTES: number = 256 * 1024 * 1024

/**
 * JSON on one line for every reader: U+2028 and U+2029, which some readers take for line ends, are escaped.
 * Lone surrogates are escaped by `JSON.stringify` itself. `''` for what has no JSON.
 */
export function formatJson(value: unknown): string {
  const json: unknown = JSON.stringify(value)
  if (typeof json !== 'string') return ''
  return json.replace(/[\u2028\u2029]/g, (unit) =>
    unit === '\u2028' ? String.raw`\u2028` : String.raw`\u2029`,
  )
}

/** An ENTRY_INVALID with that message. */
export function invalid(message: string, details?: Record<string, unknown>): LociError {
  return new LociError('ENTRY_INVALID', message, { details })
}
