import { isAbsent } from '@loci/disk'
import { cwdFilter } from './cwd-filter.ts'
import { namedIn, nextTurn, statFile, statTranscripts } from './find-transcripts.ts'
import type { NamedTranscript } from './find-transcripts.ts'
import { readMark, readTranscriptInfo } from './session-info.ts'
import type { SessionInfo, TranscriptInfo } from './session-info.ts'

/**
 * The sessions below `projectsDir`, newest activity first, whatever folder they are in: two paths can share a folder,
 * and a session can go on elsewhere than it began. Of equally new ones forks come first, then the file last written,
 * then the smaller path: an order in which no two are equal, so that pages of `limit` from `offset` on show each
 * session once as long as nothing changes. One that comes or goes between two pages is no error.
 *
 * Listed is every transcript whose name is a UUID and that holds, or may hold, a line of a conversation. One that
 * cannot be read is listed as `damaged`. Without `projectsDir` there are none. Opens each candidate once, one at a
 * time, and reads both ends only (see `sessionInfo`); with `limit` it opens the files last written and stops at the first that is older
 * than the last newest entry of the page, so a page costs what all pages before it do together. A file that claims to
 * be older than its newest entry is then as old as it claims, unless it is among the first few.
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
  count('offset', offset)
  const limit = options.limit === undefined ? undefined : count('limit', options.limit)
  const matches = await cwdFilter(options.cwd)
  const named = await namedIn(projectsDir)
  const isListed: Accept = ({ info }) =>
    (archived || !info.archived) && (matches === undefined || matches(info))
  const listed =
    limit === undefined ? await readAll(named, isListed) : await readNewest(named, isListed, offset + limit)
  return listed.slice(offset, limit === undefined ? undefined : offset + limit).map(({ info }) => info)
}

/** So many files are read before others have their turn. */
const READS_A_TURN = 32
/** A file's time comes from a coarser clock than an entry's. */
const CLOCK_SLACK_MS = 2_000
/** If one of so many files claims to be older than its newest entry, the times of files are not to be relied on. */
const PROBES = 16

/** A session with what its place in a list depends on. */
interface Listed extends TranscriptInfo {
  orderMs: number
}

/** Answers at once where nothing has to be asked of the disk: thousands of promises take longer than the files. */
type Accept = (session: Listed) => boolean | Promise<boolean>

async function readAll(named: readonly NamedTranscript[], accept: Accept): Promise<Listed[]> {
  const found: Listed[] = []
  for (const [index, candidate] of named.entries()) {
    if (index % READS_A_TURN === READS_A_TURN - 1) await nextTurn()
    const session = readCandidate(candidate)
    if (!session) continue
    if (candidate.hasSideFiles) await readMark(session.info)
    const isAccepted = accept(session)
    if (isAccepted === true || (await isAccepted)) found.push(session)
  }
  return found.toSorted(byActivity)
}

/** The first `wanted` of {@link readAll}, by opening not many more. */
async function readNewest(
  named: readonly NamedTranscript[],
  accept: Accept,
  wanted: number,
): Promise<Listed[]> {
  const found: Listed[] = []
  if (wanted === 0) return found
  const candidates = await statTranscripts(named)
  let isTimeReliable = true
  for (const [index, candidate] of candidates.entries()) {
    const last = found[wanted - 1]
    const newestMs = candidate.mtimeMs + CLOCK_SLACK_MS
    if (index >= PROBES && isTimeReliable && last && newestMs < last.orderMs) break
    if (index % READS_A_TURN === READS_A_TURN - 1) await nextTurn()
    const session = readCandidate(candidate)
    if (!session) continue
    if (candidate.hasSideFiles) await readMark(session.info)
    if (session.orderMs > newestMs) {
      if (index < PROBES) isTimeReliable = false
      else if (isTimeReliable) session.orderMs = newestMs
    }
    const isAccepted = accept(session)
    if (isAccepted === true || (await isAccepted)) insert(found, session, wanted)
  }
  return found
}

/** Puts a session in its place, and the last one out if there are too many. */
function insert(found: Listed[], session: Listed, atMost: number): void {
  let [low, high] = [0, found.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = found[middle]
    if (other && byActivity(other, session) < 0) low = middle + 1
    else high = middle
  }
  found.splice(low, 0, session)
  if (found.length > atMost) found.pop()
}

/** A fork with nothing new is newer than what it is a copy of. */
function byActivity(a: Listed, b: Listed): number {
  const isFork = ({ info }: Listed): number => (info.forkedFrom === undefined ? 0 : 1)
  return (
    b.orderMs - a.orderMs ||
    isFork(b) - isFork(a) ||
    b.mtimeMs - a.mtimeMs ||
    (a.info.path < b.info.path ? -1 : 1)
  )
}

function count(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new TypeError(`${name} must be a whole number from 0`)
}

function readCandidate(candidate: NamedTranscript): Listed | undefined {
  const read = readOrDamaged(candidate)
  if (read?.hasConversation !== true) return undefined
  return { ...read, orderMs: read.info.lastActivityMs }
}

function readOrDamaged({ sessionId, path }: NamedTranscript): TranscriptInfo | undefined {
  try {
    return readTranscriptInfo(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    // One file that cannot be read must hide neither itself nor the others.
    const stat = statFile(path)
    if (stat === undefined) return undefined
    const { sizeBytes, mtimeMs } = stat
    const lastActivityMs = Math.floor(mtimeMs)
    const info = { sessionId, path, summary: '', lastActivityMs, sizeBytes, archived: false, damaged: true }
    return { info, hasConversation: true, mtimeMs }
  }
}
