// The composition root: the only place where the packages meet. They know nothing of each other; here a session's
// transcript becomes the ledger of its file history, and a store becomes its cell.

import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { createStore } from '@loci/app-state'
import { LociError, files, orAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { resolveProjectDir } from '@loci/disk/project'
import {
  emptyFileHistoryState,
  linkBackups,
  openFileHistory,
  unlockFileHistory,
  verifyFileHistory,
} from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { explainAutoMemory, memoryDirs, memoryRoot, openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { deleteSession, forkSession, openScratchpad, openSession, unlockSession } from '@loci/session-jsonl'
import type { RecordDraft, Session } from '@loci/session-jsonl'
import type { ConfigHome } from './config-home.ts'
import { filesBelow } from './files-below.ts'
import type { SessionPlace } from './find-session.ts'
import { readSettings } from './settings.ts'
import { transcriptLedger } from './transcript-ledger.ts'

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

/**
 * The file history of a session: its snapshots are lines of the transcript, which `record` writes.
 *
 * @throws {LociError} HISTORY_LOCKED, DISK_FULL, DISK_IO
 */
export function openSessionHistory(
  home: ConfigHome,
  place: Pick<SessionPlace, 'sessionId' | 'path' | 'cwd'>,
  how: { mode: 'read' | 'write'; record: (draft: RecordDraft) => Promise<void> },
): Promise<FileHistory> {
  return openFileHistory({
    dir: home.historyDir(place.sessionId),
    root: place.cwd,
    mode: how.mode,
    ledger: transcriptLedger({ path: place.path, record: how.record }),
    state: createStore(emptyFileHistoryState()),
  })
}

/**
 * What is damaged in the file history of a session. Takes no lease.
 *
 * @param options.isTranscriptKnown leaves out what cannot be read of the transcript, and the reading for it
 */
export function verifyHistory(
  home: ConfigHome,
  place: SessionPlace,
  options: { isTranscriptKnown?: boolean } = {},
): Promise<Damage[]> {
  const ledger = transcriptLedger({ path: place.path, record: async () => undefined })
  return verifyFileHistory({
    dir: home.historyDir(place.sessionId),
    root: place.cwd,
    ledger: options.isTranscriptKnown === true ? { ...ledger, damage: async () => [] } : ledger,
  })
}

/** Runs `work` on the file history of a session and closes it, whatever happens. */
export async function withHistory<T>(
  home: ConfigHome,
  place: SessionPlace,
  mode: 'read' | 'write',
  work: (history: FileHistory) => Promise<T>,
): Promise<T> {
  const history = await openSessionHistory(home, place, {
    mode,
    record: (draft) => withSession(place, 'write', (session) => session.record(draft)),
  })
  try {
    return await work(history)
  } finally {
    await history.close()
  }
}

/**
 * Copies a conversation into a new session, of the same config home or another. Its backups are linked first: a crash
 * between the steps leaves backups that no session names, never a session without its backups.
 *
 * @throws {LociError} as `forkSession`
 */
export async function forkWithHistory(
  home: ConfigHome,
  place: SessionPlace,
  options: { upTo?: string; title?: string; newSessionId?: string; toHome?: ConfigHome },
): Promise<SessionPlace> {
  const { toHome = home, newSessionId = randomUUID(), ...wish } = options
  const { projectDir, sessionId, cwd } = place
  const toDir = toHome.historyDir(newSessionId)
  // What is there is another session's, and must not be mixed with this one's.
  if ((await orAbsent(files.lstat(toDir))) !== undefined) {
    throw new LociError('SESSION_EXISTS', `There is a session ${newSessionId} already; choose another id`, {
      details: { sessionId: newSessionId },
    })
  }
  const toProjectDir =
    toHome === home
      ? projectDir
      : await resolveProjectDir({ projectsDir: toHome.projectsDir, root: cwd, create: true })
  await linkBackups({ fromDir: home.historyDir(sessionId), toDir })
  try {
    const fork = await forkSession({ projectDir, sessionId, cwd, newSessionId, toProjectDir, ...wish })
    return { ...fork, projectDir: toProjectDir, cwd }
  } catch (error) {
    // A folder that stays behind is no session's; the error to tell is the fork's.
    await files.removeTree(toDir).catch(() => undefined)
    throw error
  }
}

/**
 * Deletes a session for good, and its file history first: a crash between the steps leaves a session that is listed and
 * can be deleted again, never backups that no session names. Neither may be open.
 *
 * @returns every file that is gone, absolute paths, sorted
 * @throws {LociError} SESSION_LOCKED, HISTORY_LOCKED: nothing was removed, but for the file history where it is only the
 * scratchpad that somebody keeps; DISK_FULL, DISK_IO
 */
export async function deleteWithHistory(
  home: ConfigHome,
  place: SessionPlace,
): Promise<{ removed: string[] }> {
  const dir = home.historyDir(place.sessionId)
  const backups = await withSession(place, 'write', async () => {
    const found = await filesBelow(dir)
    // Opened for writing only to see that nobody has it open.
    if (found.length > 0) await withHistory(home, place, 'write', async () => undefined)
    await files.removeTree(dir)
    return found
  })
  const { removed } = await deleteSession(place)
  return { removed: [...removed, ...backups].toSorted() }
}

/** Releases the leases on a session, its scratchpad and its file history, unless their owner decidably lives. */
export async function unlock(home: ConfigHome, place: SessionPlace): Promise<void> {
  await unlockSession(place)
  await openScratchpad(place).unlock()
  await unlockFileHistory(home.historyDir(place.sessionId))
}

/** Where memory is for a directory, and whether it is on. */
export interface MemoryPlace {
  enabled: boolean
  /** The rule that decided. */
  rule: string
  dirs: ReturnType<typeof memoryDirs>
  mode: 'index' | 'daily-log'
  /** Whether what the background saves waits for a person. */
  review: boolean
  /** Whether the background looks for what to remember. */
  extraction: boolean
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
  const root = await memoryRoot(cwd)
  // Where the memory is one, its settings are.
  const settings = await readSettings({ configDir: home.dir, cwd: root })
  // A bare session composes no memory, though a variable that switches memory on would count for more.
  const { enabled, rule } = bare
    ? { enabled: false, rule: '--bare: no memory' }
    : explainAutoMemory({ env, settings })
  const project = { projectsDir: home.projectsDir, root }
  const how = {
    enabled,
    rule,
    mode: settings.memoryMode ?? 'index',
    review: settings.memoryReview ?? false,
    extraction: enabled && settings.memoryExtraction !== false,
  }
  const dirsIn = (projectDir: string): ReturnType<typeof memoryDirs> => {
    const dirs = memoryDirs({ home: home.dir, projectDir, env, settings })
    const warnings = [...(settings.warnings ?? []), ...(dirs.warnings ?? [])]
    return warnings.length > 0 ? { ...dirs, warnings } : dirs
  }
  const projectDir = await resolveProjectDir(project)
  const dirs = dirsIn(projectDir)
  if (options.create !== true || !enabled || dirname(dirs.project) !== projectDir) return { ...how, dirs }
  return { ...how, dirs: dirsIn(await resolveProjectDir({ ...project, create: true })) }
}

/** Runs `work` on a memory folder and closes it, whatever happens. */
export async function withMemory<T>(
  place: { dir: string; sessionId?: string; messageId?: string; review?: boolean },
  work: (memory: Memdir) => Promise<T>,
): Promise<T> {
  const memory = await openMemdir(place)
  try {
    return await work(memory)
  } finally {
    await memory.close()
  }
}
