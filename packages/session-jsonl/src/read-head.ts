import { parseCutObject } from './cut-json.ts'
import { isChainType, isObject } from './entry.ts'
import { lightRecords } from './light-record.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import type { Window } from './window.ts'

/** What the beginning of a transcript says. */
export interface HeadFacts {
  /** The first prompt, as a preview. */
  prompt: string | undefined
  /** The first command that was run, for a session that begins without a prompt. */
  command: string | undefined
  cwd: string | undefined
  createdAtMs: number | undefined
  forkedFrom: string | undefined
  /** Whether there is a line of the conversation itself. */
  hasEntry: boolean
}

/**
 * Reads the lines of a transcript's head up to the first prompt. Pure.
 *
 * @param options.cut whether the window cuts the last line; then what is there of it counts
 */
export function readHead(window: Window, options: { sessionId: string; cut: boolean }): HeadFacts {
  const facts: HeadFacts = {
    prompt: undefined,
    command: undefined,
    cwd: undefined,
    createdAtMs: undefined,
    forkedFrom: undefined,
    hasEntry: false,
  }
  let cwdOfOther: string | undefined
  for (const record of recordsIn(window, options)) {
    const { cwd, forkedFrom, sessionId } = record
    const own = sessionId === undefined || sessionId === options.sessionId
    if (typeof cwd === 'string' && own) facts.cwd ??= cwd
    else if (typeof cwd === 'string') cwdOfOther ??= cwd
    facts.createdAtMs ??= timeOf(record['timestamp'])
    if (isObject(forkedFrom) && typeof forkedFrom['sessionId'] === 'string')
      facts.forkedFrom ??= forkedFrom['sessionId']
    if (!isChainType(record['type']) || record['isSidechain'] === true) continue
    facts.hasEntry = true
    const prompt = promptOf(record)
    if (prompt && 'command' in prompt) facts.command ??= previewOf(prompt.command)
    if (prompt && 'text' in prompt) facts.prompt ??= previewOf(prompt.text)
    // A fork may begin with lines that still say whose they were; its own directory comes after them.
    if (facts.prompt !== undefined && facts.cwd !== undefined) break
  }
  facts.cwd ??= cwdOfOther
  return facts
}

/** Milliseconds since the epoch of an ISO 8601 string; `undefined` for anything else. */
export function timeOf(timestamp: unknown): number | undefined {
  const time = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

function* recordsIn(
  window: Window,
  { sessionId, cut }: { sessionId: string; cut: boolean },
): Generator<Record<string, unknown>> {
  const { bytes, text, lines } = window
  for (const line of lines) {
    const { start, end } = line
    const beginning =
      end === text.length && cut ? parseCutObject(bytes.toString('utf8', start, end)) : undefined
    if (beginning) yield beginning
    else yield* lightRecords(window, line, sessionId)
  }
}
