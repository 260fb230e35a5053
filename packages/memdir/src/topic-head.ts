import { basename } from 'node:path'
import { filesNow, LociError, OPEN_REGULAR } from '@loci/disk'
import { decode } from './index-file.ts'
import { parseTopic } from './topic-file.ts'
import type { MemoryType } from './topic-file.ts'

/** What a topic file says of itself, without its body. */
export interface TopicHead {
  file: string
  name: string
  description: string
  type: MemoryType
}

/** How much of a file is read for its head. */
export const HEAD_BYTES = 4096
const FENCE = Buffer.from('\n---')
const [NEWLINE, RETURN, BLANK, TAB] = [0x0a, 0x0d, 0x20, 0x09]

/**
 * The head of the topic file `file`, which a directory listed as a regular file: of its first 4 KB, and of the whole
 * only where the front matter goes on behind them. `buffer` is any of that size; it is overwritten.
 *
 * @throws {LociError} MEMORY_INVALID when it is no regular file any more; DISK_IO, also for a link
 */
export function readHead(file: string, path: string, buffer: Buffer = Buffer.alloc(HEAD_BYTES)): TopicHead {
  return filesNow.look(path, OPEN_REGULAR, (opened) => {
    const stats = opened.stat()
    if (!stats.isFile()) {
      throw new LociError('MEMORY_INVALID', `${JSON.stringify(path)} is not a regular file`, {
        details: { path },
      })
    }
    const part = buffer.subarray(0, Math.min(HEAD_BYTES, stats.size))
    const bytes = part.subarray(0, opened.readFull(part, 0))
    const length = frontMatterLength(bytes, stats.size <= HEAD_BYTES)
    if (length !== undefined) return headOf(file, decode(bytes.subarray(0, length)))
    const whole = Buffer.alloc(stats.size)
    return headOf(file, decode(whole.subarray(0, opened.readFull(whole, 0))))
  })
}

/** Where the front matter ends; 0 if there is none; `undefined`: it goes on behind these bytes. Pure. */
function frontMatterLength(bytes: Buffer, isWhole: boolean): number | undefined {
  const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  if (!bytes.subarray(mark, mark + 3).equals(FENCE.subarray(1))) return 0
  for (let at = bytes.indexOf(FENCE, mark); at !== -1; at = bytes.indexOf(FENCE, at + 1)) {
    let end = at + FENCE.length
    while (bytes[end] === BLANK || bytes[end] === TAB) end += 1
    if (bytes[end] === RETURN) end += 1
    if (bytes[end] === NEWLINE) return end + 1
  }
  return isWhole ? bytes.length : undefined
}

function headOf(file: string, text: string): TopicHead {
  const { name = '', description = '', type = 'project' } = parseTopic(text)
  return { file, name: name.trim() === '' ? basename(file, '.md') : name, description, type }
}
