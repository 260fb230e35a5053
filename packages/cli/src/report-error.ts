import { isLociError } from '@loci/disk'
import { UsageError } from './arguments.ts'

/** What an error looks like from outside: one line, and the exit code. */
export interface ErrorReport {
  line: string
  exitCode: 1 | 2 | 3 | 70
}

/** Whether an error says that something was found which somebody has to decide about. */
function isFinding(error: unknown): boolean {
  if (isLociError(error, 'REWIND_CONFLICT', 'REWIND_INCOMPLETE')) return true
  // Without a revision the index was merely busy, and the save can be tried again.
  return isLociError(error, 'MEMORY_CONFLICT') && error.details?.['revision'] !== undefined
}

export function reportError(error: unknown): ErrorReport {
  if (error instanceof UsageError)
    return { line: `loci: ${oneLine(error.message)}; see loci --help`, exitCode: 2 }
  if (isLociError(error)) {
    return {
      line: `loci: ${oneLine(error.message)} [${error.code}]`,
      exitCode: isFinding(error) ? 3 : 1,
    }
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return {
    line: `loci: a bug of ours, please report it (--debug shows where): ${oneLine(what)}`,
    exitCode: 70,
  }
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}
