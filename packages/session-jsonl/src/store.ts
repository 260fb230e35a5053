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
  /**
   * How many bytes the store has not taken yet, by the sizes last seen; at least 1 while the size after a write of this
   * process has not been looked at. 0: it had everything when last looked.
   */
  readonly lag: number
  /** Why the store could not be given everything the last time; `undefined` if it could. */
  readonly lastError: unknown
  /**
   * Resolves when the store has everything appended before the call: what `append` and `record` have resolved for, and
   * every whole line in the files. Tries at once, and goes on trying for as long as the store fails.
   *
   * @param options.signal ends the waiting, as in `AbortSignal.timeout(5000)`; the mirror goes on
   * @throws {LociError} STORE_UNAVAILABLE when the mirror is closed, or `signal` is aborted, before that; `cause` is the
   * store's last error, `details` has the `lag`
   */
  flush(options?: { signal?: AbortSignal | undefined }): Promise<void>
  /** Ends the mirroring at once, without waiting for the store. The next mirror of the session sends what is missing. */
  close(): Promise<void>
}
