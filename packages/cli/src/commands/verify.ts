import type { Damage } from '@loci/disk'
import { listSessions, verifySession } from '@loci/session-jsonl'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { verifyHistory } from '../compose.ts'
import { findSession, findSessionOrNewest } from '../find-session.ts'
import { damageLines, lines } from './text.ts'

/** All of one session, or of every session of the directory (`--all`: of every directory), archived ones too. */
export async function verifySessionsCommand(context: CommandContext): Promise<CommandResult> {
  const { home, cwd, options, parameters } = context
  const [id] = parameters
  const here = options.all === true ? {} : { cwd }
  const places =
    id === undefined
      ? await listSessions({ projectsDir: home.projectsDir, archived: true, ...here })
      : [await findSession(home, cwd, id)]
  const value: Damage[] = []
  for (const { path } of places) value.push(...(await verifySession(path)))
  return report(value, `${places.length} ${places.length === 1 ? 'session' : 'sessions'} in order`)
}

export async function verifyHistoryCommand({ home, cwd, options }: CommandContext): Promise<CommandResult> {
  const place = await findSessionOrNewest(home, cwd, options.session)
  return report(await verifyHistory(home, place), `the file history of ${place.sessionId} is in order`)
}

function report(value: Damage[], inOrder: string): CommandResult {
  if (value.length === 0) return { value, text: lines([inOrder]) }
  return { value, text: lines(damageLines(value)), exitCode: 3 }
}
