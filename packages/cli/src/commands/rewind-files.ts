import { LociError } from '@loci/disk'
import { listSessions } from '@loci/session-jsonl'
import type { CommandContext, CommandResult } from '../command-context.ts'
import { withHistory, withSession } from '../compose.ts'
import { placeOf, resumedPlace } from '../find-session.ts'
import type { SessionPlace } from '../find-session.ts'
import { rewindPlace } from './history.ts'

/**
 * `loci --rewind-files ID`: the files of the session of `--resume`, else of the newest of this directory that holds
 * the id.
 *
 * @throws {LociError} SESSION_NOT_FOUND, ENTRY_NOT_FOUND, and as `history rewind`
 */
export async function rewindFilesDoor(context: CommandContext, id: string): Promise<CommandResult> {
  return rewindPlace(context, () => placeHolding(context, id), id)
}

async function placeHolding({ home, cwd, options }: CommandContext, id: string): Promise<SessionPlace> {
  if (options.resume !== undefined) return resumedPlace(home, cwd, options.resume)
  for (const info of await listSessions({ projectsDir: home.projectsDir, cwd })) {
    const place = placeOf(info, info.cwd ?? cwd)
    if (await holds(home, place, id)) return place
  }
  throw new LociError(
    'SNAPSHOT_NOT_FOUND',
    `No session of ${JSON.stringify(cwd)} holds ${JSON.stringify(id)}; --resume SID names one of another directory`,
    { details: { id, cwd } },
  )
}

async function holds(home: CommandContext['home'], place: SessionPlace, id: string): Promise<boolean> {
  const isEntry = await withSession(place, 'read', async (session) => (await session.entry(id)) !== undefined)
  if (isEntry) return true
  return withHistory(home, place, 'read', async (history) =>
    history.snapshots().some(({ messageId }) => messageId === id),
  )
}
