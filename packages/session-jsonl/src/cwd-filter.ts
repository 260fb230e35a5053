import { basename, dirname, join, resolve } from 'node:path'
import { files } from '@loci/disk'
import { projectSlug } from '@loci/disk/project'
import { isObject } from './entry.ts'
import type { SessionInfo } from './session-info.ts'

/**
 * Whether a session is one of these directories': it began or went on there, under any spelling that leads there
 * through links. Of one whose lines do not say, the project whose folder it is in counts. `undefined`: any session is.
 *
 * @throws {TypeError} when `cwd` is no path or list of paths
 */
export async function cwdFilter(
  cwd: string | readonly string[] | undefined,
): Promise<((info: SessionInfo) => Promise<boolean>) | undefined> {
  if (cwd === undefined) return undefined
  const given: readonly unknown[] = typeof cwd === 'string' ? [cwd] : cwd
  const wanted = new Set<string>()
  const slugs = new Set<string>()
  // Where a path leads is not to be told when it is gone: then it is what it says.
  const real = remembered((path) => files.realpath(path).catch(() => path))
  const owner = remembered(recordedRoot)
  for (const path of given) {
    if (typeof path !== 'string') throw new TypeError('cwd must be a path or a list of paths')
    for (const spelling of [resolve(path), await real(resolve(path))]) {
      wanted.add(spelling)
      slugs.add(projectSlug(spelling))
    }
  }
  const isWanted = async (path: string): Promise<boolean> => wanted.has(path) || wanted.has(await real(path))
  return async (info) => {
    for (const path of [info.cwd, info.lastCwd]) if (path !== undefined && (await isWanted(path))) return true
    if (info.cwd !== undefined) return false
    // Where it began is not recorded, or not to be seen: then it is of the project whose folder it is in.
    const folder = dirname(info.path)
    const root = await owner(folder)
    return root === undefined ? slugs.has(basename(folder)) : isWanted(root)
  }
}

/** The project that a folder says it belongs to; `undefined` if it does not, or cannot be asked. */
async function recordedRoot(folder: string): Promise<string | undefined> {
  try {
    const record: unknown = JSON.parse((await files.readFile(join(folder, '.project.json'))).toString('utf8'))
    return isObject(record) && typeof record['root'] === 'string' ? record['root'] : undefined
  } catch {
    return undefined
  }
}

function remembered<T>(ask: (path: string) => Promise<T>): (path: string) => Promise<T> {
  const known = new Map<string, Promise<T>>()
  return (path) => {
    const answer = known.get(path) ?? ask(path)
    known.set(path, answer)
    return answer
  }
}
