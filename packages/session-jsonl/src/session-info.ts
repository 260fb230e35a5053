import { basename, dirname } from 'node:path'
import { readArchived } from './archived.ts'
import { lastField } from './extract-field.ts'
import { lookAtEnds } from './head-tail.ts'
import type { Ends } from './head-tail.ts'
import { lastActivity } from './last-activity.ts'
import type { LastActivity } from './last-activity.ts'
import { lastPromptIn, lastPromptTime } from './last-prompt.ts'
import { readHead } from './read-head.ts'
import type { HeadFacts } from './read-head.ts'
import { sideDirectory } from './session-path.ts'
import { surveyLines } from './survey-lines.ts'
import { lineBefore, windowOf } from './window.ts'
import type { Window } from './window.ts'

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
  /**
   * When the newest entry was written. Where the last 1 MiB hold none, as after so many zeros or in one huge line, that
   * of the newest other record there; without that, when the file was.
   */
  lastActivityMs: number
  sizeBytes: number
  /** Whether it was taken out of lists, and has had no prompt since. */
  archived: boolean
  /** The session that this one was forked from. */
  forkedFrom?: string
  /** Whether damage was seen in what was read; `verifySession` looks at all of it. */
  damaged: boolean
}

/** How far is read where the first 64 KiB hold no prompt, or the last no entry. */
const LONGER_BYTES = 1024 * 1024

/**
 * What a list shows of the session at `path`; `undefined` if there is no such file. Reads at most 64 KiB from each end,
 * whatever the size; only if the head holds no whole prompt, or no directory for one that it cuts, it reads on there, to
 * 1 MiB; and only if the tail holds no entry, back from the end as far.
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} DISK_IO, also when it is no file
 */
export async function sessionInfo(path: string): Promise<SessionInfo | undefined> {
  const read = readTranscriptInfo(path)
  if (read === undefined) return undefined
  await readMark(read.info)
  return read.info
}

/**
 * Puts into what the transcript tells whether the session is archived: it was, and has had no prompt since. To go on
 * with a session takes it back into lists.
 */
export async function readMark(info: SessionInfo): Promise<void> {
  const { path, sessionId } = info
  const { archived, atMs, damage } = await readArchived(sideDirectory(dirname(path), sessionId))
  info.damaged ||= damage !== undefined
  info.archived =
    archived && !(atMs !== undefined && info.lastActivityMs > atMs && hasPromptAfter(info, atMs))
}

function hasPromptAfter({ path, sessionId }: SessionInfo, sinceMs: number): boolean {
  const found = lookAtEnds(path, {}, (ends) => {
    const parts = ends.whole === undefined ? [ends.longerTail(LONGER_BYTES), ends.head] : [ends.whole]
    return parts.some((bytes) => (lastPromptTime(windowOf(bytes), sessionId) ?? 0) > sinceMs)
  })
  return found === true
}

/**
 * {@link SessionInfo} as the transcript alone tells it, so `archived` is false; with whether it may hold a conversation,
 * which one without any is not listed for, and the time of the file. Opens it once, and waits for nothing.
 */
export function readTranscriptInfo(path: string): TranscriptInfo | undefined {
  return lookAtEnds(path, {}, (ends) => infoOf(path, basename(path, '.jsonl'), ends))
}

/** A transcript as a list reads it. */
export interface TranscriptInfo {
  info: SessionInfo
  hasConversation: boolean
  mtimeMs: number
}

