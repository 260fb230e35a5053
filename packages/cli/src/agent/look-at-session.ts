import type { FileHistory } from '@loci/file-history'
import type { Entry, Session } from '@loci/session-jsonl'
import { interruptedTurn } from './interrupted-turn.ts'

/** What somebody who goes on with a session should know, a sentence each. Reads only. */
export async function lookAtSession(session: Session, history: FileHistory | null): Promise<string[]> {
  const chain = await session.chain()
  const damage = await session.damage()
  const found = [
    damage.length === 0
      ? null
      : `${damage.length} ${damage.length === 1 ? 'place' : 'places'} in the transcript cannot be read; loci sessions show ${session.id} lists them.`,
    interruptedTurn(chain),
    history?.pendingRewind ? pendingNotice(history.pendingRewind, session.id) : null,
    history ? filesAreEarlier(chain, history, session.id) : null,
  ]
  return found.filter((line) => line !== null)
}

function pendingNotice({ done, left }: { done: string[]; left: string[] }, sessionId: string): string {
  return `A rewind of the files was interrupted after ${done.length} of ${done.length + left.length} files: /resolve finish ends it, /resolve undo takes it back (loci history resolve --session ${sessionId}).`
}

/**
 * Whether the files were rewound, and the conversation since then neither rewound nor gone on with: it tells of edits
 * that the files no longer hold.
 */
function filesAreEarlier(chain: readonly Entry[], history: FileHistory, sessionId: string): string | null {
  const last = history.rewinds().find(({ kind, undone }) => kind === 'rewind' && !undone)
  if (last === undefined || last.since !== (history.snapshots().at(-1)?.messageId ?? null)) return null
  if (!chain.some(({ uuid }) => uuid === last.messageId)) return null
  return `The files were rewound to before ${last.messageId}, the conversation was not: /rewind ${last.messageId} conversation takes it back too, /undo brings the files back (loci history undo --session ${sessionId}).`
}
