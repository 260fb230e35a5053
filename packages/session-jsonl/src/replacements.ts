import { isObject } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { toolCallIds } from './tool-index.ts'

/** A record, and where in the file or among its lines it stands. */
export interface PlacedRecord {
  record: RecordDraft
  at: number
}

/**
 * What a tool result is replaced by whenever the conversation is sent: text by tool call id, from the
 * `content-replacement` records in file order. A replacement stands behind the call that it concerns, and of several
 * for one call the last counts.
 *
 * @param callsAt where the calls of the conversation stand, by the same count as the records; see {@link callsIn}
 *
 * Source: `docs/formats/session.md`, content-replacement.
 */
export function replacementsOf(
  records: readonly PlacedRecord[],
  callsAt: ReadonlyMap<string, number>,
): Map<string, string> {
  const replacements = new Map<string, string>()
  for (const { record, at } of records) {
    for (const item of replacementItems(record)) {
      const { kind, toolUseId, replacement } = item
      if (kind !== 'tool-result' || typeof toolUseId !== 'string' || typeof replacement !== 'string') continue
      if (at > (callsAt.get(toolUseId) ?? -1)) replacements.set(toolUseId, replacement)
    }
  }
  return replacements
}

/** Where the tool calls of some entries stand; of several with one id the first counts, as it does when it is sent. */
export function callsIn(entries: Iterable<{ entry: Entry; at: number }>): Map<string, number> {
  const calls = new Map<string, number>()
  for (const { entry, at } of entries) {
    for (const id of toolCallIds(entry)) if (!calls.has(id)) calls.set(id, at)
  }
  return calls
}

/** The items of a `content-replacement` record. */
export function replacementItems(record: RecordDraft): Record<string, unknown>[] {
  const items = record.type === 'content-replacement' ? record['replacements'] : undefined
  return Array.isArray(items) ? items.filter((item: unknown) => isObject(item)) : []
}
