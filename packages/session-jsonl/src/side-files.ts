import { join } from 'node:path'
import { cloneFile, fileErrno, files, isScratchName, orAbsent, temporaryName } from '@loci/disk'
import { ARCHIVED_FILE } from './archived.ts'
import { sessionExists } from './append-log.ts'
import { editLine } from './edit-line.ts'

/**
 * Copies a session's side files to another session, all of them or none: subagents' transcripts with the new session
 * id in their lines, everything else byte for byte and mode for mode. The mark of an archived session, lock files and
 * scratch stay behind; so does what is neither file nor directory.
 *
 * @returns the directory made; `undefined` when there was nothing to copy
 * @throws {LociError} SESSION_EXISTS when `to` is taken; DISK_FULL, DISK_IO
 */
export async function copySideFiles(
  from: string,
  to: string,
  newSessionId: string,
): Promise<string | undefined> {
  if (!(await orAbsent(files.lstat(from)))?.isDirectory()) return undefined
  const temporary = temporaryName(to)
  try {
    const copied = await copyDirectory(from, temporary, { newSessionId, within: '' })
    if (copied === 0) return undefined
    await files.rename(temporary, to)
    return to
  } catch (error) {
    throw ['ENOTEMPTY', 'EEXIST'].includes(fileErrno(error) ?? '') ? sessionExists(to, error) : error
  } finally {
    await files.removeTree(temporary).catch(() => undefined)
  }
}

async function copyDirectory(
  from: string,
  to: string,
  context: { newSessionId: string; within: string },
): Promise<number> {
  let copied = 0
  await files.mkdir(to, 0o755)
  for (const entry of await files.readdir(from)) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    const within = join(context.within, entry.name)
    if (within === ARCHIVED_FILE || isScratchName(entry.name)) continue
    if (entry.isDirectory()) copied += await copyDirectory(source, target, { ...context, within })
    else if (entry.isFile()) {
      if (SUBAGENT.test(within)) await copyTranscript(source, target, context.newSessionId)
      else await cloneFile(source, target)
      copied += 1
    }
  }
  return copied
}

const SUBAGENT = /^subagents[\\/].*\.jsonl$/

async function copyTranscript(from: string, to: string, sessionId: string): Promise<void> {
  const { mode } = await files.stat(from)
  const bytes = await files.readFile(from)
  const lines: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf(0x0a, at)
    const end = newline === -1 ? bytes.length : newline + 1
    lines.push(editLine(bytes.subarray(at, end), { sessionId }))
    at = end
  }
  const file = await files.open(to, 'wx', Number(mode & 0o777n))
  try {
    await file.writeAll(Buffer.concat(lines))
    await file.chmod(Number(mode & 0o7777n))
  } finally {
    await file.close()
  }
}
