import type { OpenFile } from '@loci/disk'
import type { Entry, RecordDraft } from './entry.ts'
import { RecordCursor } from './record-cursor.ts'

/** How many files are remembered; one that is not is read again. */
const MOST_FILES = 64

/** Knows which uuids are in the files of a store, whoever wrote them, by reading what each grew by. */
export class StoredUuids {
  /** The file used last is the last. */
  readonly #files = new Map<string, { cursor: RecordCursor; uuids: Set<string> }>()

  /** The uuids in an open file. One call at a time for each file. */
  async in(file: OpenFile): Promise<ReadonlySet<string>> {
    const known = this.#files.get(file.path) ?? openIndex()
    this.#files.delete(file.path)
    await known.cursor.catchUp(file)
    this.#files.set(file.path, known)
    for (const path of this.#files.keys()) {
      if (this.#files.size <= MOST_FILES) break
      this.#files.delete(path)
    }
    return known.uuids
  }
}

function openIndex(): { cursor: RecordCursor; uuids: Set<string> } {
  const uuids = new Set<string>()
  const add = (record: Entry | RecordDraft): void => {
    const { uuid } = record
    if (typeof uuid === 'string' && uuid !== '') uuids.add(uuid)
  }
  return { uuids, cursor: new RecordCursor({ reset: () => uuids.clear(), record: add, unfinished: add }) }
}
