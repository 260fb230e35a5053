import { errorMessage } from '@loci/disk'
import { createMemoryExtractor } from '@loci/memdir'
import type { Entry, Session } from '@loci/session-jsonl'
import type { AgentEvent } from './agent-event.ts'
import { renderAttachment } from './attachments.ts'
import { forkedAgent } from './forked-agent.ts'
import type { EndedTurn, ForkRoom } from './forked-agent.ts'
import { NO_USAGE } from './usage.ts'

/** Looks beside the conversation for what to remember of it. */
export interface BackgroundMemory {
  /** To be called after each turn; `isWhole`: the model came to its end. Does not wait for what it starts. */
  turnEnded(turn: { isWhole: boolean; wroteMemory: boolean }): Promise<void>
  /** Waits for what runs; what takes longer is ended. */
  idle(timeoutMs: number): Promise<void>
}

/** Names how far the conversation was looked at; in the transcript, so that no part is looked at twice. */
const EXTRACTION_RECORD = 'memory-extraction'

/** Memory of the background for one session; it sees this session's conversation only. */
export function backgroundMemory(options: {
  session: Session
  fork: Omit<ForkRoom, 'ended'>
  emit: (event: AgentEvent) => void
}): BackgroundMemory {
  const { session, emit } = options
  const { memory } = options.fork.calls.context
  let ended: (EndedTurn & { entries: string[] }) | undefined
  const fork = forkedAgent({
    ...options.fork,
    async ended() {
      if (ended === undefined) throw new Error('No turn has ended')
      // Before the first request: what this run sees is not looked at again, whatever becomes of it.
      const { tip: upTo, entries } = ended
      await session.record({ type: EXTRACTION_RECORD, upTo, entries })
      return ended
    },
  })
  /** It may have been switched off since, or the turn taken back. */
  async function isWanted(): Promise<boolean> {
    if (!(await memory.isExtracting())) return false
    const chain = await session.chain()
    return chain.some(({ uuid }) => uuid === ended?.tip)
  }
  const extractor = createMemoryExtractor({
    fork: {
      async run(request) {
        if (!(await isWanted())) return { saved: [], usage: NO_USAGE }
        const result = await fork.run(request)
        for (const { scope, file, proposed, warnings } of result.saved) {
          const option = scope === 'user' ? ' --scope user' : ''
          const text = proposed
            ? `Waits for you in memory: ${file}; loci memory proposals${option} shows it`
            : `Remembered: ${file}; loci memory show ${file}${option} shows it`
          emit({ type: 'notice', text })
          for (const warning of warnings) emit({ type: 'notice', text: `Warning: ${warning}` })
        }
        return { ...result, saved: result.saved.map(({ file }) => file) }
      },
    },
    onError: (error) =>
      emit({ type: 'notice', text: `Looking for what to remember failed: ${errorMessage(error)}` }),
  })
  return {
    async turnEnded({ isWhole, wroteMemory }) {
      const chain = await session.chain()
      const tip = chain.at(-1)?.uuid
      if (tip === undefined) return
      const messages = await session.conversation({
        renderAttachment: (entry) => renderAttachment(entry, { hasMemory: true }),
      })
      const marks = await session.records(EXTRACTION_RECORD)
      const seen = marks.flatMap(({ upTo, entries }) => [upTo, ...(Array.isArray(entries) ? entries : [])])
      const entries = newMessages(chain, new Set(seen))
      ended = { tip, messages, entries }
      extractor.onTurnEnd({
        newMessages: entries.length,
        endedWithoutToolCalls: isWhole,
        wroteMemory,
      })
    },
    idle: (timeoutMs) => extractor.idle(timeoutMs),
  }
}

/**
 * The messages of the conversation that are new since it was last looked at, by their first entries: one for each
 * prompt, answer and round of results. Pure.
 *
 * @param seen uuids of entries that were looked at, on branches that were left too
 */
export function newMessages(chain: readonly Entry[], seen: ReadonlySet<unknown>): string[] {
  const from = chain.findLastIndex(({ uuid }) => seen.has(uuid)) + 1
  const found: string[] = []
  let last: string | undefined
  for (const { type, message, uuid, isCompactSummary } of chain.slice(from)) {
    if ((type !== 'user' && type !== 'assistant') || isCompactSummary === true) continue
    const fields = typeof message === 'object' && message !== null ? message : {}
    const id: unknown = Reflect.get(fields, 'id')
    // The blocks of an answer stand in lines of their own, and the results of its calls go into one message.
    const isResult = type === 'user' && typeof Reflect.get(fields, 'content') !== 'string'
    const name = isResult ? 'results' : type === 'assistant' && typeof id === 'string' ? id : uuid
    if (name !== last) found.push(uuid)
    last = name
  }
  return found
}
