import type { OpenFile } from '@loci/disk'
import type { Entry, RecordDraft } from './entry.ts'
import { RecentlyUsed } from './recently-used.ts'
import { RecordCursor } from './record-cursor.ts'

/** How many files are remembered; one that is not is read again. */
const MOST_FILES = 64

/** Knows which uuids are in the files of a store, whoever wrote them, by reading what each grew by. */
export class StoredUuids {
  readonly #files = new RecentlyUsed<{ cursor: RecordCursor; uuids: Set<string> }>(MOST_FILES)

  /** The uuids in an open file. One call at a time for each file. */
  async in(file: OpenFile): Promise<ReadonlySet<string>> {
    const known = this.#files.get(file.path, openIndex)
    await known.cursor.catchUp(file)
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
