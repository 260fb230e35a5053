import { join } from 'node:path'
import { files, isAbsent, writeFileAtomic } from '@loci/disk'
import { ARCHIVED_FILE } from './archived.ts'
import { notFound } from './read-transcript.ts'
import type { SessionAddress } from './rename.ts'
import { requireFile } from './require-file.ts'
import { sessionPath, sideDirectory } from './session-path.ts'

/**
 * Takes a session out of lists, but those that ask for archived ones. The transcript stays as it is; the mark is a file
 * of its own beside it, replaced in one step. It needs no lease and works on an open session. A prompt whose time is
 * after the mark's takes the session back into lists; the mark stays.
 *
 * Source: `docs/formats/session.md`, archived.json.
 *
 * @throws {LociError} SESSION_NOT_FOUND, DISK_FULL, DISK_IO
 */
export async function archiveSession(options: SessionAddress & { clock?: () => Date }): Promise<void> {
  await mark(options, true)
}

/**
 * Puts an archived session back into lists. One that is none stays as it is.
 *
 * @throws {LociError} SESSION_NOT_FOUND, DISK_FULL, DISK_IO
 */
export async function unarchiveSession(options: SessionAddress & { clock?: () => Date }): Promise<void> {
  await mark(options, false)
}

async function mark(
  { projectDir, sessionId, clock = () => new Date() }: SessionAddress & { clock?: () => Date },
  archived: boolean,
): Promise<void> {
  const path = sessionPath(projectDir, sessionId)
  await requireFile(path).catch((error: unknown) => {
    throw isAbsent(error) ? notFound(path, error) : error
  })
  const side = sideDirectory(projectDir, sessionId)
  await files.mkdir(side, 0o755)
  const text = `${JSON.stringify({ archived, at: clock().toISOString(), by: 'loci' })}\n`
  await writeFileAtomic(join(side, ARCHIVED_FILE), text, { mode: 0o600 })
}
