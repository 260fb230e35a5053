import { LociError } from '@loci/disk'
import { isWellFormed } from './check-text.ts'
import { cutTextToBytes } from './cut-text.ts'
import type { MemoryType } from './topic-file.ts'

/** The name of the index in a memory folder. */
export const INDEX_FILE = 'MEMORY.md'

const MAX_DEFAULT_NAME_BYTES = 80
const MAX_SEGMENT_BYTES = 255
/** Daily logs stand beside the topic files and are none. */
const DAILY_LOG = /^logs\/\d{4}\/\d{2}\/\d{4}-\d{2}-\d{2}\.md$/

/**
 * Whether `file` can be the name of a topic file: relative, `/` between segments, ends in `.md`, no segment
 * empty or beginning with a dot, no control character, backslash or half a character, not `MEMORY.md` in any case, no daily log.
 */
export function isTopicFile(file: string): boolean {
  return whyNoTopicFile(file) === undefined
}

/** @throws {LociError} MEMORY_INVALID when `file` cannot be the name of a topic file */
export function checkTopicFile(file: string): void {
  if (typeof file !== 'string') throw new TypeError('file must be a string')
  const why = whyNoTopicFile(file)
  if (why === undefined) return
  throw new LociError(
    'MEMORY_INVALID',
    `${JSON.stringify(file)} cannot be a topic file: ${why}. Give a name like user_role.md`,
    { details: { file } },
  )
}

function whyNoTopicFile(file: string): string | undefined {
  const segments = file.split('/')
  if (file === '') return 'it is empty'
  if (/[\p{Cc}\\]/u.test(file)) return 'it has a control character or a backslash in it'
  if (!isWellFormed(file)) return 'it holds half a character'
  if (segments.includes('')) return 'it is no relative path'
  if (segments.some((segment) => segment.startsWith('.'))) return 'a part of it begins with a dot'
  if (!file.endsWith('.md')) return 'it does not end in .md'
  if (segments.at(-1)?.toLowerCase() === INDEX_FILE.toLowerCase()) return `${INDEX_FILE} is the index`
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)) return 'it is too long'
  return DAILY_LOG.test(file) ? 'it is a daily log' : undefined
}

/**
 * The file for a memory that names none: `<type>_<name>.md`, the name in lower case with each run of other
 * than letters and digits as `_`, at most 80 bytes; with `_2`, `_3`… where `isTaken`.
 */
export function defaultTopicFile(type: MemoryType, name: string, isTaken: (file: string) => boolean): string {
  const words = name
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{Nd}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
  for (let number = 1; ; number += 1) {
    const suffix = `${number === 1 ? '' : `_${number}`}.md`
    const head = `${type}_${words === '' ? 'memory' : words}`
    const file = cutTextToBytes(head, MAX_DEFAULT_NAME_BYTES - suffix.length).replace(/_+$/, '') + suffix
    if (!isTaken(file)) return file
  }
}
