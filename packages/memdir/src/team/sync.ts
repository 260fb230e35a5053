/** What a pull did, by key. */
export interface PullResult {
  written: string[]
  /** Deleted here, back again: a local deletion is not propagated. */
  restored: string[]
  /** Deleted by the team and unchanged here; the bytes are in `.trash`. */
  removed: string[]
  /** Changed on both sides: the server's bytes stand, ours are at `copy`, a path inside the folder. */
  conflicts: { key: string; copy: string }[]
  refused: { key: string; code: string; message: string }[]
  unchanged: number
}

/** What a push did, by key. */
export interface PushResult {
  sent: string[]
  conflicts: { key: string }[]
  /** Not sent because a secret was found; `line` counts from 1. */
  blocked: { key: string; rule: string; line: number }[]
  refused: { key: string; code: string; message: string }[]
  unchanged: number
}

/** The team's memory, kept in step with a `TeamRemote`. */
export interface TeamMemory {
  pull(): Promise<PullResult>
  push(): Promise<PushResult>
  /** Pull, then push. */
  sync(): Promise<{ pull: PullResult; push: PushResult }>
  /** Deletes a key at the remote, leaving a tombstone, and here. */
  remove(key: string): Promise<void>
  /** What stands here against the last sync. Uses no network. */
  status(): Promise<{
    changed: string[]
    deleted: string[]
    conflicts: string[]
    blocked: PushResult['blocked']
    lastSyncAtMs: number | null
    lastError: { code: string; message: string } | null
  }>
}
