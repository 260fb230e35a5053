import { basename, dirname, resolve } from 'node:path'
import { LociError } from '@loci/disk'
import { applyChanges, makeFolder } from './apply-changes.ts'
import { textWarnings } from './check-draft.ts'
import { checkText } from './check-text.ts'
import { LEASE_WAIT_MS, withIndexLease } from './index-lease.ts'
import { decode } from './index-file.ts'
import { readEntrypoint } from './read-entrypoint.ts'
import { readRegular } from './read-regular.ts'
import { MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES, truncateEntrypointContent } from './truncate.ts'

/** How many lines {@link loadMemory} returns at most. */
export const MAX_MEMORY_LINES: number = MAX_ENTRYPOINT_LINES

/**
 * The text of a memory file, cleaned and cut as `truncateEntrypointContent` does, with the warning as its last
 * paragraph if something was cut; `null` if there is no such file.
 *
 * @throws {LociError} PATH_LINK when it is a link, MEMORY_INVALID when it is no regular file, DISK_IO when it is there
 * and cannot be read
 */
export async function loadMemory(file: string): Promise<string | null> {
  const read = await readEntrypoint(file)
  if (read === undefined) return null
  const { content, warning } = read
  return warning === undefined ? content : `${content}\n\n${warning}`
}

/**
 * Appends `content` to a memory file, on lines of its own, and makes file and folder if they are not there.
 * What the file holds stays as it is, and the text is in it whole or not at all, whatever fails; two processes that
 * append at once lose nothing.
 *
 * @returns what was saved where, how full the file is, whether the model will see it all, and what of it looks like a
 * secret
 * @throws {LociError} MEMORY_INVALID when `content` is blank or holds half a character, or the file is no regular one; PATH_LINK when it is a
 * link; MEMORY_CONFLICT when another process keeps the file for long; DISK_FULL, DISK_IO
 */
export async function saveMemory(content: string, options: { file: string }): Promise<string> {
  if (typeof content !== 'string') throw new TypeError('content must be a string')
  if (content.trim() === '')
    throw new LociError('MEMORY_INVALID', 'There is nothing to save: the text is blank')
  checkText('content', content)
  const path = resolve(options.file)
  await makeFolder(dirname(path))
  const text = `${content.replace(/(?:\r?\n)+$/, '')}\n`
  return withIndexLease(dirname(path), basename(path), LEASE_WAIT_MS, async () => {
    const before = (await readRegular(path))?.bytes
    const after = withText(before ?? Buffer.alloc(0), text)
    await applyChanges([{ path, before, after }])
    return [confirm(after, path, text), ...textWarnings(text, 'what was saved')].join(' ')
  })
}

/** A last line without an end gets one. */
function withText(bytes: Buffer, text: string): Buffer {
  const unended = bytes.length > 0 && bytes.at(-1) !== 0x0a
  return Buffer.concat([bytes, Buffer.from(`${unended ? '\n' : ''}${text}`)])
}

function confirm(bytes: Buffer, path: string, text: string): string {
  const lines = text.split('\n').length - 1
  const { lineCount, byteCount, warning } = truncateEntrypointContent(decode(bytes))
  const full = `${lineCount} of ${MAX_ENTRYPOINT_LINES} lines, ${byteCount} of ${MAX_ENTRYPOINT_BYTES} bytes`
  const saved = `Saved ${lines} ${lines === 1 ? 'line' : 'lines'} to ${path} (now ${full}).`
  return warning === undefined ? saved : `${saved} The model will not see all of it: shorten the file.`
}
