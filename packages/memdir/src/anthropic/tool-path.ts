import { LociError } from '@loci/disk'

/** The folder that the tool knows memory by. */
const ROOT = '/memories'

/** `.`, `/`, `\` and NUL as URLs write them, however often encoded. No file of ours needs them in its name. */
const ENCODED = /%(?:25)*(?:2e|2f|5c|00)/i
/** Backslash, NUL, and half a character, which the file system would take for another. */
const NEVER = /[\\\0\p{Cs}]/u

/**
 * What a path of the tool names, relative to the memory folder; `''` is that itself.
 *
 * @throws {LociError} PATH_INVALID when it does not begin with `/memories`; PATH_OUTSIDE when it leads out of it, or
 * would for a reader that decodes it
 */
export function parseToolPath(path: unknown): string {
  if (typeof path !== 'string' || (path !== ROOT && !path.startsWith(`${ROOT}/`)))
    throw new LociError('PATH_INVALID', `Path must start with /memories, got: ${String(path)}`)
  const segments = path.slice(ROOT.length).split('/')
  if (segments.includes('..') || NEVER.test(path) || ENCODED.test(path))
    throw new LociError('PATH_OUTSIDE', `Path ${path} would escape /memories directory`)
  return segments.filter((segment) => segment !== '' && segment !== '.').join('/')
}

/** Whether the tool takes a file or folder of that name for not there. */
export function isHiddenName(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules'
}
