const CWD = '/home/user/app'
const CARRIED = { version: '1.0.0', gitBranch: 'main' }

/** A line as Loci writes it: what a reader needs to find the branch comes first. */
export function ownLine({ type, uuid, parentUuid, timestamp, message, fields }, sessionId) {
  const carried = { sessionId, timestamp, cwd: CWD, ...CARRIED, userType: 'external', isSidechain: false }
  return JSON.stringify({ type, uuid, parentUuid, ...carried, message, ...fields })
}

/** A line as another client writes it: the uuid comes after the message. */
export function foreignLine({ type, uuid, parentUuid, timestamp, message, fields }, sessionId) {
  const before = { parentUuid, isSidechain: false, promptId: uuid, type, message, uuid, timestamp }
  return JSON.stringify({
    ...before,
    ...fields,
    userType: 'external',
    entrypoint: 'cli',
    cwd: CWD,
    sessionId,
    ...CARRIED,
  })
}

/** The first line of a session of pi. */
export function piHeader(sessionId) {
  return JSON.stringify({
    type: 'session',
    version: 3,
    id: sessionId,
    timestamp: '2026-01-01T00:00:00.000Z',
    cwd: CWD,
  })
}

/** The same entry as pi writes it; the two entries of a compaction are one there, named after the summary. */
export function piLine({ kind, uuid, parentUuid, timestamp, message, fields }, boundary) {
  if (kind === 'boundary') return undefined
  const base = { id: uuid, parentId: parentUuid, timestamp }
  if (kind === 'summary') {
    const summary = { summary: message.content, firstKeptEntryId: uuid, tokensBefore: 150_000 }
    return JSON.stringify({
      type: 'compaction',
      ...base,
      parentId: boundary.fields.logicalParentUuid,
      ...summary,
    })
  }
  return JSON.stringify({ type: 'message', ...base, message: piMessage(kind, message, fields, timestamp) })
}

function piMessage(kind, message, fields, timestamp) {
  const at = Date.parse(timestamp)
  if (kind === 'prompt') return { ...message, timestamp: at }
  const [block] = message.content
  if (kind === 'result') {
    const content = [{ type: 'text', text: block.content }]
    const call = { toolCallId: block.tool_use_id, toolName: 'Edit' }
    return {
      role: 'toolResult',
      ...call,
      content,
      details: fields.toolUseResult,
      isError: false,
      timestamp: at,
    }
  }
  const content =
    kind === 'call' ? { type: 'toolCall', id: block.id, name: block.name, arguments: block.input } : block
  const usage = { input: 1200, output: 300, cacheRead: 0, cacheWrite: 0, totalTokens: 1500 }
  return { role: 'assistant', content: [content], provider: 'p', model: message.model, usage, timestamp: at }
}
