import { isObject } from './entry.ts'
import type { RecordDraft } from './entry.ts'

/**
 * What a tool result is replaced by whenever the conversation is sent: text by tool call id, from the
 * `content-replacement` records in file order. Of several for one call the last counts.
 *
 * Source: `docs/formats/session.md`, content-replacement.
 */
export function replacementsOf(records: readonly RecordDraft[]): Map<string, string> {
  const replacements = new Map<string, string>()
  for (const record of records) {
    for (const item of replacementItems(record)) {
      const { kind, toolUseId, replacement } = item
      if (kind !== 'tool-result' || typeof toolUseId !== 'string' || typeof replacement !== 'string') continue
      replacements.set(toolUseId, replacement)
    }
  }
  return replacements
}

/** The items of a `content-replacement` record. */
export function replacementItems(record: RecordDraft): Record<string, unknown>[] {
  const items = record.type === 'content-replacement' ? record['replacements'] : undefined
  return Array.isArray(items) ? items.filter((item: unknown) => isObject(item)) : []
}
