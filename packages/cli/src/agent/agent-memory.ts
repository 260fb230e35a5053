import type { Memory, MemoryDraft, MemoryPrompt, SearchHit, SaveResult } from '@loci/memdir'

export type MemoryScope = 'project' | 'user'

/** Memory as an agent sees it. */
export interface AgentMemory {
  readonly enabled: boolean
  /** The rule that decided, for people. */
  readonly rule: string
  /** Folders, for permissions: read freely, never edited directly. */
  readonly dirs: readonly string[]
  /** What the next prompt carries; `null`: memory is off. */
  prompt(): Promise<MemoryPrompt | null>
  /** Hits of both scopes, the project's first. */
  search(query: string): Promise<{ scope: MemoryScope; hit: SearchHit }[]>
  read(scope: MemoryScope, file: string): Promise<Memory | undefined>
  /** @throws {LociError} as memdir's `save`; MEMORY_DISABLED */
  save(
    scope: MemoryScope,
    draft: MemoryDraft,
    options: { ifRevision?: string | undefined; messageId: string },
  ): Promise<SaveResult>
}
