import { SID, stampOf } from './lines.ts'
import type { Line } from './lines.ts'

/** Records outside the conversation, of every kind that the client, the SDK or we write. */
export const recordKinds = {
  snapshot: (messageId: string): Line => ({
    type: 'file-history-snapshot',
    messageId,
    snapshot: { messageId, trackedFileBackups: {}, timestamp: stampOf(1) },
    isSnapshotUpdate: false,
  }),
  replacement: (toolUseId: string, uuid: string): Line => ({
    type: 'content-replacement',
    sessionId: SID,
    replacements: [{ kind: 'tool-result', toolUseId, replacement: `kept elsewhere: ${toolUseId}` }],
    uuid: `r-${uuid}`,
    timestamp: stampOf(2),
  }),
  others: (): Line[] => OTHERS,
}

const OTHERS: Line[] = [
  { type: 'custom-title', customTitle: 'A title', sessionId: SID },
  { type: 'ai-title', aiTitle: 'A made title', sessionId: SID },
  { type: 'summary', summary: 'An old summary', leafUuid: 'u1' },
  { type: 'tag', tag: 'blue', sessionId: SID },
  { type: 'mode', mode: 'normal', sessionId: SID },
  { type: 'permission-mode', permissionMode: 'default', sessionId: SID },
  { type: 'atis-latch', atis: true, sessionId: SID },
  { type: 'tools-used', tools: ['Bash'], sessionId: SID },
  { type: 'cost-state', totalCostUSD: 0.1, modelUsage: {}, sessionId: SID },
  { type: 'queue-operation', operation: 'enqueue', timestamp: stampOf(3), content: 'wait', sessionId: SID },
  { type: 'api-request-shape', shapeHash: 'h', shape: { system: [], tools: [] }, sessionId: SID },
  { type: 'api-request-blob', hash: 'h', message: { role: 'user', content: 'x' }, sessionId: SID },
  { type: 'api-request', id: 'a', shapeHash: 'h', params: {}, keep: 0, tail: ['h'], sessionId: SID },
  {
    type: 'file-history-delta',
    messageId: 'u2',
    snapshotMessageId: 'u1',
    trackingPath: 'a.txt',
    backup: { backupFileName: null, version: 1, backupTime: stampOf(4) },
    timestamp: stampOf(4),
  },
  { type: 'something-new', uuid: 'no parent is said', sessionId: SID },
  { type: 'x-note', nested: { type: 'user', uuid: 'u1', parentUuid: null, sessionId: SID } },
]
