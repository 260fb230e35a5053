import { invalid, isObject } from './entry.ts'
import { sessionPath } from './session-path.ts'
import type { SessionKey } from './store.ts'

/** What may be a name of one folder or file: nothing that leads elsewhere, is hidden, or is too long. */
const NAME = /^[\w-](?:[\w.@+=-]{0,228}[\w@+=-])?$/

/**
 * Passes a key whose three parts are names that a file system keeps apart from all others.
 *
 * @returns a copy, which the caller cannot change any more
 * @throws {TypeError} when a part is no string
 * @throws {LociError} ENTRY_INVALID when a part would lead out of its folder, is hidden, over-long, or has a character
 * that is not among `A-Z a-z 0-9 _ - . @ + =`; parts of a subpath are parted by single slashes
 */
export function checkKey(key: unknown): SessionKey {
  if (!isObject(key)) throw new TypeError('A key must be an object')
  const { subpath } = key
  const projectKey = checkProjectKey(key['projectKey'])
  // The rules of session ids are those of the transcripts' names.
  sessionPath('.', key['sessionId'])
  const sessionId = String(key['sessionId'])
  if (subpath === undefined) return { projectKey, sessionId }
  return { projectKey, sessionId, subpath: checkSubpath(subpath) }
}

/** @throws {TypeError} when it is no string @throws {LociError} ENTRY_INVALID when it is no name of a folder */
export function checkProjectKey(projectKey: unknown): string {
  if (typeof projectKey !== 'string') throw new TypeError('projectKey must be a string')
  if (isName(projectKey)) return projectKey
  throw invalid(`${JSON.stringify(projectKey)} is no project key; use the slug of the project's path`, {
    projectKey,
  })
}

/** Whether a path below a session's folder, without `.jsonl`, is one that a key can name. */
export function isSubpath(subpath: string): boolean {
  // A part that ends so would be a folder where another key has its file.
  return (
    subpath.length <= 1_000 && subpath.split('/').every((part) => isName(part) && !/\.jsonl$/i.test(part))
  )
}

function checkSubpath(subpath: unknown): string {
  if (typeof subpath !== 'string') throw new TypeError('subpath must be a string')
  if (isSubpath(subpath)) return subpath
  throw invalid(
    `${JSON.stringify(subpath)} is no subpath of a session; use names parted by slashes, as in subagents/agent-1, or leave it out`,
    { subpath },
  )
}

function isName(name: string): boolean {
  return NAME.test(name) && !name.includes('..')
}
