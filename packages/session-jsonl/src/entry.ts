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

/** What every own line of a session carries. */
export interface LineContext {
  sessionId: string
  cwd?: string | undefined
  version?: string | undefined
  gitBranch?: string | undefined
  clock: () => Date
  createId: () => string
}

/** A checked draft. Its fields are fixed; the parent, which depends on what is appended before it, is not. */
export interface PreparedEntry {
  uuid: string
  /** `undefined`: the tip at the time of the append. */
  parentUuid: string | null | undefined
  /** The line without its newline. */
  line(parentUuid: string | null): string
}

/**
 * Checks a draft and fixes its line. `type`, `uuid` and `parentUuid` come first, then what every line carries, then
 * the draft's own fields; a field that the draft gives itself stays as given.
 *
 * @throws {TypeError} when the draft is not an object or a field has the wrong type
 * @throws {LociError} ENTRY_INVALID when it can be no line of this session's conversation
 */
export function prepareEntry(draft: unknown, context: LineContext): PreparedEntry {
  const { type, uuid, parentUuid, ...fields } = checkDraft(draft, context.sessionId)
  if (!isChainType(type)) {
    throw invalid(
      `${JSON.stringify(type)} is no line of a conversation; append user, assistant, system or attachment, and use record() for the rest`,
    )
  }
  if (parentUuid !== undefined && parentUuid !== null && typeof parentUuid !== 'string')
    throw new TypeError('parentUuid must be a string or null')
  if (uuid !== undefined && (typeof uuid !== 'string' || uuid === ''))
    throw new TypeError('uuid must be a string that is not empty')
  const { timestamp } = fields
  if (timestamp !== undefined && (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))))
    throw invalid('timestamp must be an ISO 8601 string')
  if (fields['isSidechain'] === true)
    throw invalid('A sidechain line belongs into the transcript of its subagent, not into the session')
  const id = uuid ?? context.createId()
  const { sessionId, cwd, version, gitBranch } = context
  const rest = formatJson({
    sessionId,
    timestamp: timestamp ?? context.clock().toISOString(),
    ...(cwd === undefined ? {} : { cwd }),
    ...(version === undefined ? {} : { version }),
    ...(gitBranch === undefined ? {} : { gitBranch }),
    userType: 'external',
    isSidechain: false,
    ...withoutUndefined(fields),
  })
  const head = `{"type":"${type}","uuid":${formatJson(id)},"parentUuid":`
  return { uuid: id, parentUuid, line: (parent) => `${head}${formatJson(parent)},${rest.slice(1)}` }
}

/**
 * The line, without its newline, of a record outside the conversation. `sessionId` is added at its end where the
 * format has it: on every such line but those of the file history, which are keyed by message.
 *
 * @throws {TypeError} when the draft is not an object or its type not a string
 * @throws {LociError} ENTRY_INVALID when it is a line of the conversation or of another session
 */
export function formatRecord(draft: unknown, sessionId: string): string {
  const fields = checkDraft(draft, sessionId)
  if (isChainType(fields.type)) throw invalid(`A ${fields.type} line is appended with append(), not record()`)
  if (fields.type === '') throw invalid('The type of a record must not be empty')
  const keyed = !fields.type.startsWith('file-history-')
  const { type, ...rest } = fields
  return formatJson({ type, ...withoutUndefined(rest), ...(keyed ? { sessionId } : {}) })
}

/**
 * JSON on one line for every reader: U+2028 and U+2029, which some readers take for line ends, are escaped.
 * Lone surrogates are escaped by `JSON.stringify` itself.
 */
export function formatJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (unit) =>
    unit === '\u2028' ? String.raw`\u2028` : String.raw`\u2029`,
  )
}

/** An ENTRY_INVALID with that message. */
export function invalid(message: string, details?: Record<string, unknown>): LociError {
  return new LociError('ENTRY_INVALID', message, { details })
}

function checkDraft(draft: unknown, sessionId: string): RecordDraft {
  if (!isObject(draft)) throw new TypeError('A draft must be an object')
  const { type } = draft
  if (typeof type !== 'string') throw new TypeError('The type of a draft must be a string')
  const owner = draft['sessionId']
  if (owner !== undefined && owner !== sessionId) {
    throw invalid(
      `The line is of session ${JSON.stringify(owner)} and must not go into session ${sessionId}; leave sessionId out`,
      { sessionId: owner },
    )
  }
  return { ...draft, type }
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
