import { createHash } from 'node:crypto'
import { isObject } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import type { SessionStoreEntry } from './store.ts'

/**
 * What a store holds under a key, to be compared with a transcript in its order. An entry is known by its uuid. One
 * without is known by its content, and counted: the store that holds it once lacks it the second time. Holds no entry
 * itself.
 */
export class StoreInventory {
  readonly #uuids = new Set<string>()
  readonly #counts = new Map<string, number>()
  /** The last description of a subagent. */
  readonly metadata: string | undefined

  constructor(entries: readonly SessionStoreEntry[]) {
    let metadata: string | undefined
    for (const entry of entries) {
      if (entry.type === AGENT_METADATA) metadata = contentOf(entry)
      if (hasUuid(entry)) this.#uuids.add(entry.uuid)
      else this.#counts.set(contentOf(entry), (this.#counts.get(contentOf(entry)) ?? 0) + 1)
    }
    this.metadata = metadata
  }

  /** Whether the store holds the record. One without uuid is counted off. */
  takes(record: Entry | RecordDraft): boolean {
    if (hasUuid(record)) return this.#uuids.has(record.uuid)
    const content = contentOf(record)
    const left = this.#counts.get(content) ?? 0
    if (left > 0) this.#counts.set(content, left - 1)
    return left > 0
  }
}

/** The kind of entry that describes a subagent, in the subagent's transcript in a store. */
export const AGENT_METADATA = 'agent_metadata'

/** Tells contents apart. A store may give the fields of an entry in another order. */
export function contentOf(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1))) : part,
  )
  return createHash('sha256').update(text).digest('base64')
}

function hasUuid(record: Record<string, unknown>): record is { uuid: string } {
  return typeof record['uuid'] === 'string' && record['uuid'] !== ''
}
