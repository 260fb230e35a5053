import { SID, stampOf } from './lines.ts'
import type { Line } from './lines.ts'

/** A piece to be put between two lines: text, and the damage it is, by the offset in it. */
export interface Piece {
  text: string | Uint8Array
  damage: readonly { kind: string; at: number }[]
  /** Whether it stands at the very end, without a newline. */
  open?: boolean
}

/** What a piece is made of: a number that is another one in each, and an entry that stands before it. */
export interface Spot {
  id: string
  before: readonly Line[]
  pick: number
}

const NOTE = { type: 'x-note', sessionId: SID }
const whole = (kind: string, text: string | Uint8Array): Piece => ({ text, damage: [{ kind, at: 0 }] })
const entry = (id: string, fields: Line): string =>
  JSON.stringify({
    type: 'user',
    uuid: id,
    parentUuid: null,
    sessionId: SID,
    timestamp: stampOf(1),
    ...fields,
  })
const said = (content: unknown): Line => ({ message: { role: 'user', content } })

/** An entry before the spot, each one once: what is written again three times is another story. */
function repeated({ before, pick }: Spot, change: (line: Line) => Line, kind: string): Piece[] {
  const entries = before.filter(
    ({ uuid, parentUuid }) => typeof uuid === 'string' && parentUuid !== undefined,
  )
  const line = entries[pick % Math.max(1, entries.length)]
  return line === undefined ? [] : [whole(kind, JSON.stringify(change(line)))]
}

/**
 * Every kind of damage that `verifySession` reports, but for lines too long for memory (`damage.long.test.ts`) and for
 * what is beside the transcript. What is planted stands between the lines of the transcript, so that it is the only
 * thing that is wrong.
 */
