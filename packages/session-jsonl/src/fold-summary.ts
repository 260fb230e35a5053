import { isObject } from './entry.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import { timeOf } from './read-head.ts'
import type { SessionKey, SessionStoreEntry, SessionSummaryEntry } from './store.ts'

/**
 * The summary of a session after a batch was appended to it, for stores that keep summaries: keep `data` as it is and
 * give it back as `prev` the next time. Pure; `prev` is not changed.
 *
 * From the first entry that says so: `isSidechain`, `createdAt` (milliseconds), `cwd`, `firstPrompt` (one line of at
 * most 200 UTF-16 units and `…`; until there is one, `commandFallback`). From the last: `customTitle`, `tag` (none
 * after an empty one), `aiTitle`, `lastPrompt`, `summaryHint`, `gitBranch`.
 *
 * @param options.mtime the store's time of the change, milliseconds since the epoch; default: that of `prev`, else 0
 */
export function foldSessionSummary(
  prev: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: readonly SessionStoreEntry[],
  options: { mtime?: number | undefined } = {},
): SessionSummaryEntry {
  const data = { ...prev?.data }
  for (const entry of entries) fold(data, entry)
  return { sessionId: key.sessionId, mtime: options.mtime ?? prev?.mtime ?? 0, data }
}

/** The kinds of record whose last one counts: the field of the record, and what it is called in the summary. */
const LAST = new Map<string, { field: string; name: string }>([
  ['custom-title', { field: 'customTitle', name: 'customTitle' }],
  ['tag', { field: 'tag', name: 'tag' }],
  ['ai-title', { field: 'aiTitle', name: 'aiTitle' }],
  ['last-prompt', { field: 'lastPrompt', name: 'lastPrompt' }],
  ['summary', { field: 'summary', name: 'summaryHint' }],
])

function fold(data: Record<string, unknown>, entry: SessionStoreEntry): void {
  const { isSidechain, timestamp, cwd, gitBranch } = entry
  if (typeof isSidechain === 'boolean') data['isSidechain'] ??= isSidechain
  const createdAt = timeOf(timestamp)
  if (createdAt !== undefined) data['createdAt'] ??= createdAt
  if (typeof cwd === 'string') data['cwd'] ??= cwd
  if (typeof gitBranch === 'string') data['gitBranch'] = gitBranch
  const last = LAST.get(entry.type)
  const value = last && entry[last.field]
  if (last && typeof value === 'string') data[last.name] = value
  if (entry.type === 'tag' && value === '') delete data['tag']
  if (data['firstPromptLocked'] !== true) foldPrompt(data, entry)
}

function foldPrompt(data: Record<string, unknown>, entry: SessionStoreEntry): void {
  if (!isObject(entry['message'])) return
  const prompt = promptOf(entry)
  if (prompt === undefined) return
  if ('command' in prompt) data['commandFallback'] ??= previewOf(prompt.command)
  else {
    data['firstPrompt'] = previewOf(prompt.text)
    data['firstPromptLocked'] = true
  }
}
