import { join } from 'node:path'
import { fileErrno, files, filesNow, isAbsent, orAbsent } from '@loci/disk'
import { sessionIdOf } from './session-path.ts'

/** A transcript as a folder shows it, unread. */
export interface FoundTranscript {
  sessionId: string
  path: string
  sizeBytes: number
  mtimeMs: number
}

/**
 * Every transcript below `projectsDir` whose name is a UUID, last written first, then by path; opens none. For a
 * session by its id, wherever it lies.
 *
 * @throws {LociError} DISK_IO when a directory cannot be read
 */
export async function findTranscripts(projectsDir: string): Promise<FoundTranscript[]> {
  const found: FoundTranscript[] = []
  for (const { sessionId, path, sizeBytes, mtimeMs } of await statTranscripts(await namedIn(projectsDir)))
    found.push({ sessionId, path, sizeBytes, mtimeMs })
  return found
}

/** A name in a project's folder that is a transcript's. */
export interface NamedTranscript {
  sessionId: string
  path: string
  /** Whether the folder holds a directory, or anything else, of the session's name. */
  hasSideFiles: boolean
}

/**
 * What the folders below `projectsDir` name as transcripts, in the order of their paths' parts. Asks nothing of the files.
 *
 * @throws {LociError} DISK_IO when a directory cannot be read
 */
export async function namedIn(projectsDir: string): Promise<NamedTranscript[]> {
  const found: NamedTranscript[] = []
  for (const folder of (await orAbsent(files.readdir(projectsDir))) ?? []) {
    const directory = join(projectsDir, folder.name)
    if (!folder.isDirectory() && !(folder.isSymbolicLink() && (await isDirectory(directory)))) continue
    const entries = (await orAbsent(files.readdir(directory))) ?? []
    const names = new Set(entries.map(({ name }) => name))
    for (const entry of entries) {
      const sessionId = sessionIdOf(entry.name)
      if (sessionId === undefined || !(entry.isFile() || entry.isSymbolicLink())) continue
      found.push({ sessionId, path: join(directory, entry.name), hasSideFiles: names.has(sessionId) })
    }
  }
  return found
}

/** The files among them with their times, last written first, then by path. What is gone meanwhile is left out. */
export async function statTranscripts(
  named: readonly NamedTranscript[],
): Promise<(NamedTranscript & FoundTranscript)[]> {
  const found: (NamedTranscript & FoundTranscript)[] = []
  for (const [index, transcript] of named.entries()) {
    if (index % STATS_A_TURN === STATS_A_TURN - 1) await nextTurn()
    const stat = statFile(transcript.path)
    if (stat) found.push({ ...transcript, ...stat })
  }
  return found.toSorted((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1))
}

/** Size and time of a file; `undefined` where there is none. */
export function statFile(path: string): { sizeBytes: number; mtimeMs: number } | undefined {
  try {
    const stat = filesNow.stat(path)
    return stat.isFile() ? { sizeBytes: stat.size, mtimeMs: stat.mtimeMs } : undefined
  } catch (error) {
    if (leadsNowhere(error)) return undefined
    throw error
  }
}

/** Whether there is nothing at the end of a path: no file, or links that go round. */
function leadsNowhere(error: unknown): boolean {
  return isAbsent(error) || fileErrno(error) === 'ELOOP'
}

/** So many files are asked for their times before others have their turn. */
const STATS_A_TURN = 256

/** Lets everything else that waits have its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).isDirectory()
  } catch (error) {
    if (leadsNowhere(error)) return false
    throw error
  }
}
