import type { OpenFile } from '@loci/disk'
import { chunksOf } from './read-transcript.ts'
import { TranscriptParser } from './transcript.ts'
import type { LineStart, TranscriptItem } from './transcript.ts'

/**
 * A transcript that is read on as it grows: each {@link catchUp} reads only what came since the last one. An
 * unfinished last line counts as it stands and is read again next time, since its writer may go on or take it back.
 */
export class FollowedTranscript {
  readonly path: string
  #finished: TranscriptItem[] = []
  /** After the last finished line. */
  #next: LineStart = { offset: 0, line: 1 }
  #sizeBytes = 0
  #items: readonly TranscriptItem[] = []

  constructor(path: string) {
    this.path = path
  }

  /** All items read so far, in file order. A new array after every change, the same one otherwise. */
  get items(): readonly TranscriptItem[] {
    return this.#items
  }

  /** How much of the file has been read. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Reads what `file` holds beyond what was read. A file that lost finished lines is read anew. */
  async catchUp(file: OpenFile): Promise<void> {
    const size = Number((await file.stat()).size)
    if (size === this.#sizeBytes && size === this.#next.offset) return
    const shrunk = size < this.#next.offset
    const parser = new TranscriptParser(this.path, shrunk ? { offset: 0, line: 1 } : this.#next)
    // Collected apart, so that a reading that fails half-way can be repeated.
    const finished = shrunk ? [] : [...this.#finished]
    let end = parser.lineStart.offset
    for await (const chunk of chunksOf(file, end)) {
      for (const item of parser.push(chunk)) finished.push(item)
      end += chunk.length
    }
    this.#finished = finished
    this.#next = parser.lineStart
    this.#sizeBytes = end
    this.#items = [...finished, ...parser.rest()]
  }
}
