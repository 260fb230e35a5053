/** What the caller knows of a turn when it ends. */
export interface TurnSummary {
  /** Messages the model sees that are new since the last extraction. */
  newMessages: number
  endedWithoutToolCalls: boolean
  /** The main agent wrote memory in this turn. */
  wroteMemory: boolean
}

/** A fork of the running agent: the caller gives it its own system prompt, tools and messages. */
export interface ForkedAgent {
  run(request: {
    instruction: string
    /** The tools the fork may call; it is shown all, so that its first request hits the prompt cache. */
    allowedTools: string[]
    signal?: AbortSignal
  }): Promise<{ saved: string[]; usage: unknown }>
}

export interface MemoryExtractorOptions {
  fork: ForkedAgent
  /** How many new messages make an extraction worth its cost; default 4. */
  minNewMessages?: number
}

/** Looks in the background, one run at a time, for what a turn leaves to remember. */
export interface MemoryExtractor {
  /** `'queued'`: a run is under way, this turn waits and takes the place of one that waited before. */
  onTurnEnd(turn: TurnSummary): 'started' | 'queued' | 'skipped'
  /** Resolves when nothing runs or waits any more, or after `timeoutMs`. */
  idle(timeoutMs?: number): Promise<void>
}
