import { searchSessions } from '@loci/session-jsonl'
import type { SearchHit } from '@loci/session-jsonl'
import { UsageError, parseCount } from '../arguments.ts'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { oneLine } from '../printable.ts'
import { lines, parameter } from './text.ts'

/** Shows each hit when it is found; with `--json` all of them at the end, one a line. */
export async function searchCommand(context: CommandContext): Promise<CommandResult> {
  const { home, cwd, options, say } = context
  const query = parameter(context, 0)
  if (query.replaceAll('"', '').trim() === '')
    throw new UsageError('sessions search needs a word to look for')
  const hits: SearchHit[] = []
  let unreadable = 0
  const search = searchSessions({
    projectsDir: home.projectsDir,
    query,
    ...(options.all === true ? {} : { cwd }),
    ...(options.archived === true ? { archived: true } : {}),
    ...(options.limit === undefined ? {} : { limit: parseCount('limit', options.limit) }),
    onProgress: (progress) => (unreadable = progress.unreadable),
  })
  for await (const hit of search) {
    hits.push(hit)
    say(hitLine(hit))
  }
  const where = options.all === true ? 'any session' : `a session of ${cwd}; --all searches every directory`
  const notes = [
    ...(hits.length === 0 ? [`${JSON.stringify(query)} is not in ${where}`] : []),
    ...(unreadable === 0 ? [] : [`sessions that could not be read to their end: ${unreadable}`]),
  ]
  return { value: hits, text: lines(notes), isLines: true }
}

/** A snippet is one line already; a time is what somebody wrote there. */
function hitLine({ sessionId, timestamp, role, snippet }: SearchHit): string {
  return `${sessionId}  ${oneLine(timestamp)}  ${role}: ${snippet}`
}
