import type { OpenFile } from '@loci/disk'
import type { Entry, RecordDraft } from './entry.ts'
import { isMarked, markAt } from './file-mark.ts'
import type { FileMark } from './file-mark.ts'
import { chunksOf } from './read-transcript.ts'
import { TranscriptParser } from './transcript.ts'

/** What becomes of the records that a {@link RecordCursor} reads. */
export interface RecordSink {
  /** What was taken so far counts no more: the file is another one than before, or is read anew. */
  reset(): void
  record(record: Entry | RecordDraft): void
  /** A record on a last line without newline. It comes again with the next reading. */
  unfinished?(record: Entry | RecordDraft): void
}

/** Reads the records of a file as it grows, from where the last reading ended. One call at a time. */
export class RecordCursor {
  readonly #sink: RecordSink
  #mark: FileMark | undefined

  constructor(sink: RecordSink) {
    this.#sink = sink
  }

  /** Reads what came since. After a reading that failed the next one begins anew. */
  async catchUp(file: OpenFile): Promise<void> {
    const mark = this.#mark && (await isMarked(file, this.#mark)) ? this.#mark : undefined
    this.#mark = undefined
    if (mark === undefined) this.#sink.reset()
    const parser = new TranscriptParser(file.path, mark?.start)
    for await (const chunk of chunksOf(file, parser.lineStart.offset))
      for (const { record } of parser.push(chunk)) if (record) this.#sink.record(record)
    for (const { record } of parser.rest()) if (record) this.#sink.unfinished?.(record)
    this.#mark = await markAt(file, parser.lineStart)
  }
}
