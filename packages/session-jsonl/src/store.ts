/** A place that transcripts are mirrored to. The contract of the Agent SDK's `sessionStore` option. */
export interface SessionStore {
  /** Keeps entries in the order of the calls. An entry with a uuid that is there already is not kept twice. */
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>
  /** All entries of a key, deep-equal to what was appended; `null` for a key never written. */
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>
  /** The sessions of a project with the time of their last change, in no particular order. */
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>
  /** Removes a session; without `subpath` with everything below it. */
  delete?(key: SessionKey): Promise<void>
  /** The subpaths below a session, such as its subagents' transcripts. */
  listSubkeys?(key: { projectKey: string; sessionId: string }): Promise<string[]>
}

/** Names a transcript in a store. */
export interface SessionKey {
  projectKey: string
  sessionId: string
  /** Absent: the session's own transcript. Else one beside it, such as `subagents/agent-<id>`. */
  subpath?: string
}

/** A line of a transcript as a store sees it. */
export interface SessionStoreEntry {
  type: string
  uuid?: string
  timestamp?: string
  [field: string]: unknown
}

/** What a store remembers of a session to list it without loading it. */
export interface SessionSummaryEntry {
  sessionId: string
  /** Milliseconds since the epoch, by the store's clock. */
  mtime: number
  /** Kept as it is and not interpreted. */
  data: Record<string, unknown>
}

/** The copying of a session into a store as it grows. The local file is the truth. */
export interface Mirror {
  /** How many bytes the store has not taken yet. */
  readonly lag: number
  /** Resolves when the store has everything appended before the call. */
  flush(): Promise<void>
}
