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
  REWIND_INCOMPLETE: 'file-history resolve finish, or undo, ends it',
}

/** The same for an id that names nothing. */
const ID_HINTS: readonly (readonly [detail: string, hint: string])[] = [
  ['messageId', 'file-history list shows the ids'],
  ['id', 'file-history undo --list shows the ids'],
]

type Coded = Error & { readonly code: string; readonly details?: Readonly<Record<string, unknown>> }

/** What was found wrong and what to do about it: the message, with commands in place of what it advises programs. */
function inCommands({ code, message, details = {} }: Coded): string {
  const hint = HINTS[code] ?? idHint(code, details)
  const named = message.replace(SCRATCH_NAME, '$<folder>$<name>"')
  if (hint === undefined) return named
  const isForPrograms = !code.startsWith('DISK_') && code !== 'REWIND_CONFLICT' && !('path' in details)
  const end = isForPrograms ? named.lastIndexOf('; ') : -1
  return `${end < 0 ? named : named.slice(0, end)}; ${hint}`
}

/** A file in the making: the one meant is what it is to become. */
const SCRATCH_NAME = /(?<folder>[/"])\.(?<name>[^/"]+?)\.[\w-]+\.tmp"/u

function idHint(code: string, details: Readonly<Record<string, unknown>>): string | undefined {
  if (code !== 'SNAPSHOT_NOT_FOUND' && code !== 'SNAPSHOT_EVICTED') return undefined
  return ID_HINTS.find(([detail]) => detail in details)?.[1]
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
    const isFinding = isLociError(error, 'REWIND_CONFLICT', 'REWIND_INCOMPLETE')
    return {
      line: `file-history: ${oneLine(inCommands(error))} [${error.code}]`,
      exitCode: isFinding ? 3 : 125,
    }
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { line: `file-history: a bug of ours, please report it: ${oneLine(what)}`, exitCode: 125 }
}
