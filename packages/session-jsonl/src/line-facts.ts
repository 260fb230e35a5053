import { isBoundary, isSummary, keptBy } from './compaction.ts'
import type { Kept } from './compaction.ts'
import { isChainType, isEntry } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { isBlank, objectEnd, skipBlanks } from './json-bytes.ts'

/**
 * What has to be known of a record to find the conversation among the lines, without what it says. Two ways lead
 * here, {@link factsOfRecord} and {@link factsInBytes}, and give the same.
 */
export interface LineFacts {
  /** Where in the file the record's JSON begins. */
  readonly offset: number
  readonly length: number
  readonly type: string
  /** `main`: a line of the conversation; `beside`: a subagent's, or of an unknown kind with a place in the tree;
   * `nameless`: of the conversation, but without a uuid; `outside`: any other record. */
  readonly place: 'main' | 'beside' | 'nameless' | 'outside'
  /** Of lines in the tree; `''` else. */
  readonly uuid: string
  /** `undefined` where the line names nothing that can be a parent. */
  readonly parentUuid: string | null | undefined
  readonly sidechain: boolean
  /** The line whose tool call it answers, if it says so. */
  readonly source: string | undefined
  readonly summary: boolean
  readonly boundary:
    | { readonly logicalParent: string | undefined; readonly kept: Kept | undefined }
    | undefined
  /** Where in the record the value of its one `sessionId` begins, if that is known. */
  readonly sessionIdAt: number | undefined
  /** What a `last-prompt` record says of the tip. */
  readonly mark: { readonly leaf: string | null | undefined; readonly explicit: boolean } | undefined
}

/** The facts of a record that was parsed. */
export function factsOfRecord(record: Entry | RecordDraft, offset: number, length: number): LineFacts {
  const entry = isEntry(record) && record.isSidechain !== true ? record : undefined
  return makeFacts(offset, length, {
    type: record.type,
    uuid: record['uuid'],
    parentUuid: record['parentUuid'],
    sidechain: record['isSidechain'] === true,
    source: record['sourceToolAssistantUUID'],
    summary: entry !== undefined && isSummary(entry),
    boundary:
      entry && isBoundary(entry)
        ? { logicalParent: text(record['logicalParentUuid']), kept: keptBy(entry) }
        : undefined,
    leaf: record['leafUuid'],
    explicit: record['explicit'] === true,
    sessionIdAt: undefined,
  })
}

interface Said {
  type: string
  uuid: unknown
  parentUuid: unknown
  sidechain: boolean
  source: unknown
  summary: boolean
  boundary: LineFacts['boundary']
  leaf: unknown
  explicit: boolean
  sessionIdAt: number | undefined
}

function makeFacts(offset: number, length: number, said: Said): LineFacts {
  const { type, sidechain } = said
  const chain = isChainType(type)
  const parentUuid = said.parentUuid === null ? null : text(said.parentUuid)
  const named = typeof said.uuid === 'string' && said.uuid !== ''
  const inTree = named && (chain || parentUuid !== undefined)
  const nameless = !named && !sidechain && (type === 'user' || type === 'assistant')
  const place = inTree ? (chain && !sidechain ? 'main' : 'beside') : nameless ? 'nameless' : 'outside'
  return {
    offset,
    length,
    type,
    place,
    uuid: inTree ? (text(said.uuid) ?? '') : '',
    parentUuid,
    sidechain,
    source: inTree ? text(said.source) : undefined,
    summary: place === 'main' && type === 'user' && said.summary,
    boundary: place === 'main' ? said.boundary : undefined,
    sessionIdAt: said.sessionIdAt,
    mark:
      type === 'last-prompt' && !inTree
        ? { leaf: said.leaf === null ? null : text(said.leaf), explicit: said.explicit }
        : undefined,
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The members that are looked at. */
const KEYS = [
  'type',
  'uuid',
  'parentUuid',
  'isSidechain',
  'subtype',
  'sourceToolAssistantUUID',
  'isCompactSummary',
  'leafUuid',
  'explicit',
  'sessionId',
] as const
/** Most others are told apart from them by their length and their first letter. */
const IS_LENGTH = new Uint8Array(Math.max(...KEYS.map((key) => key.length)) + 1)
const IS_FIRST = new Uint8Array(256)
for (const key of KEYS) {
  IS_LENGTH[key.length] = 1
  IS_FIRST[key.charCodeAt(0)] = 1
}
const IS_KEY: ReadonlySet<string> = new Set(KEYS)

/**
 * The facts of the one record that a line holds, read from its bytes: structure is walked and values are passed over.
 *
 * @param start where the line begins, and `end` where it ends, without its newline
 * @param base where in the file `bytes` begins
 * @returns `undefined` where only the parser can tell: anything but one plain object with a type
 */
export function factsInBytes(bytes: Buffer, start: number, end: number, base: number): LineFacts | undefined {
  const from = skipBlanks(bytes, start, end)
  let to = end
  while (to > from && isBlank(bytes[to - 1])) to -= 1
  if (to - from < 2 || bytes[from] !== OPEN_BRACE || bytes[to - 1] !== CLOSE_BRACE) return undefined
  const said: Partial<Record<string, unknown>> = {}
  let isUnsure = false
  let sessionIdAt: number | undefined
  const whole = objectEnd(bytes, from, to, 0, (keyStart, keyEnd, valueStart, valueStop) => {
    // A key may be written with escapes.
    if (!isPlain(bytes, keyStart, keyEnd)) isUnsure = true
    const first = bytes[keyStart] ?? 0
    if (IS_LENGTH[keyEnd - keyStart] !== 1 || IS_FIRST[first] !== 1) return
    const key = bytes.toString('latin1', keyStart, keyEnd)
    if (!IS_KEY.has(key)) return
    if (bytes[valueStart] === QUOTE && !isPlain(bytes, valueStart + 1, valueStop - 1)) isUnsure = true
    if (key === 'sessionId' && key in said) isUnsure = true
    if (key === 'sessionId') sessionIdAt = valueStart - from
    // The last of several members of one name counts, as it does for the parser.
    said[key] = scalar(bytes, valueStart, valueStop)
  })
  const { type, subtype } = said
  // What a compaction keeps is not read from bytes: there are few of them.
  if (whole !== to || isUnsure || typeof type !== 'string' || type === '' || subtype === 'compact_boundary')
    return undefined
  return makeFacts(base + from, to - from, {
    type,
    uuid: said['uuid'],
    parentUuid: said['parentUuid'],
    sidechain: said['isSidechain'] === true,
    source: said['sourceToolAssistantUUID'],
    summary: said['isCompactSummary'] === true,
    boundary: undefined,
    leaf: said['leafUuid'],
    explicit: said['explicit'] === true,
    sessionIdAt,
  })
}

/** Whether a string stands for the very bytes between its quotes, all of them ASCII. */
function isPlain(bytes: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] ?? 0
    if (byte === BACKSLASH || byte >= 0x80) return false
  }
  return true
}

/** The value of a plain string, of `true`, `false` and `null`; `undefined` for all else. */
function scalar(bytes: Buffer, start: number, end: number): unknown {
  const first = bytes[start]
  if (first === QUOTE) return bytes.toString('latin1', start + 1, end - 1)
  if (first === 0x74) return true
  if (first === 0x66) return false
  return first === 0x6e ? null : undefined
}
