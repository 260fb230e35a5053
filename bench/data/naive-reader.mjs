import { readFileSync } from 'node:fs'

const CHAIN_TYPES = new Set(['user', 'assistant', 'system', 'attachment'])

/**
 * The active branch of a transcript, root first, by the plainest way there is: parse every line, walk the parents, put
 * the results of parallel calls back, by their place in the file. What the fast ways are checked against; for healthy
 * files without a kept segment of a compaction.
 */
export function readBranchNaively(path) {
  const entries = []
  let prompt
  for (const line of linesOf(readFileSync(path))) {
    let record
    try {
      record = JSON.parse(line)
    } catch {
      continue
    }
    if (CHAIN_TYPES.has(record.type)) entries.push(record)
    else if (record.type === 'last-prompt') prompt = { ...record, after: entries.length }
  }
  const byUuid = new Map(entries.map((entry) => [entry.uuid, entry]))
  const last = entries.at(-1)
  const isMoved = prompt?.explicit === true && prompt.after === entries.length
  const branch = new Set()
  for (let at = isMoved ? byUuid.get(prompt.leafUuid) : last; at; at = byUuid.get(at.parentUuid))
    branch.add(at.uuid)
  return entries.filter(
    ({ uuid, sourceToolAssistantUUID }) => branch.has(uuid) || branch.has(sourceToolAssistantUUID),
  )
}

/** A file can be longer than the longest string. */
function* linesOf(bytes) {
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(10, start)
    const end = found === -1 ? bytes.length : found
    yield bytes.toString('utf8', start, end)
    start = end + 1
  }
}
