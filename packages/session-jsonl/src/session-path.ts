import { join } from 'node:path'
import { invalid } from './entry.ts'

/**
 * The transcript of a session.
 *
 * @throws {TypeError} when the directory or the id is no string
 * @throws {LociError} ENTRY_INVALID when the id is no plain file name, or one that the folder has for
 * something else. Other programs list ids that are UUIDs only.
 */
export function sessionPath(projectDir: unknown, sessionId: unknown): string {
  if (typeof projectDir !== 'string' || projectDir === '') throw new TypeError('projectDir must be a path')
  return join(projectDir, `${checkSessionId(sessionId)}.jsonl`)
}

/** The directory of a session's side files: subagents, tool results, scratchpad. */
export function sideDirectory(projectDir: string, sessionId: string): string {
  return join(projectDir, sessionId)
}

/** Whether a file name is that of a transcript: a UUID with `.jsonl`, and then the session's id. */
export function sessionIdOf(fileName: string): string | undefined {
  return /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})\.jsonl$/i.exec(fileName)?.[1]
}

function checkSessionId(id: unknown): string {
  if (typeof id !== 'string') throw new TypeError('sessionId must be a string')
  // Its side files would lie in the project's memory, or where a transcript may.
  if (/^memory$|\.jsonl$/i.test(id))
    throw invalid(`${JSON.stringify(id)} is the name of something else in the folder; use a UUID`, {
      sessionId: id,
    })
  if (/^[\dA-Za-z](?:[\w.-]{0,126}[\w-])?$/.test(id) && !id.includes('..')) return id
  throw invalid(`${JSON.stringify(id)} is no session id; use a UUID`, { sessionId: id })
}
