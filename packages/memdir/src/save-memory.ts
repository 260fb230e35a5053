import { basename, dirname, resolve } from 'node:path'
import { appendRecords, files, LociError, orAbsent } from '@loci/disk'
import { LEASE_WAIT_MS, withIndexLease } from './index-lease.ts'
import { decode } from './index-file.ts'
import { MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES, truncateEntrypointContent } from './truncate.ts'

/** How many lines {@link loadMemory} returns at most. */
export const MAX_MEMORY_LINES: number = MAX_ENTRYPOINT_LINES

/**
 * The text of a memory file, cleaned and cut as `truncateEntrypointContent` does, with the warning as its last
 * paragraph if something was cut; `null` if there is no such file.
 *
 * @throws {LociError} DISK_IO when it is there and cannot be read
 */
export async function loadMemory(file: string): Promise<string | null> {
  const bytes = await orAbsent(files.readFile(file))
  if (bytes === undefined) return null
  const { content, warning } = truncateEntrypointContent(decode(bytes))
  return warning === undefined ? content : `${content}\n\n${warning}`
}

/**
 * Appends `content` to a memory file, on lines of its own, and makes file and folder if they are not there.
 * What the file holds stays as it is; two processes that append at once lose nothing.
 *
 * @returns one sentence: what was saved where, how full the file is, and whether the model will see it all
 * @throws {LociError} MEMORY_INVALID when `content` is blank; MEMORY_CONFLICT when another process keeps the
 * file for long; DISK_FULL, DISK_IO
 */
export async function saveMemory(content: string, options: { file: string }): Promise<string> {
  if (typeof content !== 'string') throw new TypeError('content must be a string')
  if (content.trim() === '')
    throw new LociError('MEMORY_INVALID', 'There is nothing to save: the text is blank')
  const path = resolve(options.file)
  await files.mkdir(dirname(path))
  const text = `${content.replace(/(?:\r?\n)+$/, '')}\n`
  return withIndexLease(dirname(path), basename(path), LEASE_WAIT_MS, async () => {
    const file = await files.open(path, 'a+')
    try {
      await appendRecords(file, Buffer.from(text))
      await file.datasync()
    } finally {
      await file.close()
    }
    return confirm(path, text)
  })
}

async function confirm(path: string, text: string): Promise<string> {
  const lines = text.split('\n').length - 1
  const saved = `Saved ${lines} ${lines === 1 ? 'line' : 'lines'} to ${path}`
  // What is saved is saved, also if its size cannot be told.
  const bytes = await files.readFile(path).catch(() => undefined)
  if (bytes === undefined) return `${saved}.`
  const { lineCount, byteCount, warning } = truncateEntrypointContent(decode(bytes))
  const full = `${lineCount} of ${MAX_ENTRYPOINT_LINES} lines, ${byteCount} of ${MAX_ENTRYPOINT_BYTES} bytes`
  return `${saved} (now ${full}).${warning === undefined ? '' : ' The model will not see all of it: shorten the file.'}`
}
