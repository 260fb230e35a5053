import { dirname } from 'node:path'
import { files, LociError, orAbsent, resolveInside } from '@loci/disk'
import { validateTeamMemoryKey } from './team-key.ts'

/**
 * The path of a key's file inside `dir`, which must exist. No component of it is a link, the last one included, and
 * what exists of it is spelled as in the key. Guards against what was planted before the answer, not after it: write
 * with an atomic rename, which follows no link, and ask again before each write.
 *
 * @throws {LociError} TEAM_KEY_INVALID; PATH_LINK; PATH_INVALID when a component but the last is no directory; DISK_IO
 */
export async function resolveTeamMemoryPath(dir: string, key: string): Promise<string> {
  validateTeamMemoryKey(key)
  const path = await resolveInside(dir, key)
  const parent = dirname(path)
  // Once more for all components at once: one may have been made a link after it was looked at.
  const real = await orAbsent(files.realpath(parent))
  if (real === undefined || real === parent) return path
  throw new LociError(
    'PATH_LINK',
    `${JSON.stringify(parent)} leads to ${JSON.stringify(real)}; remove the link, or the directory of another spelling`,
    { details: { path, root: dir, relative: key } },
  )
}
