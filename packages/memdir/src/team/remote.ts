/** What a remote says of one key, without its content. */
export interface TeamListing {
  key: string
  /** SHA-256 of the UTF-8 bytes, in hex; `null`: deleted. */
  hash: string | null
  revision: number
  sizeBytes: number
}

export interface TeamEntry {
  key: string
  content: string
  /** SHA-256 of the UTF-8 bytes of `content`, in hex. */
  hash: string
  revision: number
}

/** What became of one entry of a put. */
export type TeamPutResult =
  | { key: string; status: 'stored'; hash: string | null; revision: number }
  | { key: string; status: 'conflict'; current: TeamEntry | null }
  | { key: string; status: 'refused'; code: string; message: string }

/** Where a team keeps its memory. Throws `TEAM_UNAUTHORIZED` (401, 403) or `TEAM_REMOTE` (all else). */
export interface TeamRemote {
  /** What changed after revision `since` (absent: everything), tombstones too, revisions rising. */
  list(since?: number): Promise<{ entries: TeamListing[]; revision: number }>
  /** Absent and deleted keys are left out. */
  get(keys: readonly string[]): Promise<TeamEntry[]>
  /**
   * Each entry for itself: one that is refused keeps no other from being stored.
   *
   * @param entries `content: null` deletes and leaves a tombstone
   * @param options.ifMatch the hash each key must have now; `null`: must not exist
   */
  put(
    entries: readonly { key: string; content: string | null }[],
    options: { ifMatch: Readonly<Record<string, string | null>> },
  ): Promise<TeamPutResult[]>
}
