import { isBoundary, isSummary } from './compaction.ts'
import type { Entry, EntryDraft } from './entry.ts'
import { messageId, toolCallIds, toolResultIds } from './tool-index.ts'

/** What a conversation becomes. */
export interface Compaction {
  /** What stands for the part that is closed; sent as a message of the user's. */
  summary: string
  /**
   * The first entry that is kept as it is, with all that follow it; default: none is. It moves back to where no
   * message is torn, nor a call from its result, and a message is kept whole also where the conversation was taken back
   * to inside it.
   */
  keepFrom?: string | undefined
  /** What the boundary is to say besides: `trigger`, `preTokens` … */
  metadata?: Record<string, unknown> | undefined
}

/** The lines of a compaction, in the order in which they are written: together, or one without the other means none. */
export interface CompactionPlan {
  boundary: EntryDraft
  summary: EntryDraft
}

/**
 * The lines that compact the conversation of a chain. Pure.
 *
 * @param chain not empty; where it ends is what the compaction closes
 * @param places.tip the entry that would have been gone on from
 * @param places.summary the uuid of the summary
 * @returns `undefined` if `keepFrom` is not in the chain
 */
export function planCompaction(
  chain: readonly Entry[],
  { summary, keepFrom, metadata }: Compaction,
  places: { tip: string; summary: string },
): CompactionPlan | undefined {
  const from = keepFrom === undefined ? chain.length : chain.findIndex(({ uuid }) => uuid === keepFrom)
  if (from === -1) return undefined
  const kept = chain.slice(wholeFrom(chain, from)).filter((entry) => !isBoundary(entry) && !isSummary(entry))
  return {
    boundary: {
      type: 'system',
      parentUuid: null,
      logicalParentUuid: places.tip,
      subtype: 'compact_boundary',
      content: 'Conversation compacted',
      isMeta: false,
      level: 'info',
      compactMetadata: { ...metadata, ...preserved(kept, places.summary) },
    },
    summary: {
      type: 'user',
      uuid: places.summary,
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      message: { role: 'user', content: summary },
    },
  }
}

/** Where a part that begins at `from` or before it tears nothing apart. */
function wholeFrom(chain: readonly Entry[], from: number): number {
  const first = new Map<string, number>()
  const note = (key: string, index: number): void => {
    if (!first.has(key)) first.set(key, index)
  }
  for (const [index, entry] of chain.entries()) {
    const id = messageId(entry)
    if (id !== undefined) note(`message ${id}`, index)
    for (const call of toolCallIds(entry)) note(`call ${call}`, index)
  }
  let start = from
  // What comes along may belong to something that begins still earlier.
  for (let index = chain.length - 1; index >= start; index -= 1) {
    const entry = chain[index]
    if (entry === undefined) continue
    const id = messageId(entry)
    const belongsTo = [
      ...(id === undefined ? [] : [`message ${id}`]),
      ...toolResultIds(entry).map((call) => `call ${call}`),
    ]
    for (const key of belongsTo) start = Math.min(start, first.get(key) ?? start)
  }
  return start
}

function preserved(kept: readonly Entry[], anchorUuid: string): Record<string, unknown> {
  const [head, tail] = [kept[0]?.uuid, kept.at(-1)?.uuid]
  if (head === undefined || tail === undefined) return {}
  const messages = kept.filter(({ type }) => type === 'user' || type === 'assistant')
  return {
    preservedSegment: { headUuid: head, anchorUuid, tailUuid: tail },
    preservedMessages: {
      anchorUuid,
      uuids: messages.map(({ uuid }) => uuid),
      allUuids: kept.map(({ uuid }) => uuid),
    },
  }
}
