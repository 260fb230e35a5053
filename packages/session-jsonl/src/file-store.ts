import { dirname, join, resolve } from 'node:path'
import { appendRecords, files, isLociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { KeyedQueue } from './keyed-queue.ts'
import { landedLines } from './landed-lines.ts'
import { readTranscript } from './read-transcript.ts'
import { requireFile } from './require-file.ts'
import { sideDirectory } from './session-path.ts'
import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from './store.ts'
import { checkKey, checkProjectKey } from './store-key.ts'
import { storedPath, storedSessions, storedSubpaths } from './store-layout.ts'
import { withStoreLease } from './store-lease.ts'
import { newLines, storedLines } from './stored-line.ts'
import type { StoredLine } from './stored-line.ts'
import { StoredSummaries } from './stored-summaries.ts'
import { StoredUuids } from './stored-uuids.ts'

/**
 * A store in files, laid out as transcripts are: `<projectsDir>/<projectKey>/<sessionId>.jsonl`, a subpath at
 * `<sessionId>/<subpath>.jsonl` beside it. So `listSessions` and `openSession` read what is kept, and what other
 * programs wrote there can be loaded. Nothing is made before the first append. Several processes may use one directory.
 *
 * - `append` keeps the order of the calls and resolves once the operating system has the batch. It holds the session's
 *   lease meanwhile: a session that is open for writing is refused (SESSION_LOCKED). A call that rejects, or is killed,
 *   may have kept a beginning of its batch; the same call again keeps the rest, and nothing twice.
 * - `load` leaves out what is damaged; `verifySession` reports it.
 * - `listSessionSummaries` folds every line: a file is read whole once in a process, then only what it grew by. Of the
 *   files asked for last, 4,096 are remembered so; `append` remembers the uuids of 64. Others are read whole again.
 * - `delete` without `subpath` takes all of the session's side files along, as `deleteSession` does. A session that is
 *   not there is no error.
 * - No call works outside `projectsDir` or through a link below it.
 *
 * Each call throws {LociError} ENTRY_INVALID for a key or an entry that cannot be kept; PATH_LINK, PATH_INVALID where
 * something else is in the way; DISK_FULL, DISK_IO.
 *
 * @param options.projectsDir made when needed
 * @param options.waitMs how long `append` and `delete` wait for a session that somebody else is writing; default 5,000
 */
export function fileSessionStore(options: {
  projectsDir: string
  waitMs?: number | undefined
}): Required<SessionStore> {
  const { projectsDir, waitMs = 5_000 } = options
  if (typeof projectsDir !== 'string' || projectsDir === '') throw new TypeError('projectsDir must be a path')
  return new FileStore(projectsDir, waitMs)
}

/** By the session's file, for every store of this process: calls on one session wait for each other without polling. */
const queue = new KeyedQueue()

class FileStore implements Required<SessionStore> {
  readonly #projectsDir: string
  readonly #waitMs: number
  readonly #uuids = new StoredUuids()
  readonly #summaries = new StoredSummaries()

  constructor(projectsDir: string, waitMs: number) {
    this.#projectsDir = projectsDir
    this.#waitMs = waitMs
  }

  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const checked = checkKey(key)
    const lines = storedLines(entries)
    if (lines.length === 0) return
    await this.#inOrder(checked, async () => {
      await files.mkdir(this.#projectsDir, 0o755)
      const { main, path } = await storedPath(this.#projectsDir, checked)
      await files.mkdir(dirname(main), 0o755)
      await this.#underLease(main, checked.sessionId, async () => {
        await files.mkdir(dirname(path), 0o755)
        await this.#appendLines(path, lines)
      })
    })
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const located = await orAbsent(storedPath(this.#projectsDir, checkKey(key)))
    return (located && (await unlessDeleted(entriesIn(located.path)))) ?? null
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const found = await storedSessions(this.#projectsDir, checkProjectKey(projectKey))
    return found.map(({ sessionId, mtime }) => ({ sessionId, mtime }))
  }

  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const found = await storedSessions(this.#projectsDir, checkProjectKey(projectKey))
    const summaries: SessionSummaryEntry[] = []
    for (const { sessionId, mtime, path } of found) {
      const data = await unlessDeleted(this.#summaries.dataOf(path, { projectKey, sessionId }))
      if (data) summaries.push({ sessionId, mtime, data })
    }
    return summaries
  }

  async delete(key: SessionKey): Promise<void> {
    const checked = checkKey(key)
    await this.#inOrder(checked, async () => {
      const located = await orAbsent(storedPath(this.#projectsDir, checked))
      if (located === undefined) return
      const { main, path } = located
      const below = checked.subpath === undefined ? sideDirectory(dirname(main), checked.sessionId) : path
      const found = await Promise.all([path, below].map((target) => orAbsent(files.lstat(target))))
      if (found.every((stats) => stats === undefined)) return
      await this.#underLease(main, checked.sessionId, async () => {
        // What is below goes first: cut off in between, the session is still listed, and deleting it again ends it.
        await files.removeTree(below)
        await orAbsent(files.unlink(path))
      })
    })
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const { projectKey, sessionId } = checkKey(key)
    return storedSubpaths(this.#projectsDir, { projectKey, sessionId })
  }

  #inOrder(key: SessionKey, action: () => Promise<void>): Promise<void> {
    return queue.run(join(resolve(this.#projectsDir), key.projectKey, key.sessionId), action)
  }

  #underLease(path: string, sessionId: string, work: () => Promise<void>): Promise<void> {
    return withStoreLease({ path, sessionId, waitMs: this.#waitMs }, work)
  }

  /** Appends the lines that the file does not have, in one write. */
  async #appendLines(path: string, lines: readonly StoredLine[]): Promise<void> {
    await orAbsent(requireFile(path))
    const file = await files.open(path, 'a+', 0o600)
    try {
      const known = await this.#uuids.in(file)
      await appendRecords(
        file,
        Buffer.concat((await missingIn(file, lines, known)).map(({ bytes }) => bytes)),
      )
    } finally {
      await file.close()
    }
  }
}

async function missingIn(
  file: OpenFile,
  lines: readonly StoredLine[],
  known: ReadonlySet<string>,
): Promise<StoredLine[]> {
  const added = newLines(lines, known)
  if (added.every(({ uuid }) => uuid !== undefined)) return added
  // An earlier call with this batch, cut short, may have kept a beginning of it.
  return newLines(lines.slice(landedLines(await tailOf(file, lines), lines, known)), known)
}

/** As much of the end of a file as a batch is long, and one byte, which tells whether a line begins there. */
async function tailOf(file: OpenFile, lines: readonly StoredLine[]): Promise<Buffer> {
  const length = lines.reduce((sum, { bytes }) => sum + bytes.length, 1)
  const size = Number((await file.stat()).size)
  const tail = Buffer.alloc(Math.min(size, length))
  return tail.subarray(0, await file.readFull(tail, size - tail.length))
}

/** What a transcript holds; `null` for an empty one: an append that died after making it has kept nothing. */
async function entriesIn(path: string): Promise<SessionStoreEntry[] | null> {
  const entries: SessionStoreEntry[] = []
  let isEmpty = true
  for await (const { record } of readTranscript(path)) {
    isEmpty = false
    if (record) entries.push(record)
  }
  return isEmpty ? null : entries
}

async function unlessDeleted<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action
  } catch (error) {
    if (isLociError(error, 'SESSION_NOT_FOUND')) return undefined
    throw error
  }
}
