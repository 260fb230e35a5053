import { isLociError } from '@loci/disk'
import { UsageError } from './arguments.ts'
import { InterruptedError } from './interruption.ts'
import { oneLine } from './visible.ts'

/** What an error looks like from outside: one line, and the exit code. */
export interface ErrorReport {
  line: string
  exitCode: number
}

/** What the package cannot know: which command helps. */
const HINTS: Readonly<Record<string, string>> = {
  DISK_FULL: '--dir DIR keeps the history elsewhere',
  DISK_IO: '--dir DIR keeps the history elsewhere',
  HISTORY_LOCKED: 'end that process, or if it is gone for certain: file-history unlock',
  REWIND_CONFLICT: 'file-history rewind with --on-conflict skip, or overwrite, decides',
  REWIND_INCOMPLETE: 'that is file-history resolve finish, or undo',
  SNAPSHOT_EVICTED: 'file-history list shows what is kept',
  SNAPSHOT_NOT_FOUND: 'file-history list shows the ids',
}

/** The line and the exit code for whatever a command threw. Pure. */
export function reportError(error: unknown): ErrorReport {
  if (error instanceof UsageError) {
    return { line: `file-history: ${oneLine(error.message)}; see file-history --help`, exitCode: 2 }
  }
  if (error instanceof InterruptedError) {
    return { line: `file-history: ${error.message}`, exitCode: error.exitCode }
  }
  if (isLociError(error)) {
    const hint = HINTS[error.code]
    const advice = hint === undefined ? '' : `; ${hint}`
    // What the message advises of that is for programs.
    const end = error.code === 'HISTORY_LOCKED' ? error.message.lastIndexOf('; ') : -1
    const message = end < 0 ? error.message : error.message.slice(0, end)
    const isFinding = isLociError(error, 'REWIND_CONFLICT', 'REWIND_INCOMPLETE')
    return {
      line: `file-history: ${oneLine(message)}${advice} [${error.code}]`,
      exitCode: isFinding ? 3 : 125,
    }
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { line: `file-history: a bug of ours, please report it: ${oneLine(what)}`, exitCode: 125 }
}
