import type { OpenFile } from '@loci/disk'
import { analyse } from './analysis.ts'
import type { Analysis } from './analysis.ts'
import { chunksOf } from './read-transcript.ts'
import { RangeReader, readRecord } from './record-reader.ts'
import { slimItem } from './slim-item.ts'
import { TranscriptParser } from './transcript.ts'
import type { LineStart, TranscriptItem } from './transcript.ts'
import { saySame } from './tree.ts'

/**
 * A transcript that is read whole, and read on as it grows: each {@link catchUp} reads only what came since the last
 * one. Of its records stays what puts them together, not what they say, so that a file of any size can be read. An
 * unfinished last line counts as it stands and is read again next time, since its writer may go on or take it back.
 */
export class FollowedTranscript {
  readonly path: string
  #finished: TranscriptItem[] = []
  /** After the last finished line. */
  #next: LineStart = { offset: 0, line: 1 }
  #sizeBytes = 0
  #items: readonly TranscriptItem[] = []
  /** The copies that say the same as the one with their uuid before them. */
  readonly #same = new WeakSet<TranscriptItem>()
  #analysis: { items: readonly TranscriptItem[]; analysis: Analysis } | undefined

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

  /** What {@link items} make up, as the transcript of a session. */
  analysis(sessionId: string | undefined): Analysis {
    if (this.#analysis?.items !== this.#items) {
      const isSame = (_: TranscriptItem, copy: TranscriptItem): boolean => this.#same.has(copy)
      const analysis = analyse(this.#items, this.path, sessionId, isSame)
      this.#analysis = { items: this.#items, analysis }
    }
    return this.#analysis.analysis
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
      for (const item of parser.push(chunk)) finished.push(slimItem(item))
      end += chunk.length
    }
    const items = [...finished, ...parser.rest().map((item) => slimItem(item))]
    await this.#compareCopies(file, items)
    this.#finished = finished
    this.#next = parser.lineStart
    this.#sizeBytes = end
    this.#items = items
  }

  /** Finds, for each line that repeats a uuid, whether it says the same as the one before it that counts. */
  async #compareCopies(file: OpenFile, items: readonly TranscriptItem[]): Promise<void> {
    const counting = new Map<string, TranscriptItem>()
    const reader = new RangeReader(file)
    for (const item of items) {
      const uuid = item.record?.['uuid']
      if (typeof uuid !== 'string') continue
      const before = counting.get(uuid)
      if (before === undefined) counting.set(uuid, item)
      else if (before.record && item.record && this.#same.has(item)) continue
      else {
        const [one, other] = [await readRecord(reader, before), await readRecord(reader, item)]
        const same = one && other && saySame({ ...before, record: one }, { ...item, record: other })
        if (same) this.#same.add(item)
        else if (before.record?.type === item.record?.type) counting.set(uuid, item)
      }
    }
  }
}
