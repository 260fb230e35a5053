import { LociError, files } from '@loci/disk'

const MAX_TEXT_BYTES = 10 << 20

/** A file as text, and what has to be kept when it is written again. */
export interface FileText {
  text: string
  hasByteOrderMark: boolean
}

/**
 * The text of a file, without its byte order mark.
 *
 * @throws {LociError} PATH_INVALID when it is no regular file or no UTF-8 text; FILE_TOO_LARGE over 10 MiB; DISK_IO
 */
export async function readText(path: string, name: string): Promise<FileText> {
  const stats = await files.stat(path)
  if (!stats.isFile())
    throw new LociError('PATH_INVALID', `${name} is no regular file`, { details: { path } })
  if (stats.size > BigInt(MAX_TEXT_BYTES)) {
    const message = `${name} has ${stats.size} bytes, and only files up to ${MAX_TEXT_BYTES} are read; look at parts of it with Bash`
    throw new LociError('FILE_TOO_LARGE', message, { details: { path } })
  }
  const bytes = await files.readFile(path)
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    const hasByteOrderMark = text.startsWith('\uFEFF')
    return { text: hasByteOrderMark ? text.slice(1) : text, hasByteOrderMark }
  } catch (cause) {
    throw new LociError('PATH_INVALID', `${name} is no UTF-8 text; use Bash for it`, {
      details: { path },
      cause,
    })
  }
}
