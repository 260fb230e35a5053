import { basename, dirname } from 'node:path'
import { readArchived } from './archived.ts'
import { extractJsonStringField, extractLastJsonStringField } from './extract-field.ts'
import { readEnds } from './head-tail.ts'
import type { Ends } from './head-tail.ts'
import { lastActivity } from './last-activity.ts'
import { lastPromptIn } from './last-prompt.ts'
import { parseLine } from './parse-line.ts'
import { readHead } from './read-head.ts'
import type { HeadFacts } from './read-head.ts'
import { sideDirectory } from './session-path.ts'

/** What a list shows of a session, read from both ends of its transcript. */
export interface SessionInfo {
  /** The name of the file, whatever its lines say. */
  sessionId: string
  path: string
  /** The title, else the last prompt, else the first; `''` if there is none of them. */
  summary: string
  customTitle?: string
  tag?: string
  /** One line of at most 200 UTF-16 units, and `…` if it was longer. */
  firstPrompt?: string
  /** The newest prompt that can be seen, in the same form; none after a move to the empty conversation. */
  lastPrompt?: string
  /** Where the session began. */
  cwd?: string
  /** Where it went on, if that is elsewhere. */
  lastCwd?: string
  gitBranch?: string
  createdAtMs?: number
  /** When the newest entry was written; without one that can be seen, when the file was. */
  lastActivityMs: number
  sizeBytes: number
  archived: boolean
  /** The session that this one was forked from. */
  forkedFrom?: string
  /** Whether damage was seen in what was read; `verifySession` looks at all of it. */
  damaged: boolean
}

/** How far the head is read where the first 64 KiB hold no prompt. */
const LONG_HEAD_BYTES = 1024 * 1024

/**
 * What a list shows of the session at `path`; `undefined` if there is no such file. Reads at most 64 KiB from each end,
 * whatever the size; only if the head holds no whole prompt, or no directory for one that it cuts, it reads on, to 1 MiB.
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} DISK_IO, also when it is no file
 */
export async function sessionInfo(path: string): Promise<SessionInfo | undefined> {
  return (await readSessionInfo(path))?.info
}

/** {@link SessionInfo} with whether the transcript may hold a conversation, which one without any is not listed for. */
export async function readSessionInfo(
  path: string,
): Promise<{ info: SessionInfo; hasConversation: boolean } | undefined> {
  if (typeof path !== 'string') throw new TypeError('path must be a string')
  const sessionId = basename(path, '.jsonl')
  const ends = await readEnds(path, {
    bytes: LONG_HEAD_BYTES,
    wantedFor: (text) => needsMore(text, sessionId),
  })
  if (ends === undefined) return undefined
  const { longerHead, sizeBytes } = ends
  const text = longerHead ?? (ends.contiguous ? ends.head + ends.tail : ends.head)
  const whole = ends.contiguous || (longerHead !== undefined && sizeBytes <= LONG_HEAD_BYTES)
  const head = readHead(text, { sessionId, cut: !whole })
  const mark = await readArchived(sideDirectory(dirname(path), sessionId))
  return { info: infoOf(path, sessionId, ends, head, mark), hasConversation: head.hasEntry || !whole }
}

/** Whether a head lacks the first prompt, or cuts its line before the directory, which clients write behind it. */
function needsMore(head: string, sessionId: string): boolean {
  const { prompt, command, cwd } = readHead(head, { sessionId, cut: true })
  if (prompt === undefined && command === undefined) return true
  if (cwd !== undefined) return false
  const whole = readHead(head.slice(0, head.lastIndexOf('\n') + 1), { sessionId, cut: false })
  return whole.prompt === undefined && whole.command === undefined
}

function infoOf(
  path: string,
  sessionId: string,
  ends: Ends,
  head: HeadFacts,
  mark: { archived: boolean; damage?: unknown },
): SessionInfo {
  const last = (key: string): string | undefined => {
    // An empty title or tag in the tail takes back an older one in the head.
    const value = extractLastJsonStringField(ends.tail, key) ?? extractLastJsonStringField(ends.head, key)
    return value === '' ? undefined : value
  }
  const customTitle = last('customTitle')
  const tag = last('tag')
  const firstPrompt = head.prompt ?? head.command
  const { lastPrompt } =
    (ends.contiguous ? undefined : lastPromptIn(ends.tail, sessionId)) ??
    lastPromptIn(ends.contiguous ? ends.head + ends.tail : ends.head, sessionId) ??
    {}
  const lastCwd = last('cwd')
  const gitBranch = last('gitBranch')
  const forkedFrom = extractJsonStringField(ends.head, 'sourceSessionId') ?? head.forkedFrom
  return {
    sessionId,
    path,
    summary: customTitle ?? lastPrompt ?? firstPrompt ?? '',
    ...defined({ customTitle, tag, firstPrompt, lastPrompt, cwd: head.cwd }),
    ...defined({ lastCwd: lastCwd === head.cwd ? undefined : lastCwd, gitBranch }),
    ...(head.createdAtMs === undefined ? {} : { createdAtMs: head.createdAtMs }),
    lastActivityMs:
      lastActivity(ends.contiguous ? ends.head + ends.tail : ends.tail) ?? Math.floor(ends.mtimeMs),
    sizeBytes: ends.sizeBytes,
    archived: mark.archived,
    ...defined({ forkedFrom }),
    damaged: mark.damage !== undefined || isDamaged(ends),
  }
}

function defined<K extends string>(values: Record<K, string | undefined>): Partial<Record<K, string>> {
  const present: Partial<Record<K, string>> = {}
  for (const key in values) {
    const value = values[key]
    if (value !== undefined) present[key] = value
  }
  return present
}

/** Whether a line of the window is no JSON object. Lines that look right at both ends are not parsed. */
function isDamaged({ head, tail, contiguous }: Ends): boolean {
  const texts = contiguous
    ? [head + tail]
    : [
        head.slice(0, head.lastIndexOf('\n') + 1),
        tail.includes('\n') ? tail.slice(tail.indexOf('\n') + 1) : '',
      ]
  return texts.some((text) => text.split('\n').some((line) => isDamagedLine(line)))
}

function isDamagedLine(line: string): boolean {
  if (line.includes('\0')) return true
  const looksRight = /^\uFEFF?[ \t\r]*(?:\{[^]*\}[ \t\r]*)?$/.test(line) && !line.includes('}{"')
  return !looksRight && parseLine(Buffer.from(line)).some((part) => 'flaw' in part)
}
