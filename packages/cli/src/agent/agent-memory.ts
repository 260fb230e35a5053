import type { Memory, MemoryDraft, MemoryPrompt, SearchHit, SaveResult } from '@loci/memdir'

export type MemoryScope = 'project' | 'user'

/** What a search over both scopes found. */
export interface MemoryHits {
  hits: { scope: MemoryScope; hit: SearchHit }[]
  /** A line for each folder that could not be searched. */
  problems: string[]
}

/** Memory as an agent sees it. */
export interface AgentMemory {
  readonly enabled: boolean
  /** The rule that decided, for people. */
  readonly rule: string
  /** Folders, for permissions: read freely, never edited directly. Real paths, also of those not made yet. */
  readonly dirs: readonly string[]
  /** What the next prompt carries; `null`: memory is off. */
  prompt(): Promise<MemoryPrompt | null>
  /** Hits of both scopes, the project's first, each with its best first. A folder that cannot be read hides no other. */
  search(query: string): Promise<MemoryHits>
  read(scope: MemoryScope, file: string): Promise<Memory | undefined>
  /** @throws {LociError} as memdir's `save`; MEMORY_DISABLED; CONFIG_READ_ONLY in a config home that is not ours */
  save(
    scope: MemoryScope,
    draft: MemoryDraft,
    options: { ifRevision?: string | undefined; messageId: string },
  ): Promise<SaveResult>
}
