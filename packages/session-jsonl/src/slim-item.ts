import type { Entry, RecordDraft } from './entry.ts'
import { isChainType, isEntry, isObject } from './entry.ts'
import { malformedParts } from './message-blocks.ts'
import type { TranscriptItem } from './transcript.ts'

/** What is looked at to put a transcript together. */
const LOOKED_AT: ReadonlySet<string> = new Set([
  'type',
  'uuid',
  'parentUuid',
  'sessionId',
  'timestamp',
  'isSidechain',
  'subtype',
  'isCompactSummary',
  'logicalParentUuid',
  'compactMetadata',
  'sourceToolAssistantUUID',
  'leafUuid',
  'explicit',
  'agentId',
])

/**
 * An item without what its record says, so that a transcript of any size can be put together in memory: the tree, the
 * tips and the damage come out the same. Of a message stay its id and the ids of its calls and results.
 */
export function slimItem(item: TranscriptItem): TranscriptItem {
  const { record } = item
  return record === undefined || isKeptWhole(record) ? item : { ...item, record: slimRecord(record) }
}

/** What names itself by what it says, and what is small and wanted by a fork. */
function isKeptWhole(record: Entry | RecordDraft): boolean {
  return record.type === 'content-replacement' || (isChainType(record.type) && !isEntry(record))
}

function slimRecord(record: Entry | RecordDraft): RecordDraft {
  const slim: RecordDraft = { type: record.type }
  for (const [key, value] of Object.entries(record)) if (LOOKED_AT.has(key)) slim[key] = value
  if (!isEntry(record)) return slim
  const { message } = record
  if (message !== undefined) slim['message'] = isObject(message) ? slimMessage(record, message) : message
  return slim
}

function slimMessage(entry: Entry, message: Record<string, unknown>): Record<string, unknown> {
  // What is malformed is counted, which takes all of it.
  if (malformedParts(entry) > 0) return message
  const { id, content } = message
  const items = Array.isArray(content) ? content.filter((block: unknown) => isObject(block)) : []
  const blocks = items.flatMap((block): Record<string, unknown>[] => {
    if (block['type'] === 'tool_use') return [{ type: 'tool_use', id: block['id'], name: block['name'] }]
    return block['type'] === 'tool_result' ? [{ type: 'tool_result', tool_use_id: block['tool_use_id'] }] : []
  })
  const other = items.length > blocks.length ? [{ type: 'text', text: '' }] : []
  return { ...(id === undefined ? {} : { id }), content: [...blocks, ...other] }
}
