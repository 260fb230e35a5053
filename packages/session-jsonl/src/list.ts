import { basename, dirname, join, resolve } from 'node:path'
import { files, isAbsent, orAbsent } from '@loci/disk'
import { projectSlug } from '@loci/disk/project'
import { isObject } from './entry.ts'
import { readSessionInfo } from './session-info.ts'
import type { SessionInfo } from './session-info.ts'
import { sessionIdOf } from './session-path.ts'

/**
 * The sessions below `projectsDir`, newest activity first, whatever folder they are in: two paths can share a folder,
 * and a session can go on elsewhere than it began.
 *
 * Listed is every transcript whose name is a UUID and that holds, or may hold, a line of a conversation. One that
 * cannot be read is listed as `damaged`. Without `projectsDir` there are none. Reads both ends of each candidate only;
 * with `limit` it stops at the first file last written before the limit-th newest entry.
 *
 * @param options.cwd only sessions that began or went on in one of these directories, under any spelling that leads
 * there through links; of one whose lines do not say, the project whose folder it is in counts
 * @param options.archived list archived sessions too, beside the others
 * @throws {LociError} DISK_IO when a directory cannot be read: an empty list would say that there is nothing
 */
export async function listSessions(options: {
  projectsDir: string
  cwd?: string | string[] | undefined
  limit?: number | undefined
  offset?: number | undefined
  archived?: boolean | undefined
}): Promise<SessionInfo[]> {
  const { projectsDir, offset = 0, archived = false } = options
  if (typeof projectsDir !== 'string') throw new TypeError('projectsDir must be a path')
  const wanted = count('offset', offset) + count('limit', options.limit ?? Number.MAX_SAFE_INTEGER)
  const matches = await cwdFilter(options.cwd)
  const candidates = await findTranscripts(projectsDir)
  const found: SessionInfo[] = []
  for (let at = 0; at < candidates.length; at += BATCH) {
    const [next] = candidates.slice(at, at + 1)
    const limitTh = found.length >= wanted ? found.toSorted(byActivity)[wanted - 1] : undefined
    if (next && limitTh && next.mtimeMs + CLOCK_SLACK_MS < limitTh.lastActivityMs) break
    const batch = candidates.slice(at, at + BATCH)
    const infos = await Promise.all(batch.map((candidate) => readCandidate(candidate)))
    for (const info of infos) {
      if (info && (archived || !info.archived) && (await matches(info))) found.push(info)
    }
  }
  return found.toSorted(byActivity).slice(offset, wanted)
}

/** How many transcripts are read at once. */
const BATCH = 16
/** A file's time comes from a coarser clock than an entry's. */
const CLOCK_SLACK_MS = 2_000

/** A fork with nothing new is newer than what it is a copy of. Equals stay as they were read, the file last written first. */
function byActivity(a: SessionInfo, b: SessionInfo): number {
  const isFork = ({ forkedFrom }: SessionInfo): number => (forkedFrom === undefined ? 0 : 1)
  return b.lastActivityMs - a.lastActivityMs || isFork(b) - isFork(a)
}

function count(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new TypeError(`${name} must be a whole number from 0`)
}

/** A transcript as a folder shows it, unread. */
export interface FoundTranscript {
  sessionId: string
  path: string
  sizeBytes: number
  mtimeMs: number
}

/**
 * Every transcript below `projectsDir` whose name is a UUID, last written first; opens none. For a session by its id,
 * wherever it lies.
 *
 * @throws {LociError} DISK_IO when a directory cannot be read
 */
export async function findTranscripts(projectsDir: string): Promise<FoundTranscript[]> {
  const found: FoundTranscript[] = []
  for (const folder of (await orAbsent(files.readdir(projectsDir))) ?? []) {
    const directory = join(projectsDir, folder.name)
    if (!folder.isDirectory() && !(folder.isSymbolicLink() && (await isDirectory(directory)))) continue
    const names = ((await orAbsent(files.readdir(directory))) ?? [])
      .map(({ name }) => name)
      .filter((name) => sessionIdOf(name) !== undefined)
    for (let at = 0; at < names.length; at += BATCH) {
      const batch = names.slice(at, at + BATCH).map((name) => statCandidate(join(directory, name)))
      for (const candidate of await Promise.all(batch)) if (candidate) found.push(candidate)
    }
  }
  return found.toSorted((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1))
}

async function isDirectory(path: string): Promise<boolean> {
  return (await orAbsent(files.stat(path)))?.isDirectory() === true
}

async function statCandidate(path: string): Promise<FoundTranscript | undefined> {
  const stat = await orAbsent(files.stat(path))
  if (!stat?.isFile()) return undefined
  const sessionId = basename(path, '.jsonl')
  return { sessionId, path, sizeBytes: Number(stat.size), mtimeMs: Number(stat.mtimeNs) / 1e6 }
}

async function readCandidate({
  sessionId,
  path,
  sizeBytes,
  mtimeMs,
}: FoundTranscript): Promise<SessionInfo | undefined> {
  try {
    const read = await readSessionInfo(path)
    return read?.hasConversation === true ? read.info : undefined
  } catch (error) {
    if (isAbsent(error)) return undefined
    // One file that cannot be read must hide neither itself nor the others.
    const lastActivityMs = Math.floor(mtimeMs)
    return { sessionId, path, summary: '', lastActivityMs, sizeBytes, archived: false, damaged: true }
  }
}

async function cwdFilter(
  cwd: string | readonly string[] | undefined,
): Promise<(info: SessionInfo) => Promise<boolean>> {
  if (cwd === undefined) return () => Promise.resolve(true)
  const given: readonly unknown[] = typeof cwd === 'string' ? [cwd] : cwd
  const wanted = new Set<string>()
  const slugs = new Set<string>()
  // Where a path leads is not to be told when it is gone: then it is what it says.
  const real = remembered((path) => files.realpath(path).catch(() => path))
  const owner = remembered(recordedRoot)
  for (const path of given) {
    if (typeof path !== 'string') throw new TypeError('cwd must be a path or a list of paths')
    for (const spelling of [resolve(path), await real(resolve(path))]) {
      wanted.add(spelling)
      slugs.add(projectSlug(spelling))
    }
  }
  const isWanted = async (path: string): Promise<boolean> => wanted.has(path) || wanted.has(await real(path))
  return async (info) => {
    for (const path of [info.cwd, info.lastCwd]) if (path !== undefined && (await isWanted(path))) return true
    if (info.cwd !== undefined) return false
    // Where it began is not recorded, or not to be seen: then it is of the project whose folder it is in.
    const folder = dirname(info.path)
    const root = await owner(folder)
    return root === undefined ? slugs.has(basename(folder)) : isWanted(root)
  }
}

/** The project that a folder says it belongs to; `undefined` if it does not, or cannot be asked. */
async function recordedRoot(folder: string): Promise<string | undefined> {
  try {
    const record: unknown = JSON.parse((await files.readFile(join(folder, '.project.json'))).toString('utf8'))
    return isObject(record) && typeof record['root'] === 'string' ? record['root'] : undefined
  } catch {
    return undefined
  }
}

function remembered<T>(ask: (path: string) => Promise<T>): (path: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return (path) => {
    const answer = known.get(path) ?? ask(path)
    known.set(path, answer)
    return answer
  }
}
