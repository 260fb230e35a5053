import type { FileChange } from '../describe-change.ts'
import { binaryPatch } from './binary-patch.ts'
import { wholePatch } from './whole-patch.ts'

const EXECUTABLE = 0o111
/** Characters that git writes as escapes in a quoted name. */
const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': String.raw`\a`,
  '\b': String.raw`\b`,
  '\t': String.raw`\t`,
  '\n': String.raw`\n`,
  '\v': String.raw`\v`,
  '\f': String.raw`\f`,
  '\r': String.raw`\r`,
  '"': String.raw`\"`,
  '\\': String.raw`\\`,
}

/** The bytes on both sides of a change; `null`: the file is absent there. */
export interface Contents {
  before: Uint8Array | null
  after: Uint8Array | null
}

/** Whether a change tells its lines, or has none to tell; else {@link gitDiff} needs the bytes. Pure. */
export function isToldInLines({ kind, binary, patch = '' }: FileChange): boolean {
  if (kind === 'mode' || patch.includes('\n@@ ')) return true
  // An empty file that comes or goes.
  return kind !== 'modify' && !binary && patch !== ''
}

/**
 * A change as git writes it, so that `git apply` makes the same one. `name` is relative to the root; `contents` are for
 * what does not tell its lines. Of modes git knows only whether a file is executable: others are a line in front, which
 * `git apply` passes over. Pure.
 */
export function gitDiff(change: FileChange, name: string, contents?: Contents): string {
  const { patch = '' } = change
  const [from, to] = [quoted(`a/${name}`), quoted(`b/${name}`)]
  const { note = '', header = '' } = modeLines(change.modeBefore ?? null, change.modeAfter ?? null)
  const isNamed = change.kind !== 'mode' || header !== ''
  const start = `${note && `${to}: ${note}`}${isNamed ? `diff --git ${from} ${to}\n` : ''}${header}`
  if (contents !== undefined) {
    const { before, after } = contents
    return start + (change.binary ? binaryPatch(before, after) : wholePatch(from, to, contents))
  }
  if (!patch.includes('\n@@ ')) return start
  return `${start}${patch.endsWith('\n') ? patch : `${patch}\n`}`
}

function modeLines(was: number | null, is: number | null): { note?: string; header?: string } {
  if (was === is) return {}
  if (was === null) return is === null ? {} : { header: `new file mode ${gitMode(is)}\n` }
  if (is === null) return { header: `deleted file mode ${gitMode(was)}\n` }
  if (gitMode(was) === gitMode(is)) return { note: `mode ${was.toString(8)} is now ${is.toString(8)}\n` }
  return { header: `old mode ${gitMode(was)}\nnew mode ${gitMode(is)}\n` }
}

function gitMode(mode: number): string {
  return (mode & EXECUTABLE) === 0 ? '100644' : '100755'
}

/** A name as git writes it: between quotes, byte by byte, if it holds more than plain characters. */
function quoted(name: string): string {
  if (/^[ !#-[\]-~]*$/.test(name)) return name
  return `"${Array.from(Buffer.from(name), escapedByte).join('')}"`
}

function escapedByte(byte: number): string {
  const character = String.fromCharCode(byte)
  const isPlain = byte >= 0x20 && byte < 0x7f
  return ESCAPES[character] ?? (isPlain ? character : `\\${byte.toString(8).padStart(3, '0')}`)
}
