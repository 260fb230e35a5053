import { join, resolve } from 'node:path'
import { LociError, files, orAbsent } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { createSession, openSession } from '@loci/session-jsonl'
import type { Session } from '@loci/session-jsonl'
import { forkWithHistory } from '../compose.ts'
import { openConfigHome } from '../config-home.ts'
import type { ConfigHome } from '../config-home.ts'
import type { SessionPlace } from '../find-session.ts'

/** How a conversation begins: a new one, or one that is there, gone on with or copied first. */
export type Start =
  | { kind: 'new'; sessionId?: string | undefined }
  | { kind: 'resume'; place: SessionPlace }
  | { kind: 'fork'; place: SessionPlace; wish: { newSessionId?: string; upTo?: string; title?: string } }

/** A session open for writing, and where it is. */
export interface StartedSession {
  session: Session
  home: ConfigHome
  projectDir: string
  /** The project, a real path. */
  root: string
  /** What to know about it, a sentence each. */
  notices: string[]
}

/**
 * Opens the session to talk in. In a config home that Loci did not make, one that is there is copied into our own.
 *
 * @throws {LociError} CONFIG_READ_ONLY, SESSION_EXISTS, SESSION_LOCKED, SESSION_NOT_FOUND, DISK_FULL, DISK_IO
 */
export async function startSession(options: {
  start: Start
  home: ConfigHome
  env: Readonly<Record<string, string | undefined>>
  write: boolean
  cwd: string
  version: string
  now: () => Date
}): Promise<StartedSession> {
  const { start, home, cwd, version, now } = options
  const writing = { version, clock: now }
  if (start.kind === 'new') {
    const root = await files.realpath(cwd)
    await home.claim()
    const projectDir = await resolveProjectDir({ projectsDir: home.projectsDir, root, create: true })
    const { sessionId } = start
    const session = await createSession({ ...writing, projectDir, cwd: root, sessionId })
    return { session, home, projectDir, root, notices: [] }
  }
  const { root, notice } = await workingDirectory(start.place, cwd)
  const notices = notice === undefined ? [] : [notice]
  const isForeign = home.kind === 'foreign' && !options.write
  if (start.kind === 'resume' && !isForeign) {
    await home.claim()
    const { projectDir, sessionId } = start.place
    const session = await openSession({ ...writing, projectDir, sessionId, cwd: root })
    return { session, home, projectDir, root, notices }
  }
  const toHome = isForeign ? await ownHome(options.env, cwd, home) : home
  await toHome.claim()
  const wish = start.kind === 'fork' ? start.wish : {}
  const fork = await forkWithHistory(home, { ...start.place, cwd: root }, { ...wish, toHome })
  const where = isForeign ? ` in ${toHome.dir}; ${home.dir} was not made by Loci and stays as it is` : ''
  notices.push(`Copied session ${start.place.sessionId} into ${fork.sessionId}${where}.`)
  if (isForeign) notices.push(`loci --resume ${fork.sessionId} goes on there another time.`)
  const { projectDir, sessionId } = fork
  const session = await openSession({ ...writing, projectDir, sessionId, cwd: root })
  return { session, home: toHome, projectDir, root, notices }
}

/**
 * Where a session works, a real path: its own directory, else `cwd`; and a sentence about it, if that is not both.
 *
 * @throws {LociError} DISK_IO, also when neither is there
 */
export async function workingDirectory(
  place: SessionPlace,
  cwd: string,
): Promise<{ root: string; notice: string | undefined }> {
  const recorded = await orAbsent(files.realpath(place.cwd))
  if (recorded === undefined) {
    const root = await files.realpath(cwd)
    return { root, notice: `${place.cwd}, the directory of the session, is gone; going on in ${root}.` }
  }
  const isHere = recorded === (await orAbsent(files.realpath(cwd)))
  return { root: recorded, notice: isHere ? undefined : `The session works in ${recorded}, not in ${cwd}.` }
}

/** The config home of the user, where a session of somebody else's is gone on with. */
async function ownHome(
  { LOCI_CONFIG_DIR: configured, HOME: userHome }: Readonly<Record<string, string | undefined>>,
  cwd: string,
  home: ConfigHome,
): Promise<ConfigHome> {
  for (const dir of [configured, userHome && join(userHome, '.loci')]) {
    if (!dir) continue
    const own = await openConfigHome({ dir: resolve(cwd, dir), write: false })
    if (own.kind !== 'foreign') return own
  }
  throw new LociError(
    'CONFIG_READ_ONLY',
    `${JSON.stringify(home.dir)} was not made by Loci and is only read, and there is no config home of ours to go on in; set LOCI_CONFIG_DIR to a new directory, or give --write`,
    { details: { dir: home.dir } },
  )
}
