import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { createStore } from '@loci/app-state'
import { LociError, breakLease, files, orAbsent } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import { emptyFileHistoryState, linkBackups, openFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { explainAutoMemory, memoryDirs, memoryRoot, openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { forkSession, listSessions, openSession, sessionInfo } from '@loci/session-jsonl'
import type { Session, SessionInfo } from '@loci/session-jsonl'
import type { ConfigHome } from './config-home.ts'
import { readSettings } from './settings.ts'
import { transcriptLedger } from './transcript-ledger.ts'

/**
 * The composition root: the only place where the packages meet. They know nothing of each other; here a session's
 * transcript becomes the ledger of its file history, and a store becomes its cell.
 */

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
  const found: { sessionId: string; path: string }[] = []
  for (const folder of (await orAbsent(files.readdir(home.projectsDir))) ?? []) {
    if (!folder.isDirectory()) continue
    const projectDir = join(home.projectsDir, folder.name)
    for (const { name } of await files.readdir(projectDir)) {
      const sessionId = name.endsWith('.jsonl') ? name.slice(0, -'.jsonl'.length) : undefined
      if (sessionId !== undefined && sessionId.startsWith(id) && id !== '') {
        found.push({ sessionId, path: join(projectDir, name) })
      }
    }
  }
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
  if (another !== undefined) {
    const which = candidates.map(({ path }) => path).join(', ')
    throw new LociError(
      'SESSION_NOT_FOUND',
      `${JSON.stringify(id)} fits several sessions: ${which}; give more of the id`,
      {
        details: { id, paths: candidates.map(({ path }) => path) },
      },
    )
  }
  return placeOf(only, (await sessionInfo(only.path))?.cwd ?? cwd)
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

function placeOf(session: Pick<SessionInfo, 'sessionId' | 'path'>, cwd: string): SessionPlace {
  const { sessionId, path } = session
  return { sessionId, path, projectDir: dirname(path), cwd }
}

/** Runs `work` on an open session and closes it, whatever happens. */
export async function withSession<T>(
  place: SessionPlace,
  mode: 'read' | 'write',
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { projectDir, sessionId, cwd } = place
  const session = await openSession({ projectDir, sessionId, cwd, mode })
  try {
    return await work(session)
  } finally {
    await session.close()
  }
}

/** Runs `work` on the file history of a session and closes it, whatever happens. */
export async function withHistory<T>(
  home: ConfigHome,
  place: SessionPlace,
  mode: 'read' | 'write',
  work: (history: FileHistory) => Promise<T>,
): Promise<T> {
  const history = await openFileHistory({
    dir: home.historyDir(place.sessionId),
    root: place.cwd,
    mode,
    ledger: transcriptLedger({
      path: place.path,
      record: (draft) => withSession(place, 'write', (session) => session.record(draft)),
    }),
    state: createStore(emptyFileHistoryState()),
  })
  try {
    return await work(history)
  } finally {
    await history.close()
  }
}

/**
 * Copies a conversation into a new session. Its backups are linked first: a crash between the steps leaves backups
 * that no session names, never a session without its backups.
 */
export async function forkWithHistory(
  home: ConfigHome,
  place: SessionPlace,
  options: { upTo?: string; title?: string },
): Promise<{ sessionId: string; path: string }> {
  const newSessionId = randomUUID()
  await linkBackups({ fromDir: home.historyDir(place.sessionId), toDir: home.historyDir(newSessionId) })
  const { projectDir, sessionId, cwd } = place
  return forkSession({ projectDir, sessionId, cwd, newSessionId, ...options })
}

/** Releases the leases on a session and on its file history, unless their owner decidably lives. */
export async function unlockSession(home: ConfigHome, place: SessionPlace): Promise<void> {
  for (const locked of [place.path, home.historyDir(place.sessionId)]) {
    if ((await orAbsent(files.stat(dirname(locked)))) !== undefined) await breakLease(locked)
  }
}

/** Where memory is for a directory, and whether it is on. */
export interface MemoryPlace {
  enabled: boolean
  /** The rule that decided. */
  rule: string
  dirs: ReturnType<typeof memoryDirs>
}

/**
 * Decides about memory for `cwd`, by its main repository's root. Reads settings; makes nothing, or with `create`
 * the project's folder with its owner recorded, if memory is on and lies there.
 * @throws {LociError} CONFIG_INVALID for settings that cannot be read as such
 */
export async function findMemory(options: {
  home: ConfigHome
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  bare: boolean
  create?: boolean
}): Promise<MemoryPlace> {
  const { home, cwd, env, bare } = options
  const settings = await readSettings({ configDir: home.dir, cwd })
  // A bare session composes no memory, though a variable that switches memory on would count for more.
  const { enabled, rule } = bare
    ? { enabled: false, rule: '--bare: no memory' }
    : explainAutoMemory({ env, settings })
  const project = { projectsDir: home.projectsDir, root: await memoryRoot(cwd) }
  const dirsIn = (projectDir: string): ReturnType<typeof memoryDirs> =>
    memoryDirs({ home: home.dir, projectDir, env, settings })
  const projectDir = await resolveProjectDir(project)
  const dirs = dirsIn(projectDir)
  if (options.create !== true || !enabled || dirname(dirs.project) !== projectDir)
    return { enabled, rule, dirs }
  return { enabled, rule, dirs: dirsIn(await resolveProjectDir({ ...project, create: true })) }
}

/** Runs `work` on a memory folder and closes it, whatever happens. */
export async function withMemory<T>(dir: string, work: (memory: Memdir) => Promise<T>): Promise<T> {
  const memory = await openMemdir({ dir })
  try {
    return await work(memory)
  } finally {
    await memory.close()
  }
}
