import { isChainType } from './entry.ts'
import { lineMembers } from './extract-field.ts'
import { wholeRecord } from './light-record.ts'
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
  /** As said by the lines from the last entry on; `undefined` where they do not. */
  cwd: string | undefined
  gitBranch: string | undefined
}

/** Reads lines from the last one back to the newest entry. Pure; a window may cut its first line. */
export function lastActivity(window: Window): LastActivity {
  const found: LastActivity = { timeMs: undefined, cwd: undefined, gitBranch: undefined }
  for (const line of window.lines.toReversed()) {
    const fields = wholeRecord(window, line) ?? fieldsOf(window, line)
    const { cwd, gitBranch } = fields
    if (typeof cwd === 'string') found.cwd ??= cwd
    if (typeof gitBranch === 'string') found.gitBranch ??= gitBranch
    const timeMs = timeOf(fields['timestamp'])
    if (timeMs !== undefined && isMain(fields)) return { ...found, timeMs }
    found.timeMs ??= timeMs
  }
  return found
}

function isMain(fields: Record<string, unknown>): boolean {
  // Of a line whose beginning is cut the type may be missing; a uuid tells an entry.
  const isEntry = 'type' in fields ? isChainType(fields['type']) : 'uuid' in fields
  return isEntry && fields['isSidechain'] !== true
}

const READ = new Set(['type', 'uuid', 'timestamp', 'cwd', 'gitBranch'])

/** The fields that can be told of a line that is cut or damaged. */
function fieldsOf(window: Window, { start, end }: Line): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const member of lineMembers(window, start, end)) {
    if (READ.has(member.key)) fields[member.key] = stringAt(window, member.start, member.end)
    if (member.key === 'isSidechain') fields['isSidechain'] = window.text.startsWith('true', member.start)
  }
  return fields
}