export const plantings: Readonly<Record<string, (spot: Spot) => Piece[]>> = {
  'torn line': ({ id, pick }) => {
    const stub = entry(id, said('never to be read }'))
    return [whole('torn-line', stub.slice(0, 1 + (pick % (stub.length - 1))))]
  },
  'torn line at the end': ({ id }) => [
    { ...whole('torn-line', entry(id, said('x')).slice(0, 40)), open: true },
  ],
  'record behind a stub': ({ id, pick }) => [
    whole('torn-line', entry(id, said('x')).slice(0, 1 + (pick % 60)) + JSON.stringify(NOTE)),
  ],
  'zero run': ({ pick }) => [whole('zero-run', '\0'.repeat(1 + pick))],
  'zero run before a record': ({ pick }) => [whole('zero-run', '\0'.repeat(1 + pick) + JSON.stringify(NOTE))],
  'zero run at the end': ({ pick }) => [{ ...whole('zero-run', '\0'.repeat(1 + pick)), open: true }],
  'zeros inside a record': ({ id, pick }) => [
    whole('torn-line', `{"type":"user","uuid":"${id}","message"${'\0'.repeat(1 + pick)}:{}}`),
  ],
  'two records on a line': () => {
    const note = JSON.stringify(NOTE)
    return [{ text: note + note, damage: [{ kind: 'glued-lines', at: note.length }] }]
  },
  'bytes that are not UTF-8': () => [
    whole('invalid-utf8', Buffer.from(JSON.stringify({ ...NOTE, said: '\u00ff' }), 'latin1')),
  ],
  'no object': ({ pick }) => [
    whole(
      'not-an-object',
      ['42', '[1]', '"text"', 'null', 'true', `[${JSON.stringify(NOTE)}]`][pick % 6] ?? '',
    ),
  ],
  'no type': ({ pick }) => [
    whole('no-type', ['{}', '{"type":""}', '{"type":5}', `{"uuid":"x","parentUuid":null}`][pick % 4] ?? ''),
  ],
  'missing parent': ({ id }) => [
    whole('missing-parent', entry(id, { parentUuid: `nobody-${id}`, ...said('x') })),
  ],
  'parent that is no name': ({ id, pick }) => [
    whole('missing-parent', entry(id, { parentUuid: [5, true, {}, [], undefined][pick % 5], ...said('x') })),
  ],
  "parent that is a subagent's": ({ id }) => [
    { text: entry(`${id}-aside`, { isSidechain: true, ...said('x') }), damage: [] },
    whole('missing-parent', entry(id, { parentUuid: `${id}-aside`, ...said('x') })),
  ],
  'entry that follows itself': ({ id }) => [whole('cycle', entry(id, { parentUuid: id, ...said('x') }))],
  'ring of three': ({ id }) => [
    whole('cycle', entry(`${id}-1`, { parentUuid: `${id}-3`, ...said('x') })),
    { text: entry(`${id}-2`, { parentUuid: `${id}-1`, ...said('x') }), damage: [] },
    { text: entry(`${id}-3`, { parentUuid: `${id}-2`, ...said('x') }), damage: [] },
  ],
  'entry twice': (spot) => repeated(spot, (line) => line, 'duplicate-entry'),
  'entry twice, the second a root': (spot) =>
    repeated(spot, (line) => ({ ...line, parentUuid: null }), 'duplicate-entry'),
  'entry that says something else': (spot) =>
    repeated(spot, (line) => ({ ...line, changed: true }), 'conflicting-entry'),
  'entry that is of another kind': (spot) =>
    repeated(
      spot,
      (line) => ({ ...line, type: line['type'] === 'user' ? 'system' : 'user', ...said('x') }),
      'conflicting-entry',
    ),
  'line without uuid': ({ pick }) => [
    whole(
      'missing-uuid',
      JSON.stringify({ ...NOTE, type: pick % 2 ? 'user' : 'assistant', ...said(`x${pick}`) }),
    ),
  ],
  'line of another session': ({ id }) => [
    whole('foreign-session', JSON.stringify({ ...NOTE, sessionId: `foreign-${id}` })),
    { text: JSON.stringify({ ...NOTE, sessionId: `foreign-${id}` }), damage: [] },
  ],
  'result of no call': ({ id, before, pick }) => [
    whole(
      'stray-result',
      entry(id, {
        parentUuid: mainBefore(before, pick),
        ...said([{ type: 'tool_result', tool_use_id: `toolu-${id}`, content: 'x' }]),
      }),
    ),
  ],
  'content that cannot be sent': ({ id, pick }) => [
    whole(
      'unreadable-content',
      entry(id, said([5, [5], [{ type: 'text' }], [{ text: 'x' }], null][pick % 5])),
    ),
  ],
  'compaction without summary': ({ id, before, pick }) => [
    whole(
      'unfinished-compaction',
      entry(id, { type: 'system', subtype: 'compact_boundary', logicalParentUuid: mainBefore(before, pick) }),
    ),
  ],
  'compaction that keeps what is not there': ({ id, pick }) => [
    whole(
      'missing-kept',
      entry(id, {
        type: 'system',
        subtype: 'compact_boundary',
        compactMetadata:
          pick % 2 === 0
            ? { preservedMessages: { anchorUuid: `${id}-s`, uuids: [`gone-${id}`] } }
            : { preservedSegment: { headUuid: `gone-${id}`, tailUuid: `gone-${id}`, anchorUuid: `${id}-s` } },
      }),
    ),
    { text: entry(`${id}-s`, { parentUuid: id, isCompactSummary: true, ...said('x') }), damage: [] },
  ],
}

function mainBefore(before: readonly Line[], pick: number): string | null {
  const names = before
    .filter(({ type, isSidechain }) => (type === 'user' || type === 'assistant') && isSidechain !== true)
    .flatMap(({ uuid }) => (typeof uuid === 'string' ? [uuid] : []))
  return names[pick % Math.max(1, names.length)] ?? null
}

/** Whether a line stands in the tree. */
export function isNode({ uuid, parentUuid }: Line): boolean {
  return typeof uuid === 'string' && parentUuid !== undefined
}
