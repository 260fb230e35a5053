import { isLociError } from '@loci/disk'
import { UsageError } from './arguments.ts'
import { oneLine } from './printable.ts'

/** What an error looks like from outside: one line, and the exit code. */
export interface ErrorReport {
  line: string
  exitCode: 1 | 2 | 3 | 70 | 130
}

/** Whether an error says that something was found which somebody has to decide about. */
function isFinding(error: unknown): boolean {
  if (isLociError(error, 'REWIND_CONFLICT', 'REWIND_INCOMPLETE')) return true
  // Without a revision the index was merely busy, and the save can be tried again.
  return isLociError(error, 'MEMORY_CONFLICT') && error.details?.['revision'] !== undefined
}

/** What the packages cannot know: which command helps. */
const HINTS: Readonly<Record<string, string>> = {
  ENTRY_NOT_FOUND: 'loci sessions show SID lists them',
  HISTORY_LOCKED: 'loci sessions unlock SID if that process is gone',
  MEMORY_CONFLICT: 'loci memory show FILE --json gives the revision for ifRevision',
  REWIND_CONFLICT: '--on-conflict skip or overwrite decides, --dry-run shows the plan',
  REWIND_INCOMPLETE: 'loci history resolve finish, or undo, with --session SID',
  SESSION_LOCKED: 'loci sessions fork SID copies it, loci sessions unlock SID if that process is gone',
  SNAPSHOT_EVICTED: 'loci history list shows what is kept',
  SNAPSHOT_NOT_FOUND: 'loci history list shows the ids',
}

/** The same within a session, where slash commands are nearer. */
const SESSION_HINTS: Readonly<Record<string, string>> = {
  ...HINTS,
  ENTRY_NOT_FOUND: '/rewind lists the prompts',
  REWIND_CONFLICT: '/rewind ID files skip, or overwrite, decides',
  REWIND_INCOMPLETE: '/resolve finish, or undo',
  SNAPSHOT_NOT_FOUND: '/rewind lists the prompts',
}

/** The line and the exit code for whatever a command threw, on the command line or `inSession`. */
export function reportError(error: unknown, where: 'inSession' | 'onCommandLine'): ErrorReport {
  if (error instanceof UsageError) {
    const advice = where === 'inSession' ? '' : '; see loci --help'
    return { line: `loci: ${oneLine(error.message)}${advice}`, exitCode: 2 }
  }
  if (isLociError(error)) {
    const hint = (where === 'inSession' ? SESSION_HINTS : HINTS)[error.code]
    const advice = hint === undefined ? '' : `; ${hint}`
    return {
      line: `loci: ${oneLine(error.message)}${advice} [${error.code}]`,
      exitCode: error.code === 'TURN_INTERRUPTED' ? 130 : isFinding(error) ? 3 : 1,
    }
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return {
    line: `loci: a bug of ours, please report it (--debug shows where): ${oneLine(what)}`,
    exitCode: 70,
  }
}
