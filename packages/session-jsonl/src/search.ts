import { isLociError } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { listSessions } from './list.ts'
import { parseLine } from './parse-line.ts'
import { openTranscript } from './read-transcript.ts'
import { itemsOfLines } from './search-lines.ts'
import { fold, lineFilter, wordsOf } from './search-query.ts'
import { findWords, snippetOf } from './search-text.ts'
import type { SessionInfo } from './session-info.ts'

/** A place where a search found its words. */
export interface SearchHit {
  sessionId: string
  path: string
  /** The entry; `''` for a session's title, which is none, and for a line that has no uuid. */
  uuid: string
  /** `tool` for what a tool answered; the input of a call is the assistant's, a title the user's. */
  role: 'user' | 'assistant' | 'tool'
  /** One line of at most 200 UTF-16 units around the first of the words, with `…` where it is cut. */
  snippet: string
  /** When the entry was written, as its line says; of a title, when the session was last active. */
  timestamp: string
}

/** How far a search is. */
export interface SearchProgress {
  /** How many sessions are done, those that could not be read among them. */
  searched: number
  total: number
  /** How many so far could not be read, or not to their end. */
  unreadable: number
  /** The session that was done last. */
  sessionId: string
}

/**
 * Streams every entry below `projectsDir` that holds all the words of `query`: sessions in the order of
 * `listSessions`, within each its title first, then the newest line first. Searched are prompts, answers, inputs of
 * tool calls and their results, on abandoned branches too; not what the model thought, attachments, names of tools,
 * and the files of subagents. Words match anywhere, also inside longer ones, whatever their case and Unicode form;
 * `"a phrase"` matches as a whole, with any blanks for its blanks. A uuid that is repeated in a session is given once.
 *
 * A transcript is read once, line by line, before its first hit comes, and then the lines with hits again: memory is
 * bounded by the longest line and a few bytes a hit. Damage ends nothing, and a file that cannot be read is passed
 * over. Nothing is written.
 *
 * @param options.cwd as `listSessions` has it
 * @param options.limit ends the search after so many hits; the sessions after that are listed but not read
 * @param options.archived search archived sessions too
 * @param options.signal ends the search with the signal's reason, between two lines at the latest
 * @param options.onProgress called after each session that was searched to its end
 * @throws {TypeError} with the first step, when the query has no word, or for a wrong type
 * @throws {LociError} DISK_IO when a directory cannot be read
 */
export async function* searchSessions(options: {
  projectsDir: string
  query: string
  cwd?: string | string[] | undefined
  limit?: number | undefined
  archived?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: SearchProgress) => void) | undefined
}): AsyncGenerator<SearchHit, void, undefined> {
  const { projectsDir, query, cwd, archived, signal, onProgress, limit = Number.MAX_SAFE_INTEGER } = options
  if (typeof query !== 'string') throw new TypeError('query must be a string')
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new TypeError('onProgress must be a function')
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new TypeError('signal must be an AbortSignal')
  if (!Number.isSafeInteger(limit) || limit < 0) throw new TypeError('limit must be a whole number from 0')
  const words = wordsOf(query)
  if (words.length === 0) throw new TypeError('query must hold a word to look for')
  signal?.throwIfAborted()
  if (limit === 0) return
  const sessions = await unlessAborted(listSessions({ projectsDir, cwd, archived }), signal)
  let left = limit
  let unreadable = 0
  for (const [index, info] of sessions.entries()) {
    const search = searchSession(info, words, signal)
    try {
      for (;;) {
        const { value, done } = await search.next()
        signal?.throwIfAborted()
        if (done === true) {
          if (value === 'unreadable') unreadable += 1
          break
        }
        yield value
        left -= 1
        if (left === 0) return
      }
    } finally {
      // However the search ends, the file is closed.
      await search.return('read')
    }
    onProgress?.({
      searched: index + 1,
      total: sessions.length,
      unreadable,
      sessionId: info.sessionId,
    })
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    if (stop) signal.removeEventListener('abort', stop)
  }
}

type Outcome = 'read' | 'unreadable'

async function* searchSession(
  info: SessionInfo,
  words: readonly string[],
  signal: AbortSignal | undefined,
): AsyncGenerator<SearchHit, Outcome, undefined> {
  const { sessionId, path, customTitle, lastActivityMs } = info
  if (customTitle !== undefined && words.every((word) => fold(customTitle).includes(word))) {
    const timestamp = new Date(lastActivityMs).toISOString()
    yield { sessionId, path, uuid: '', role: 'user', snippet: snippetOf(customTitle, words), timestamp }
  }
  let file: OpenFile
  try {
    file = await openTranscript(path)
  } catch (error) {
    // Deleted since it was listed: nothing that could be searched was left out.
    return isLociError(error, 'SESSION_NOT_FOUND') ? 'read' : 'unreadable'
  }
  try {
    const { places, outcome } = await placesOfHits(file, path, words, signal)
    const given = new Set<string>()
    for (let at = places.length - 2; at >= 0; at -= 2) {
      const found = await hitAt(file, places[at] ?? 0, places[at + 1] ?? 0, words)
      if (found === undefined) return 'unreadable'
      if (found.uuid !== '' && given.has(found.uuid)) continue
      given.add(found.uuid)
      yield { sessionId, path, ...found }
    }
    return outcome
  } finally {
    // Of a file that was only read nothing can be lost here.
    await file.close().catch(() => undefined)
  }
}

/** The lines of a transcript that hold the words: offset and length of each, in file order, in one flat list. */
async function placesOfHits(
  file: OpenFile,
  path: string,
  words: readonly string[],
  signal: AbortSignal | undefined,
): Promise<{ places: number[]; outcome: Outcome }> {
  const places: number[] = []
  const mayMatch = lineFilter(words)
  const mayMatter = (line: Uint8Array): boolean => {
    signal?.throwIfAborted()
    return mayMatch(line)
  }
  try {
    for await (const { record, offset, length } of itemsOfLines(file, path, mayMatter)) {
      signal?.throwIfAborted()
      if (record && findWords(record, words)) places.push(offset, length)
    }
    return { places, outcome: 'read' }
  } catch {
    signal?.throwIfAborted()
    // What was found before the place that cannot be read is still given.
    return { places, outcome: 'unreadable' }
  }
}

type Found = Pick<SearchHit, 'uuid' | 'role' | 'snippet' | 'timestamp'>

/** The hit in a line that was found to be one; `undefined` if it can no longer be read. */
async function hitAt(
  file: OpenFile,
  offset: number,
  length: number,
  words: readonly string[],
): Promise<Found | undefined> {
  const bytes = Buffer.allocUnsafe(length)
  const read = await file.readFull(bytes, offset).catch(() => 0)
  if (read !== length) return undefined
  for (const part of parseLine(bytes)) {
    const found = 'record' in part ? findWords(part.record, words) : undefined
    if (!('record' in part) || found === undefined) continue
    const { uuid, timestamp } = part.record
    return { uuid: textOr(uuid), timestamp: textOr(timestamp), ...found }
  }
  return undefined
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
