import { isBoundary, isSummary, keptBy } from './compaction.ts'
import type { Kept } from './compaction.ts'
import { isChainType, isEntry } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { isBlank, skipBlanks, stringEnd, valueEnd } from './json-bytes.ts'

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
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** The members that are looked at, as the bytes of their keys. */
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
] as const
type Key = (typeof KEYS)[number]
const KEY_BYTES: readonly (readonly [Key, Buffer])[] = KEYS.map((key) => [key, Buffer.from(key)])
const LONGEST = Math.max(...KEYS.map((key) => key.length))
const BY_LENGTH: readonly (readonly (readonly [Key, Buffer])[])[] = Array.from(
  { length: LONGEST + 1 },
  (_, length) => KEY_BYTES.filter(([key]) => key.length === length),
)

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
  const said: Said = {
    type: '',
    uuid: undefined,
    parentUuid: undefined,
    sidechain: false,
    source: undefined,
    summary: false,
    boundary: undefined,
    leaf: undefined,
    explicit: false,
  }
  let isBoundaryLine = false
  let at = skipBlanks(bytes, from + 1, to)
  for (;;) {
    if (at >= to || bytes[at] !== QUOTE) return undefined
    const keyStart = at + 1
    at = stringEnd(bytes, at, to)
    if (at === -1) return undefined
    const key = keyAt(bytes, keyStart, at - 1)
    if (key === 'escaped') return undefined
    at = skipBlanks(bytes, at, to)
    if (at >= to || bytes[at] !== COLON) return undefined
    const valueStart = skipBlanks(bytes, at + 1, to)
    at = valueEnd(bytes, valueStart, to)
    if (at === -1) return undefined
    // The last of several members of one name counts, as it does for the parser.
    switch (key) {
      case 'type':
        said.type = text(scalar(bytes, valueStart, at)) ?? ''
        break
      case 'uuid':
        said.uuid = scalar(bytes, valueStart, at)
        break
      case 'parentUuid':
        said.parentUuid = scalar(bytes, valueStart, at)
        break
      case 'isSidechain':
        said.sidechain = scalar(bytes, valueStart, at) === true
        break
      case 'subtype':
        isBoundaryLine = scalar(bytes, valueStart, at) === 'compact_boundary'
        break
      case 'sourceToolAssistantUUID':
        said.source = scalar(bytes, valueStart, at)
        break
      case 'isCompactSummary':
        said.summary = scalar(bytes, valueStart, at) === true
        break
      case 'leafUuid':
        said.leaf = scalar(bytes, valueStart, at)
        break
      case 'explicit':
        said.explicit = scalar(bytes, valueStart, at) === true
        break
      default:
    }
    at = skipBlanks(bytes, at, to)
    if (at === to - 1) break
    if (bytes[at] !== COMMA) return undefined
    at = skipBlanks(bytes, at + 1, to)
  }
  // What a compaction keeps is not read from bytes: there are few of them.
  if (said.type === '' || isBoundaryLine) return undefined
  return makeFacts(base + from, to - from, said)
}

function keyAt(bytes: Buffer, start: number, end: number): Key | 'escaped' | undefined {
  const length = end - start
  if (length <= LONGEST) {
    for (const [key, wanted] of BY_LENGTH[length] ?? []) if (isAt(bytes, start, wanted)) return key
  }
  for (let i = start; i < end; i += 1) if (bytes[i] === BACKSLASH) return 'escaped'
  return undefined
}

function isAt(bytes: Buffer, at: number, wanted: Buffer): boolean {
  for (let i = 0; i < wanted.length; i += 1) if (bytes[at + i] !== wanted[i]) return false
  return true
}

/** The value of a scalar; `undefined` for an object or a list, which none of the members that are looked at may be. */
function scalar(bytes: Buffer, start: number, end: number): unknown {
  const first = bytes[start]
  if (first === QUOTE) {
    for (let i = start + 1; i < end - 1; i += 1) {
      const byte = bytes[i] ?? 0
      if (byte === BACKSLASH || byte >= 0x80) return JSON.parse(bytes.toString('utf8', start, end))
    }
    return bytes.toString('latin1', start + 1, end - 1)
  }
  if (first === 0x74) return true
  if (first === 0x66) return false
  return first === 0x6e ? null : undefined
}