function infoOf(path: string, sessionId: string, ends: Ends): TranscriptInfo {
  const head = windowOf(ends.whole ?? ends.head)
  const { tail, isCut, last } = endOf(ends, head, sessionId)
  const inHead = surveyLines(head, { first: false, last: tail !== undefined })
  const inTail = tail && surveyLines(tail, { first: isCut, last: false })
  const { begins, isWhole } = beginningOf(ends, head, sessionId)
  // An empty title or tag in the tail takes back an older one in the head.
  const customTitle = inTail?.customTitle ?? inHead.customTitle
  const tag = inTail?.tag ?? inHead.tag
  const firstPrompt = begins.prompt ?? begins.command
  const said = (tail && lastPromptIn(tail, sessionId)) ?? lastPromptIn(head, sessionId)
  const lastCwd = last.cwd ?? lastIn('cwd', tail, head)
  const gitBranch = last.gitBranch ?? lastIn('gitBranch', tail, head)
  const forkedFrom = inHead.sourceSessionId ?? begins.forkedFrom
  const info: SessionInfo = {
    sessionId,
    path,
    summary: [customTitle, said?.lastPrompt, firstPrompt].find((text) => text) ?? '',
    lastActivityMs: last.timeMs ?? Math.floor(ends.mtimeMs),
    sizeBytes: ends.sizeBytes,
    archived: false,
    damaged: inHead.isDamaged || inTail?.isDamaged === true,
  }
  if (customTitle) info.customTitle = customTitle
  if (tag) info.tag = tag
  if (firstPrompt !== undefined) info.firstPrompt = firstPrompt
  if (said?.lastPrompt !== undefined) info.lastPrompt = said.lastPrompt
  if (begins.cwd !== undefined) info.cwd = begins.cwd
  if (lastCwd && lastCwd !== begins.cwd) info.lastCwd = lastCwd
  if (gitBranch) info.gitBranch = gitBranch
  if (begins.createdAtMs !== undefined) info.createdAtMs = begins.createdAtMs
  if (forkedFrom !== undefined) info.forkedFrom = forkedFrom
  return { info, hasConversation: begins.hasEntry || !isWhole, mtimeMs: ends.mtimeMs }
}

/** Where the newest entry does not say it: the value that the last line with the field has. */
function lastIn(key: string, tail: Window | undefined, head: Window): string | undefined {
  return (tail && lastField(tail, key)) ?? lastField(head, key)
}

/**
 * The newest entry, and the tail that it was looked for in, if that is not all in the head: a longer one where the first
 * holds none, since what a crash leaves behind the last entry, zeros or a torn line, has any length.
 */
function endOf(
  ends: Ends,
  head: Window,
  sessionId: string,
): { tail: Window | undefined; isCut: boolean; last: LastActivity } {
  const look = (window: Window, isCut: boolean): LastActivity => lastActivity(window, { sessionId, isCut })
  if (ends.whole !== undefined) return { tail: undefined, isCut: false, last: look(head, false) }
  const tail = windowOf(ends.tail)
  const last = look(tail, true)
  if (last.isEntry) return { tail, isCut: true, last }
  const longer = windowOf(ends.longerTail(LONGER_BYTES))
  const isCut = ends.sizeBytes > LONGER_BYTES
  return { tail: longer, isCut, last: look(longer, isCut) }
}

/** What the head says, and where it lacks the first prompt, a longer one; and whether that is all of the file. */
function beginningOf(ends: Ends, head: Window, sessionId: string): { begins: HeadFacts; isWhole: boolean } {
  const begins = readHead(head, { sessionId, cut: ends.whole === undefined })
  if (ends.whole !== undefined || !needsMore(begins, head, sessionId))
    return { begins, isWhole: ends.whole !== undefined }
  const longer = windowOf(ends.longerHead(LONGER_BYTES))
  const isWhole = ends.sizeBytes <= LONGER_BYTES
  return { begins: readHead(longer, { sessionId, cut: !isWhole }), isWhole }
}

/** Whether a head lacks the first prompt, or cuts its line before the directory, which clients write behind it. */
function needsMore({ prompt, command, cwd }: HeadFacts, head: Window, sessionId: string): boolean {
  if (prompt === undefined && command === undefined) return true
  if (cwd !== undefined) return false
  const end = lineBefore(head.text, head.text.length)
  const lines = readHead(windowOf(head.bytes.subarray(0, end)), { sessionId, cut: false })
  return lines.prompt === undefined && lines.command === undefined
}
