import { isChainType } from './entry.ts'
import { lineMembers } from './extract-field.ts'
import { lightRecords, wholeRecord } from './light-record.ts'
import { timeOf } from './read-head.ts'
import { stringAt } from './window.ts'
import type { Line, Window } from './window.ts'

/** What the end of a transcript says of its newest entry. */
export interface LastActivity {
  /**
   * When the newest entry was written, by the last one in the window: milliseconds since the epoch. Where it holds
   * none, as after a long run of other records, the time of the newest of those.
   */
  timeMs: number | undefined
  /** Whether it is the time of an entry. */
  isEntry: boolean
  /** As said by the lines from the last entry on; `undefined` where they do not. */
  cwd: string | undefined
  gitBranch: string | undefined
}

/**
 * Reads lines from the last one back to the newest entry. What a torn line says does not count, as it does not where the
 * session is opened. Pure.
 *
 * @param window ends with the file
 * @param options.isCut whether it may cut its first line, of which then counts what can be told from its end
 */
export function lastActivity(window: Window, options: { sessionId: string; isCut: boolean }): LastActivity {
  const found: LastActivity = { timeMs: undefined, isEntry: false, cwd: undefined, gitBranch: undefined }
  for (const line of window.lines.toReversed()) {
    const records =
      line.start === 0 && options.isCut
        ? [wholeRecord(window, line) ?? fieldsOf(window, line)]
        : lightRecords(window, line, options.sessionId)
    for (const fields of records.toReversed()) {
      const { cwd, gitBranch } = fields
      if (typeof cwd === 'string') found.cwd ??= cwd
      if (typeof gitBranch === 'string') found.gitBranch ??= gitBranch
      const timeMs = timeOf(fields['timestamp'])
      if (timeMs !== undefined && isMain(fields)) return { ...found, timeMs, isEntry: true }
      found.timeMs ??= timeMs
    }
  }
  return found
}

function isMain(fields: Record<string, unknown>): boolean {
  // Of a line whose beginning is cut the type may be missing; a uuid tells an entry.
  const isEntry = 'type' in fields ? isChainType(fields['type']) : 'uuid' in fields
  return isEntry && fields['isSidechain'] !== true
}

const READ = new Set(['type', 'uuid', 'timestamp', 'cwd', 'gitBranch'])

/** The fields that can be told of a line whose beginning is cut. */
function fieldsOf(window: Window, { start, end }: Line): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const member of lineMembers(window, start, end)) {
    if (READ.has(member.key)) fields[member.key] = stringAt(window, member.start, member.end)
    if (member.key === 'isSidechain') fields['isSidechain'] = window.text.startsWith('true', member.start)
  }
  return fields
}
