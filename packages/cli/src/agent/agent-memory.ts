import type { Memory, MemoryDraft, MemoryPrompt, SearchHit } from '@loci/memdir'

export type MemoryScope = 'project' | 'user'

/** What a search over both scopes found. */
export interface MemoryHits {
  hits: { scope: MemoryScope; hit: SearchHit }[]
  /** A line for each folder that could not be searched. */
  problems: string[]
}

/** What became of a memory that was to be saved. */
export interface Saved {
  /** Where it went: a daily log is the project's, whatever was asked for. */
  scope: MemoryScope
  /** Relative to the folder of its scope. */
  file: string
  /** Whether later sessions are shown its line. */
  visible: boolean
  /** It waits for a person. */
  proposed: boolean
  /** What a person should know, a sentence each. */
  warnings: readonly string[]
}

/** Memory as an agent sees it. Nothing of it is read or saved once it is switched off: MEMORY_DISABLED. */
export interface AgentMemory {
  readonly enabled: boolean
  /** The rule that decided, for people. */
  readonly rule: string
  /** Folders, for permissions: read freely, never edited directly. Real paths, also of those not made yet. */
  readonly dirs: readonly string[]
  /** Whether the background looks for what to remember, as settings and environment are now. */
  isExtracting(): Promise<boolean>
  /** What the next prompt carries; `null`: memory is off. */
  prompt(): Promise<MemoryPrompt | null>
  /** Hits of both scopes, the project's first, each with its best first. A folder that cannot be read hides no other. */
  search(query: string): Promise<MemoryHits>
  read(scope: MemoryScope, file: string): Promise<Memory | undefined>
  /**
   * In daily-log mode a new memory is a line of today's log.
   *
   * @param options.inBackground nobody sees it happen: with review on it waits for a person, and so does the change of
   * a memory that this session did not save, or that was changed by hand since
   * @throws {LociError} as memdir's `save`; MEMORY_DISABLED, also when it was switched off meanwhile; CONFIG_READ_ONLY
   * in a config home that is not ours
   */
  save(
    scope: MemoryScope,
    draft: MemoryDraft,
    options: { ifRevision?: string | undefined; messageId: string; inBackground?: boolean },
  ): Promise<Saved>
}
