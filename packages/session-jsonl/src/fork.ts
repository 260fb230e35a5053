import { randomUUID } from 'node:crypto'
import { createFileAtomic, files, LociError, orAbsent } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { sessionExists } from './append-log.ts'
import { invalid } from './entry.ts'
import { planFork } from './plan-fork.ts'
import { openTranscript } from './read-transcript.ts'
import { sessionPath, sideDirectory } from './session-path.ts'
import type { SessionOptions } from './session.ts'
import { copySideFiles } from './side-files.ts'
import { TranscriptReading } from './transcript-reading.ts'
import { writeForkLines } from './write-fork.ts'
import { wellFormed } from './well-formed.ts'

/**
 * Copies a conversation into a new session, of the same project or another folder, whole without its source: the entries from the root to
 * `upTo`, with the whole message that it is part of and its tool results. They keep uuid, parentUuid and timestamp, and
 * every byte but the session id; a uuid is unique per session, not globally. With them go the
 * records outside the conversation but for titles, tips, usage and lineage, and the side files (subagents, whose lines get the new id, tool results, scratchpad). The fork's
 * `conversation()` is the source's up to there, byte for byte.
 *
 * The source is only read, and may be open elsewhere. The fork appears whole or not at all, also after a crash, which
 * can leave scratch behind.
 *
 * @param options.upTo default: the source's tip
 * @param options.title the fork's title; default: none
 * @param options.toProjectDir the folder of the fork, made if it is absent; default: the source's
 * @param options.newSessionId default: `createId()`
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_EXISTS when the new id is taken; ENTRY_NOT_FOUND when `upTo` is no
 * entry of the conversation; ENTRY_INVALID for an empty title or an id that is no file name; DISK_FULL, DISK_IO
 */
export async function forkSession(
  options: SessionOptions & {
    sessionId: string
    upTo?: string | undefined
    title?: string | undefined
    newSessionId?: string | undefined
    toProjectDir?: string | undefined
  },
): Promise<{ sessionId: string; path: string }> {
  const { projectDir, sessionId, upTo, clock = () => new Date(), createId = randomUUID } = options
  const sourcePath = sessionPath(projectDir, sessionId)
  if (upTo !== undefined && typeof upTo !== 'string') throw new TypeError('upTo must be a string')
  const newId = options.newSessionId ?? createId()
  const toProjectDir = options.toProjectDir ?? projectDir
  const path = sessionPath(toProjectDir, newId)
  const title = checkTitle(options.title)
  const source = await openTranscript(sourcePath)
  try {
    await refuseTaken(path, sideDirectory(toProjectDir, newId))
    const transcript = new TranscriptReading(sourcePath, sessionId)
    await transcript.catchUp(source)
    const read = await transcript.forkSource(source, upTo)
    const wish = { sourceSessionId: sessionId, sessionId: newId, upTo, title, clock, createId }
    const plan = planFork(read, wish)
    if (plan === undefined) throw noEntry(upTo, sessionId)
    if (toProjectDir !== projectDir) await files.mkdir(toProjectDir)
    const side = await copySideFiles(
      sideDirectory(projectDir, sessionId),
      sideDirectory(toProjectDir, newId),
      newId,
    )
    const durable = options.durability === 'fsync'
    try {
      const write = (file: OpenFile): Promise<void> => writeForkLines(file, source, plan.lines)
      if (!(await createFileAtomic(path, write, { mode: 0o600, durable }))) throw sessionExists(path)
    } catch (error) {
      if (side) await files.removeTree(side).catch(() => undefined)
      throw error
    }
    return { sessionId: newId, path }
  } finally {
    await source.close()
  }
}

function checkTitle(title: unknown): string | undefined {
  if (title === undefined) return undefined
  if (typeof title !== 'string') throw new TypeError('title must be a string')
  const trimmed = wellFormed(title.trim())
  if (trimmed === '') throw invalid('The title must not be empty; leave it out for none')
  return trimmed
}

async function refuseTaken(path: string, side: string): Promise<void> {
  for (const taken of [path, side]) if (await orAbsent(files.lstat(taken))) throw sessionExists(taken)
}

function noEntry(upTo: string | undefined, sessionId: string): LociError {
  const message = `There is no entry ${JSON.stringify(upTo)} in the conversation of session ${sessionId}; entries are listed by chain() and tips()`
  return new LociError('ENTRY_NOT_FOUND', message, { details: { uuid: upTo, sessionId } })
}
