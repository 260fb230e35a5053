import { foldSessionSummary } from './fold-summary.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { openTranscript } from './read-transcript.ts'
import { RecentlyUsed } from './recently-used.ts'
import { RecordCursor } from './record-cursor.ts'
import type { SessionKey, SessionSummaryEntry } from './store.ts'

/** How many summaries are remembered, which are small; the file of one that is not is read again. */
const MOST_SUMMARIES = 4_096

interface Folded {
  cursor: RecordCursor
  summary: SessionSummaryEntry
}

/** Folds the transcripts of a store into summaries; each is read once, then only what it grew by, while it is remembered. */
export class StoredSummaries {
  readonly #folded: RecentlyUsed<Folded>
  readonly #queue = new KeyedQueue()

  /** @param most how many files are remembered, those asked for last */
  constructor(most: number = MOST_SUMMARIES) {
    this.#folded = new RecentlyUsed(most)
  }

  /** The summary's data of the file at `path`, a copy. @throws {LociError} SESSION_NOT_FOUND, DISK_IO */
  dataOf(path: string, key: SessionKey): Promise<Record<string, unknown>> {
    return this.#queue.run(path, async () => {
      const folded = this.#folded.get(path, () => openFold(key))
      const file = await openTranscript(path)
      try {
        await folded.cursor.catchUp(file)
      } finally {
        await file.close()
      }
      return structuredClone(folded.summary.data)
    })
  }
}

function openFold(key: SessionKey): Folded {
  const empty = { sessionId: key.sessionId, mtime: 0, data: {} }
  const folded: Folded = {
    summary: empty,
    cursor: new RecordCursor({
      reset: () => {
        folded.summary = empty
      },
      record: (record) => {
        folded.summary = foldSessionSummary(folded.summary, key, [record])
      },
    }),
  }
  return folded
}
