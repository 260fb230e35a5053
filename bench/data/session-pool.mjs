import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownLine } from './lines.mjs'
import { conversation } from './messages.mjs'
import { logUniform, mulberry32, seededUuid } from './random.mjs'

const POOL = 40
const KILOBYTE = 1024
const SESSION = '00000000-0000-4000-a000-000000000000'
const DAY_AND_HOUR = '2026-01-01T00:'
const FIRST_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

/**
 * Writes sessions as a busy year leaves them behind: 2 to 200 KB, by the logarithm evenly, cut from 40 conversations, an
 * hour apart, a file's time that of its last entry; three in ten have been renamed, which is their last line.
 *
 * @returns `{ sessionId, customTitle? }[]`, newest first
 */
export function writeSessions(projectDir, count) {
  mkdirSync(projectDir, { recursive: true })
  const pool = Array.from({ length: POOL }, (_, nth) => poolLines(1000 + nth))
  const random = mulberry32(99)
  const made = []
  for (let nth = 0; nth < count; nth++) {
    const sessionId = seededUuid(random)
    const wanted = logUniform(random, 2 * KILOBYTE, 200 * KILOBYTE)
    const lines = pool[nth % POOL]
    let sizeBytes = 0
    let end = 0
    while (end < lines.length && sizeBytes < wanted) sizeBytes += lines[end++].length
    const hour = new Date(FIRST_MS + nth * HOUR_MS).toISOString().slice(0, DAY_AND_HOUR.length)
    const text = lines.slice(0, end).join('').replaceAll(SESSION, sessionId).replaceAll(DAY_AND_HOUR, hour)
    const customTitle = random() < 0.3 ? `Session ${nth} · 会話 🚀` : undefined
    const title =
      customTitle === undefined ? '' : `${JSON.stringify({ type: 'custom-title', customTitle, sessionId })}\n`
    const path = join(projectDir, `${sessionId}.jsonl`)
    writeFileSync(path, text + title, { mode: 0o600 })
    const lastEntryS = FIRST_MS / 1000 + nth * 3600 + end
    utimesSync(path, lastEntryS, lastEntryS)
    made.push({ sessionId, customTitle })
  }
  return made.toReversed()
}

/** 200 KB of one conversation, with stand-ins for what differs from file to file. Entries are a second apart. */
function poolLines(seed) {
  const lines = []
  let sizeBytes = 0
  for (const entry of conversation({ seed }, () => sizeBytes)) {
    const line = `${ownLine(entry, SESSION)}\n`
    lines.push(line)
    sizeBytes += line.length
    if (sizeBytes > 200 * KILOBYTE) return lines
  }
  return lines
}
