import { LociError } from '@loci/disk'
import { isWellFormed } from './check-text.ts'
import { INDEX_FILE } from './file-name.ts'

const MAX_KEY_BYTES = 255
/** Names that Windows gives to devices, in every directory and with every ending. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$|clock\$)$/
/** What has a meaning in paths, and what cannot be seen. */
const SPECIAL = /[./\\%:\p{Cc}\p{Zl}\p{Zp}]/gu

/**
 * A key names a topic of the team and the file it is kept in: relative, `/` between segments, none empty or beginning
 * with a dot, ends in `.md`, at most 255 bytes of UTF-8. Refused is also what one of the systems of a team could take for
 * something else: `\`, `%`, `:`, control characters, half a character, characters that Unicode holds to be the same as
 * one of these or as `.` or `/`, segments that end in a dot or a blank, names of devices, `MEMORY.md` in any case.
 *
 * @throws {LociError} TEAM_KEY_INVALID
 */
export function validateTeamMemoryKey(key: string): void {
  const why = typeof key === 'string' ? whyNoKey(key) : 'it is no text'
  if (why === undefined) return
  const message = `${JSON.stringify(key)} cannot be a key of team memory: ${why}. Give a name like user_role.md`
  throw new LociError('TEAM_KEY_INVALID', message, { details: { key } })
}

function whyNoKey(key: string): string | undefined {
  if (!isWellFormed(key)) return 'it holds half a character'
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`
  if (/[\\%:]/.test(key)) return 'it has a backslash, a percent sign or a colon in it'
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(key)) return 'it has a control character in it'
  if (specials(key) !== specials(key.normalize('NFKC')))
    return 'it has a character in it that looks like another'
  if (!key.endsWith('.md')) return 'it does not end in .md'
  for (const segment of key.split('/')) {
    const why = whyNoSegment(segment)
    if (why !== undefined) return why
  }
  return undefined
}

function whyNoSegment(segment: string): string | undefined {
  const folded = foldTeamMemoryKey(segment)
  if (folded === '') return 'a part of it is empty'
  if (folded.startsWith('.')) return 'a part of it begins with a dot'
  if (/[.\s]$/u.test(folded)) return 'a part of it ends in a dot or a blank'
  if (folded === foldTeamMemoryKey(INDEX_FILE)) return `${INDEX_FILE} is the index`
  const stem = folded.split('.')[0] ?? ''
  return DEVICE.test(stem.trimEnd()) ? 'a part of it is the name of a device' : undefined
}

function specials(text: string): string {
  return text.match(SPECIAL)?.join('') ?? ''
}

/**
 * Two keys with the same fold are one and the same to some file system, or to the eye: equal after NFKC and case folding,
 * without the characters that show nothing. Not a key itself.
 */
export function foldTeamMemoryKey(key: string): string {
  const visible = key.normalize('NFKC').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
  // Through upper case, which makes one of what lower case keeps apart: ß and ss, the two small sigmas.
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC')
}
