import { dirname } from 'node:path'
import { LociError } from '@loci/disk'
import { findTranscripts, listSessions, sessionInfo } from '@loci/session-jsonl'
import type { SessionInfo } from '@loci/session-jsonl'
import type { ConfigHome } from './config-home.ts'

/** A session on disk: where it is, and which directory it is about. */
export interface SessionPlace {
  sessionId: string
  path: string
  projectDir: string
  /** The directory recorded in it; where none is, the one we are in. */
  cwd: string
}

/**
 * Finds a session by its id, or by the beginning of it if that is enough, in any project's folder.
 * @throws {LociError} SESSION_NOT_FOUND, also when several sessions fit
 */
export async function findSession(home: ConfigHome, cwd: string, id: string): Promise<SessionPlace> {
  const found = (await findTranscripts(home.projectsDir)).filter(
    ({ sessionId }) => id !== '' && sessionId.startsWith(id),
  )
  const exact = found.filter(({ sessionId }) => sessionId === id)
  const candidates = exact.length > 0 ? exact : found
  const [only, another] = candidates
  if (only === undefined) {
    throw new LociError(
      'SESSION_NOT_FOUND',
      `There is no session ${JSON.stringify(id)}; loci sessions list --all shows them`,
      {
        details: { id, projectsDir: home.projectsDir },
      },
    )
  }
  // One id in several folders: that of the directory we are in, if only one is.
  const here: typeof exact = []
  if (another !== undefined) {
    for (const one of exact) if ((await sessionInfo(one.path))?.cwd === cwd) here.push(one)
  }
  const [own, second] = here
  if (own !== undefined && second === undefined) return placeOf(own, cwd)
  if (another !== undefined) {
    const which = candidates.map(({ path }) => path).join(', ')
    throw new LociError(
      'SESSION_NOT_FOUND',
      `${JSON.stringify(id)} fits several sessions: ${which}; give more of the id, or --cwd`,
      {
        details: { id, paths: candidates.map(({ path }) => path) },
      },
    )
  }
  return placeOf(only, (await sessionInfo(only.path))?.cwd ?? cwd)
}

/**
 * Finds a session by its id or the beginning of it, or by its title (any case), where titles of this directory count
 * before those of others.
 * @throws {LociError} SESSION_NOT_FOUND, also when several sessions fit
 */
async function findSessionByName(home: ConfigHome, cwd: string, name: string): Promise<SessionPlace> {
  const { projectsDir } = home
  const wanted = name.trim().toLowerCase()
  const isId = (await findTranscripts(projectsDir)).some(({ sessionId }) => sessionId === name)
  if (isId || wanted === '') return findSession(home, cwd, name)
  for (const where of [{ projectsDir, cwd }, { projectsDir }]) {
    const titled = (await listSessions(where)).filter(
      ({ customTitle }) => customTitle?.trim().toLowerCase() === wanted,
    )
    const [only, another] = titled
    if (only !== undefined && another === undefined) return placeOf(only, only.cwd ?? cwd)
    if (another !== undefined) {
      const which = titled.map(({ sessionId }) => sessionId).join(', ')
      throw new LociError(
        'SESSION_NOT_FOUND',
        `Several sessions are called ${JSON.stringify(name)}: ${which}`,
        {
          details: { name, sessionIds: titled.map(({ sessionId }) => sessionId) },
        },
      )
    }
  }
  return findSession(home, cwd, name)
}

/**
 * The session with `id`, or without one the newest of the directory.
 * @throws {LociError} SESSION_NOT_FOUND
 */
export async function findSessionOrNewest(
  home: ConfigHome,
  cwd: string,
  id: string | undefined,
): Promise<SessionPlace> {
  if (id !== undefined) return findSession(home, cwd, id)
  const [newest] = await listSessions({ projectsDir: home.projectsDir, cwd, limit: 1 })
  if (newest !== undefined) return placeOf(newest, newest.cwd ?? cwd)
  throw new LociError(
    'SESSION_NOT_FOUND',
    `There is no session of ${JSON.stringify(cwd)}; give --session SID or --cwd DIR`,
    {
      details: { cwd, projectsDir: home.projectsDir },
    },
  )
}

/** The session of that id or title; without one the newest of the directory. */
export function resumedPlace(home: ConfigHome, cwd: string, name: string): Promise<SessionPlace> {
  return name === '' ? findSessionOrNewest(home, cwd, undefined) : findSessionByName(home, cwd, name)
}

/** Where a listed session is. */
export function placeOf(session: Pick<SessionInfo, 'sessionId' | 'path'>, cwd: string): SessionPlace {
  const { sessionId, path } = session
  return { sessionId, path, projectDir: dirname(path), cwd }
}
