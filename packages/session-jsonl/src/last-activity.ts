import { isChainType } from './entry.ts'
import { lineMembers } from './extract-field.ts'
import { timeOf } from './read-head.ts'
import { unquote } from './scan-json.ts'

/**
 * When the newest entry of a conversation was written, by the last one in the tail of its transcript: milliseconds
 * since the epoch. Where the tail holds no entry, as after a long run of other records, the time of the newest of
 * those. `undefined` if none has a time. Pure.
 *
 * @param tail the end of a transcript; a window may cut its first line
 */
export function lastActivity(tail: string): number | undefined {
  return lastTime(tail, isMainLine) ?? lastTime(tail, () => true)
}

type Fields = ReadonlyMap<string, string>

function lastTime(text: string, accepts: (fields: Fields) => boolean): number | undefined {
  for (let end = text.length; end > 0;) {
    const start = text.lastIndexOf('\n', end - 1) + 1
    const fields = new Map(
      lineMembers(text, start, end).map((member) => [member.key, text.slice(member.start, member.end)]),
    )
    const time = timeOf(stringField(fields, 'timestamp'))
    if (time !== undefined && accepts(fields)) return time
    end = start - 1
  }
  return undefined
}

function isMainLine(fields: Fields): boolean {
  // Of a line whose beginning is cut the type may be missing; a uuid tells an entry.
  const entry = fields.has('type') ? isChainType(stringField(fields, 'type')) : fields.has('uuid')
  return entry && fields.get('isSidechain') !== 'true'
}

function stringField(fields: Fields, key: string): string | undefined {
  const token = fields.get(key)
  return token?.startsWith('"') === true ? unquote(token) : undefined
}
