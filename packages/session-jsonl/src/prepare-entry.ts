import { messageFlaw } from './check-message.ts'
import { formatJson, invalid, isChainType, isObject, MAX_LINE_BYTES } from './entry.ts'
import type { ChainType, Entry, RecordDraft } from './entry.ts'

/** A UUID between its quotes. */
const PARENT_BYTES = 38

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
  /** How long its line is, in bytes, with its newline, for a parent that is a UUID. */
  sizeBytes: number
  /**
   * The line, without its newline, and the entry that it reads as.
   *
   * @throws {LociError} ENTRY_INVALID when it is too long
   */
  finish(parentUuid: string | null): { line: string; entry: Entry }
}

/**
 * Checks a draft and fixes its line. `type`, `uuid` and `parentUuid` come first, then what every line carries, then
 * the draft's own fields; a field that the draft gives itself stays as given.
 *
 * @throws {TypeError} when the draft is not an object or a field has the wrong type
 * @throws {LociError} ENTRY_INVALID when it can be no line of this session's conversation
 */
export function prepareEntry(draft: unknown, context: LineContext): PreparedEntry {
  const { type, uuid, parentUuid, ...given } = checkDraft(draft, context.sessionId)
  if (!isChainType(type)) {
    throw invalid(
      `${JSON.stringify(type)} is no line of a conversation; append user, assistant, system or attachment, and use record() for the rest`,
    )
  }
  if (parentUuid !== undefined && parentUuid !== null && typeof parentUuid !== 'string')
    throw new TypeError('parentUuid must be a string or null')
  if (uuid !== undefined && (typeof uuid !== 'string' || uuid === ''))
    throw new TypeError('uuid must be a string that is not empty')
  const id = uuid ?? context.createId()
  const { sessionId, cwd, version, gitBranch } = context
  const rest = asJson({
    sessionId,
    timestamp: given['timestamp'] ?? context.clock().toISOString(),
    ...(cwd === undefined ? {} : { cwd }),
    ...(version === undefined ? {} : { version }),
    ...(gitBranch === undefined ? {} : { gitBranch }),
    userType: 'external',
    isSidechain: false,
    ...given,
  })
  const timestamp = checkFields(type, rest.value)
  const head = `{"type":"${type}","uuid":${formatJson(id)},"parentUuid":`
  const sizeBytes = Buffer.byteLength(head) + PARENT_BYTES + Buffer.byteLength(rest.text) + 1
  return {
    uuid: id,
    parentUuid,
    sizeBytes,
    finish: (parent) => ({
      line: checkLength(`${head}${formatJson(parent)},${rest.text.slice(1)}`),
      entry: { type, uuid: id, parentUuid: parent, sessionId, timestamp, ...rest.value },
    }),
  }
}

/** Refuses what no line of the conversation may say. Returns its timestamp. */
function checkFields(type: ChainType, fields: Record<string, unknown>): string {
  const { timestamp } = fields
  if (!isTimestamp(timestamp)) throw invalid('timestamp must be an ISO 8601 string with date, time and zone')
  if (fields['isSidechain'] === true)
    throw invalid('A sidechain line belongs into the transcript of its subagent, not into the session')
  const says = (type === 'user' || type === 'assistant') && Object.hasOwn(fields, 'message')
  const flaw = says ? messageFlaw(fields['message'], type) : undefined
  if (flaw !== undefined) throw invalid(flaw)
  return timestamp
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
  return checkLength(formatJson({ type, ...rest, ...(keyed ? { sessionId } : {}) }))
}

/**
 * Passes a line, without its newline, that can be read again.
 *
 * @throws {LociError} ENTRY_INVALID when it is too long
 */
function checkLength(line: string): string {
  if (line.length * 3 <= MAX_LINE_BYTES || Buffer.byteLength(line) <= MAX_LINE_BYTES) return line
  throw invalid(
    `The line is longer than ${MAX_LINE_BYTES} bytes, which nobody could read; keep large content in a file`,
  )
}

function checkDraft(draft: unknown, sessionId: string): RecordDraft {
  if (!isObject(draft)) throw new TypeError('A draft must be an object')
  const { type } = draft
  if (typeof type !== 'string') throw new TypeError('The type of a draft must be a string')
  const { sessionId: owner } = draft
  if (owner !== undefined && owner !== sessionId) {
    throw invalid(
      `The line is of session ${JSON.stringify(owner)} and must not go into session ${sessionId}; leave sessionId out`,
      { sessionId: owner },
    )
  }
  return { ...('toJSON' in draft ? asWritten(draft) : withoutAbsent(draft)), type }
}

/** What of a draft is there once it is written. */
function withoutAbsent(draft: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(draft).some((value) => isAbsent(value))) return draft
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => !isAbsent(value)))
}

/** Whether JSON leaves out a member with that value. */
function isAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol'
}

/** A draft that says itself how it is written, as it will be read. */
function asWritten(draft: Record<string, unknown>): Record<string, unknown> {
  const written = asJson(draft).value
  // As text its method may have made something else of it.
  if (['type', 'uuid', 'parentUuid', 'sessionId'].every((key) => written[key] === draft[key])) return written
  throw invalid('The draft reads otherwise once it is written; give plain JSON without toJSON()')
}

/**
 * An object as JSON, and as that reads.
 *
 * @throws {LociError} ENTRY_INVALID when it nests too deep or is too long; {@link TypeError} for what JSON has no form for
 */
function asJson(object: Record<string, unknown>): { text: string; value: Record<string, unknown> } {
  let text = ''
  try {
    text = formatJson(object)
  } catch (error) {
    if (error instanceof RangeError) throw invalid('The draft nests too deep or is too long to be written')
    throw error
  }
  const value: unknown = text === '' ? undefined : JSON.parse(text)
  if (isObject(value)) return { text, value }
  throw invalid('The draft reads otherwise once it is written; give plain JSON without toJSON()')
}

/** Whether `value` is a date and time as ISO 8601 has them, with a zone. */
function isTimestamp(value: unknown): value is string {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)$/
  return typeof value === 'string' && form.test(value) && !Number.isNaN(Date.parse(value))
}
