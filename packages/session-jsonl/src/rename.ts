import { appendRecords, fileErrno, files, isAbsent, OPEN_APPEND } from '@loci/disk'
import { invalid } from './entry.ts'
import { formatRecord } from './prepare-entry.ts'
import { notFound } from './read-transcript.ts'
import { requireFile } from './require-file.ts'
import { sessionPath } from './session-path.ts'
import { wellFormed } from './well-formed.ts'

/** Which session. */
export interface SessionAddress {
  projectDir: string
  sessionId: string
}

/**
 * Gives a session a title: one line, in one write, which needs no lease. The last title counts; a session that is open
 * goes on undisturbed and says it again as it grows.
 *
 * Source: `docs/formats/session.md`, custom-title.
 *
 * @param options.title trimmed; a list shows it before every prompt
 * @throws {LociError} ENTRY_INVALID for a blank title; SESSION_NOT_FOUND, DISK_FULL, DISK_IO
 */
export async function renameSession(options: SessionAddress & { title: string }): Promise<void> {
  await appendRecord(options, { type: 'custom-title', customTitle: checkText(options.title, 'title') })
}

/**
 * Gives a session a tag, or with `null` none: one line, as with {@link renameSession}. The last tag counts.
 *
 * @throws {LociError} ENTRY_INVALID for a blank tag; SESSION_NOT_FOUND, DISK_FULL, DISK_IO
 */
export async function tagSession(options: SessionAddress & { tag: string | null }): Promise<void> {
  const { tag } = options
  await appendRecord(options, { type: 'tag', tag: tag === null ? '' : checkText(tag, 'tag') })
}

function checkText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string`)
  const text = wellFormed(value.trim())
  if (text === '') throw invalid(`The ${name} must not be blank`)
  return text
}

async function appendRecord(
  { projectDir, sessionId }: SessionAddress,
  record: { type: string; [field: string]: unknown },
): Promise<void> {
  const path = sessionPath(projectDir, sessionId)
  const line = formatRecord(record, sessionId)
  try {
    await requireFile(path)
    // A session that is deleted meanwhile does not come back as a title without a conversation.
    const file = await files.open(path, OPEN_APPEND)
    try {
      await appendRecords(file, Buffer.from(`${line}\n`))
    } finally {
      await file.close()
    }
  } catch (error) {
    throw isAbsent(error) || fileErrno(error) === 'ENOTDIR' ? notFound(path, error) : error
  }
}
