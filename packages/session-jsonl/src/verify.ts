import { basename, dirname, join } from 'node:path'
import type { Damage } from '@loci/disk'
import { readArchived } from './archived.ts'
import { FollowedTranscript } from './follow-transcript.ts'
import { openTranscript } from './read-transcript.ts'
import { sessionIdOf } from './session-path.ts'

/**
 * Everything that is wrong with a session's transcript, in file order; empty if nothing is. Reads the whole file and
 * writes nothing. Kinds: `torn-line` `zero-run` `glued-lines` `invalid-utf8` `not-an-object` `no-type` `line-too-long`
 * (bytes that cannot be read as they should); `missing-parent` `cycle` `duplicate-entry` `conflicting-entry`
 * `missing-uuid` `foreign-session` `stray-result` `unreadable-content` `unfinished-compaction` `missing-kept` (lines that do not fit);
 * `archive-mark` (its archived.json).
 *
 * @throws {TypeError} when `path` is no string
 * @throws {LociError} SESSION_NOT_FOUND; DISK_IO, also when it is no file
 */
export async function verifySession(path: string): Promise<Damage[]> {
  const transcript = new FollowedTranscript(path)
  const file = await openTranscript(path)
  try {
    await transcript.catchUp(file)
  } finally {
    await file.close()
  }
  const { damage } = await readArchived(join(dirname(path), basename(path, '.jsonl')))
  return [...transcript.analysis(sessionIdOf(basename(path))).damage, ...(damage ? [damage] : [])]
}
