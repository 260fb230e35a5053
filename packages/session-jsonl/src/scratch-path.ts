import { LociError, isScratchName, resolveInside } from '@loci/disk'
import { sideDirectory } from './session-path.ts'

/** The folder of a session's scratchpad, among its side files. */
export const SCRATCHPAD = 'scratchpad'

/**
 * The path of a file of a scratchpad. No component that exists is a link, from the session's own folder on.
 *
 * @param name relative, `/` between segments, each as a listing gives it: none empty, `.` or `..`
 * @throws {TypeError} when `name` is no string
 * @throws {LociError} PATH_INVALID for a name that is none, or that of a lock or temporary file; PATH_OUTSIDE when it
 * climbs; PATH_LINK; DISK_IO
 */
export async function resolveScratchPath(
  projectDir: string,
  sessionId: string,
  name: string,
): Promise<string> {
  checkName(name)
  return resolveInside(projectDir, sideDirectory('', `${sessionId}/${SCRATCHPAD}/${name}`))
}

/** Pure. One file has one name: a spelling that a listing would not give back is refused. */
function checkName(name: unknown): void {
  if (typeof name !== 'string') throw new TypeError('name must be a string')
  const segments = name.split('/')
  if (segments.includes('..'))
    throw refused('PATH_OUTSIDE', name, 'can lead out of the scratchpad; leave out the ".."')
  if (name.startsWith('/') || name.includes('\0') || segments.includes('') || segments.includes('.'))
    throw refused(
      'PATH_INVALID',
      name,
      'is no name in a scratchpad; give one like "plan.md" or "notes/plan.md"',
    )
  if (/\p{Cs}/u.test(name))
    throw refused('PATH_INVALID', name, 'holds half a character, which no file name can; leave it out')
  if (segments.some((segment) => Buffer.byteLength(segment) > 255))
    throw refused('PATH_INVALID', name, 'is too long; choose a shorter one')
  if (segments.some((segment) => isScratchName(segment)))
    throw refused('PATH_INVALID', name, 'is a name for lock and temporary files; choose another')
}

function refused(code: 'PATH_INVALID' | 'PATH_OUTSIDE', name: string, why: string): LociError {
  return new LociError(code, `${JSON.stringify(name)} ${why}`, { details: { name } })
}
