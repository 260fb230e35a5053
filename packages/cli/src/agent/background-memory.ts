import { errorMessage } from '@loci/disk'
import { createMemoryExtractor } from '@loci/memdir'
import type { Entry, Session } from '@loci/session-jsonl'
import type { AgentEvent } from './agent-event.ts'
import { renderAttachment } from './attachments.ts'
import { forkedAgent } from './forked-agent.ts'
import type { EndedTurn, ForkRoom } from './forked-agent.ts'

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
  let ended: EndedTurn | undefined
  const fork = forkedAgent({
    ...options.fork,
    async ended() {
      if (ended === undefined) throw new Error('No turn has ended')
      // Before the first request: what this run sees is not looked at again, whatever becomes of it.
      await session.record({ type: EXTRACTION_RECORD, upTo: ended.tip })
      return ended
    },
  })
  const extractor = createMemoryExtractor({
    fork: {
      async run(request) {
        const result = await fork.run(request)
        for (const { file, proposed } of result.saved) {
          const text = proposed
            ? `Waits for you in memory: ${file}; loci memory proposals shows it`
            : `Remembered: ${file}; loci memory show ${file} shows it`
          emit({ type: 'notice', text })
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
      ended = { tip, messages }
      const marks = await session.records(EXTRACTION_RECORD)
      extractor.onTurnEnd({
        newMessages: newMessages(chain, new Set(marks.map(({ upTo }) => upTo))),
        endedWithoutToolCalls: isWhole,
        wroteMemory,
      })
    },
    idle: (timeoutMs) => extractor.idle(timeoutMs),
  }
}

/**
 * How many messages of the conversation are new since it was last looked at: one for each prompt, answer and round of
 * results. Pure.
 *
 * @param marks uuids of the entries up to which it was looked at
 */
export function newMessages(chain: readonly Entry[], marks: ReadonlySet<unknown>): number {
  const from = chain.findLastIndex(({ uuid }) => marks.has(uuid)) + 1
  let count = 0
  let last: string | undefined
  for (const { type, message, uuid } of chain.slice(from)) {
    if (type !== 'user' && type !== 'assistant') continue
    const fields = typeof message === 'object' && message !== null ? message : {}
    const id: unknown = Reflect.get(fields, 'id')
    // The blocks of an answer stand in lines of their own, and the results of its calls go into one message.
    const isResult = type === 'user' && typeof Reflect.get(fields, 'content') !== 'string'
    const name = isResult ? 'results' : type === 'assistant' && typeof id === 'string' ? id : uuid
    if (name !== last) count += 1
    last = name
  }
  return count
}
