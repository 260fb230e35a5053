import { UsageError } from '../arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { withHistory, withSession } from '../compose.ts'
import type { ConfigHome } from '../config-home.ts'
import { resumedPlace } from '../find-session.ts'
import type { SessionPlace } from '../find-session.ts'
import { lookAtSession } from './look-at-session.ts'
import type { Start } from './start-session.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * How the conversation begins, by `--continue`, `--resume`, `--fork-session` and `--session-id`.
 *
 * @throws {UsageError} when they contradict each other
 * @throws {LociError} SESSION_NOT_FOUND
 */
export async function chooseStart({ home, cwd, options }: CommandContext): Promise<Start> {
  const sessionId = options['session-id']
  const isFork = options['fork-session'] === true
  if (sessionId !== undefined && !UUID.test(sessionId))
    throw new UsageError(`--session-id takes a UUID, not ${JSON.stringify(sessionId)}`)
  if (options.continue === true && options.resume !== undefined)
    throw new UsageError('--continue and --resume say two things; give one')
  if (options.continue !== true && options.resume === undefined) {
    if (isFork) throw new UsageError('--fork-session needs --resume or --continue')
    return { kind: 'new', sessionId: sessionId?.toLowerCase() }
  }
  if (sessionId !== undefined && !isFork)
    throw new UsageError(
      '--session-id names a new session; with --resume or --continue it needs --fork-session',
    )
  const place = await resumedPlace(home, cwd, options.resume ?? '')
  if (!isFork) return { kind: 'resume', place }
  return {
    kind: 'fork',
    place,
    wish: sessionId === undefined ? {} : { newSessionId: sessionId.toLowerCase() },
  }
}

/** What to know of a session before going on with it. Takes no lease and makes nothing. */
export function lookAtPlace(home: ConfigHome, place: SessionPlace): Promise<string[]> {
  return withSession(place, 'read', (session) =>
    withHistory(home, place, 'read', (history) => lookAtSession(session, history)),
  )
}
