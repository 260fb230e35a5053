import { join, resolve } from 'node:path'
import { findImportable } from '@loci/session-jsonl'
import type { SessionImport } from '@loci/session-jsonl'
import { UsageError } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { importWithHistory } from '../import-session.ts'
import { oneLine } from '../printable.ts'
import { counted, lines } from './text.ts'

/** What `sessions import --json` prints; paths are absolute. */
export interface ImportReport {
  imported: { sessionId: string; path: string }[]
  /** Here before, and the beginning of what the source has now. */
  extended: { sessionId: string; path: string }[]
  /** Here with all that the source has. */
  unchanged: { sessionId: string; path: string }[]
  /** Not as in the source: whole sessions, and single files beside one. Ours stay as they are. */
  skipped: { sessionId: string; path: string; reason: string }[]
}

/** After how many sessions a person who waits is told. */
const PROGRESS_EVERY = 100

/** Copies the sessions of another home, folder or file into this home, with their file histories. */
export async function importCommand(context: CommandContext): Promise<CommandResult> {
  const source = sourceOf(context)
  const transcripts = await findImportable(source)
  if (transcripts.length > 0) await context.home.claim()
  const value: ImportReport = { imported: [], extended: [], unchanged: [], skipped: [] }
  let done = 0
  for await (const result of importWithHistory(context.home, context.cwd, transcripts)) {
    note(value, result)
    done += 1
    if (done % PROGRESS_EVERY === 0) context.showProgress(`${done} of ${transcripts.length} sessions`)
  }
  return { value, text: lines(reportLines(value, source)), exitCode: value.skipped.length > 0 ? 3 : 0 }
}

/** The place given, else the home of the client that most people have. */
function sourceOf({ cwd, env, parameters }: CommandContext): string {
  const { CLAUDE_CONFIG_DIR: configured, HOME: userHome } = env
  const [given = configured] = parameters
  if (given) return resolve(cwd, given)
  if (userHome) return join(userHome, '.claude')
  throw new UsageError('there is no home to import from; give sessions import a directory')
}

function note(report: ImportReport, result: SessionImport): void {
  const { sessionId, path, outcome, reason = '', kept } = result
  if (outcome === 'skipped') report.skipped.push({ sessionId, path, reason })
  else report[outcome].push({ sessionId, path })
  for (const file of kept)
    report.skipped.push({ sessionId, path: file, reason: 'is not as in the source; ours stays as it is' })
}

function reportLines({ imported, extended, unchanged, skipped }: ImportReport, source: string): string[] {
  const all = imported.length + extended.length + unchanged.length + skipped.length
  if (all === 0) return [`no sessions in ${source}`]
  return [
    ...imported.map(({ sessionId, path }) => `imported ${sessionId}  ${path}`),
    ...extended.map(({ sessionId, path }) => `extended ${sessionId}  ${path}`),
    ...skipped.map(({ path, reason }) => `skipped ${path}: ${oneLine(reason)}`),
    ...(unchanged.length > 0 ? [`${counted(unchanged.length, 'session')} here already`] : []),
  ]
}
