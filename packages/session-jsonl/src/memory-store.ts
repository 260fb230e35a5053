import { foldSessionSummary } from './fold-summary.ts'
import type { SessionKey, SessionStore, SessionStoreEntry, SessionSummaryEntry } from './store.ts'
import { checkKey, checkProjectKey } from './store-key.ts'
import { newLines, storedLines } from './stored-line.ts'

/**
 * A store that holds everything in this process, for tests and trials. What goes in and what comes out are copies.
 * The same keys and entries are refused as by `fileSessionStore`. A batch is kept whole or not at all.
 *
 * @param options.clock for the times in lists
 */
export function memorySessionStore(
  options: { clock?: (() => Date) | undefined } = {},
): Required<SessionStore> {
  return new MemoryStore(options.clock ?? (() => new Date()))
}

interface Transcript {
  lines: Buffer[]
  uuids: Set<string>
  summary: SessionSummaryEntry
}

/** By project, session, subpath; `''` is the session itself. */
type Sessions = Map<string, Map<string, Transcript>>

class MemoryStore implements Required<SessionStore> {
  readonly #clock: () => Date
  readonly #projects = new Map<string, Sessions>()

  constructor(clock: () => Date) {
    this.#clock = clock
  }

  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const { projectKey, sessionId, subpath = '' } = checkKey(key)
    const lines = storedLines(entries)
    if (lines.length === 0) return
    const sessions: Sessions = this.#projects.get(projectKey) ?? new Map()
    const session = sessions.get(sessionId) ?? new Map<string, Transcript>()
    const transcript: Transcript = session.get(subpath) ?? {
      lines: [],
      uuids: new Set(),
      summary: { sessionId, mtime: 0, data: {} },
    }
    const added = newLines(lines, transcript.uuids)
    transcript.summary = foldSessionSummary(
      transcript.summary,
      { projectKey, sessionId },
      added.map(({ bytes }) => read(bytes)),
      { mtime: this.#clock().getTime() },
    )
    for (const { uuid, bytes } of added) {
      transcript.lines.push(bytes)
      if (uuid !== undefined) transcript.uuids.add(uuid)
    }
    this.#projects.set(projectKey, sessions.set(sessionId, session.set(subpath, transcript)))
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const checked = checkKey(key)
    return (
      this.#session(checked)
        ?.get(checked.subpath ?? '')
        ?.lines.map((line) => read(line)) ?? null
    )
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return this.#summaries(projectKey).map(({ sessionId, mtime }) => ({ sessionId, mtime }))
  }

  async listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    return structuredClone(this.#summaries(projectKey))
  }

  async delete(key: SessionKey): Promise<void> {
    const { projectKey, sessionId, subpath } = checkKey(key)
    const session = this.#session({ projectKey, sessionId })
    if (subpath !== undefined) session?.delete(subpath)
    if (subpath === undefined || session?.size === 0) this.#projects.get(projectKey)?.delete(sessionId)
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const { projectKey, sessionId } = checkKey(key)
    return [...(this.#session({ projectKey, sessionId })?.keys() ?? [])].filter((subpath) => subpath !== '')
  }

  #session({ projectKey, sessionId }: SessionKey): Map<string, Transcript> | undefined {
    return this.#projects.get(projectKey)?.get(sessionId)
  }

  #summaries(projectKey: string): SessionSummaryEntry[] {
    const sessions = this.#projects.get(checkProjectKey(projectKey))?.values() ?? []
    return [...sessions].flatMap((session) => session.get('')?.summary ?? [])
  }
}

function read(line: Buffer): SessionStoreEntry {
  const entry: SessionStoreEntry = JSON.parse(line.toString('utf8'))
  return entry
}
