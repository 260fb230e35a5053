import type { TokenUsage } from '@loci/app-state'
import { LociError, errorMessage, isLociError } from '@loci/disk'
import type { Session } from '@loci/session-jsonl'
import type { AgentEvent } from './agent-event.ts'
import { renderAttachment } from './attachments.ts'
import {
  compactionInstruction,
  contextTokens,
  isFull,
  keptPart,
  summaryIn,
  summaryMessage,
} from './compaction.ts'
import { forkedAgent } from './forked-agent.ts'
import type { ForkRoom } from './forked-agent.ts'
import { modelRequest } from './model-request.ts'

/** Says how full the conversation was when it could not be compacted, so that not every turn tries it again. */
const FAILURE_RECORD = 'compaction-failed'

/** What a compaction works with. */
export interface CompactRoom {
  session: Session
  fork: Omit<ForkRoom, 'ended'>
  hasMemory: boolean
  emit: (event: AgentEvent) => void
  onCompacting: (isCompacting: boolean) => void
}

/** What a compaction made of a conversation. */
export interface Compacted {
  tokensBefore: number
  /** About; what it is exactly the next answer says. */
  tokensAfter: number
  /** The entry that goes back to how it was. */
  closed: string
  usage: TokenUsage
}

/**
 * Lets the model sum the conversation up, and the summary stand for all but the end of it. The request is the
 * conversation's own with one text more, so that it is read from the provider's cache. Whatever goes wrong leaves the
 * conversation as it was; what was asked is counted.
 *
 * @throws {LociError} ENTRY_NOT_FOUND where there is nothing to compact; TURN_INTERRUPTED after `signal`; MODEL_REJECTED,
 * MODEL_REFUSED, MODEL_UNAVAILABLE; DISK_FULL, DISK_IO
 */
export async function compactConversation(
  room: CompactRoom,
  how: { trigger: 'manual' | 'auto'; wish: string },
  signal: AbortSignal,
): Promise<Compacted> {
  const { session, hasMemory, emit } = room
  const chain = await session.chain()
  const { tip } = session
  const messages = await session.conversation({
    renderAttachment: (entry) => renderAttachment(entry, { hasMemory }),
  })
  const isNew = chain.some(({ uuid, isCompactSummary }) => uuid === tip && isCompactSummary !== true)
  if (tip === null || messages.length === 0 || !isNew)
    throw new LociError('ENTRY_NOT_FOUND', 'There is nothing to compact yet; say something first')
  const fork = forkedAgent({
    ...room.fork,
    ended: async () => ({ tip, messages }),
    onRetry: (retry) => emit({ type: 'retry', ...retry }),
  })
  room.onCompacting(true)
  const { answer, usage } = await fork
    .run({ instruction: compactionInstruction(how.wish), allowedTools: [], signal })
    .catch((error: unknown) => {
      throw signal.aborted && !isLociError(error)
        ? new LociError('TURN_INTERRUPTED', 'Interrupted', { cause: error })
        : error
    })
    .finally(() => room.onCompacting(false))
  const summary = summaryMessage(summaryIn(answer))
  // Between the answer and the write nobody can be asked any more.
  if (signal.aborted) throw new LociError('TURN_INTERRUPTED', 'Interrupted')
  const { from, units, totalUnits } = keptPart(chain)
  const base = JSON.stringify(
    modelRequest({ ...room.fork, tools: room.fork.calls.tools, messages: [] }),
  ).length
  const tokensBefore = contextTokens(chain) || inputOf(usage)
  const share = (base + summary.length + units) / (base + totalUnits)
  const tokensAfter = Math.round(tokensBefore * share)
  const metadata = { trigger: how.trigger, preTokens: tokensBefore, postTokens: tokensAfter }
  const compacted = await session.compact({ summary, keepFrom: from, metadata })
  const lastPrompt = (await session.records('last-prompt')).at(-1)?.['lastPrompt'] ?? ''
  // As after a turn: without it other clients would go on with an older branch.
  await session.record({ type: 'last-prompt', lastPrompt, leafUuid: compacted.summary.uuid })
  return { tokensBefore, tokensAfter, closed: tip, usage }
}

function inputOf(usage: TokenUsage): number {
  return usage.inputTokens + usage.cacheCreationInputTokens + usage.cacheReadInputTokens
}

/** What a compaction did, in a line. Pure. */
export function compactedLine({ tokensBefore, tokensAfter, closed, usage: { costUsd } }: Compacted): string {
  const cost = costUsd === null ? ', cost unknown' : costUsd === 0 ? '' : `, $${costUsd.toFixed(4)}`
  return `Compacted: ${tokensBefore} tokens before, about ${tokensAfter} now${cost}; /rewind ${closed} conversation goes back`
}

/**
 * Compacts the conversation if the model's window is nearly full, and says so. Whatever goes wrong is said too, and is
 * tried again only when the conversation has grown further, whoever goes on with it.
 *
 * @returns whether it is compacted
 * @throws {LociError} DISK_FULL, DISK_IO when that cannot be written down
 */
export async function compactIfFull(
  room: CompactRoom,
  isEnabled: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<boolean> {
  const { session, emit } = room
  const chain = await session.chain()
  const { tip } = session
  const tokens = contextTokens(chain)
  if (!isFull(tokens, room.fork.model, undefined)) return false
  const failures = await session.records(FAILURE_RECORD)
  const failedAt = failures
    .filter(({ upTo }) => chain.some(({ uuid }) => uuid === upTo))
    .findLast((record) => typeof record['tokens'] === 'number')?.['tokens']
  if (!isFull(tokens, room.fork.model, typeof failedAt === 'number' ? failedAt : undefined)) return false
  try {
    if (!(await isEnabled())) return false
    emit({ type: 'notice', text: `The conversation takes ${tokens} tokens; compacting it` })
    const compacted = await compactConversation(room, { trigger: 'auto', wish: '' }, signal)
    emit({ type: 'notice', text: compactedLine(compacted) })
    return true
  } catch (error) {
    if (!isLociError(error)) throw error
    emit({
      type: 'notice',
      text: `Compacting failed: ${errorMessage(error)}; the conversation is as it was, /compact tries again`,
    })
    await session.record({ type: FAILURE_RECORD, upTo: tip, tokens })
    return false
  }
}
