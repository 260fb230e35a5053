import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

/** Bytes of a line of a patch, at most. */
const LINE_BYTES = 52
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~'
/** What stands for the id of a blob that is not there. */
const NO_BLOB = '0'.repeat(40)

/**
 * What makes one content of the other, as `git apply` takes it, behind the lines with names and modes: the ids of
 * both, which git checks, then each of them whole, deflated. `null`: the file is absent. Pure.
 * Source: `git diff --binary --full-index`, https://git-scm.com/docs/diff-format; ids are SHA-1, as of most repositories.
 */
export function binaryPatch(before: Uint8Array | null, after: Uint8Array | null): string {
  return `index ${blobId(before)}..${blobId(after)}\nGIT binary patch\n${literal(after)}\n${literal(before)}\n`
}

function blobId(bytes: Uint8Array | null): string {
  if (bytes === null) return NO_BLOB
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

function literal(content: Uint8Array | null): string {
  const bytes = content ?? new Uint8Array()
  const deflated = deflateSync(bytes)
  const lines = [`literal ${bytes.length}\n`]
  for (let start = 0; start < deflated.length; start += LINE_BYTES) {
    lines.push(`${lineOf(deflated.subarray(start, start + LINE_BYTES))}\n`)
  }
  return lines.join('')
}

/** The number of bytes as a letter, then five digits for every four of them; the last four are filled up with zeros. */
function lineOf(bytes: Uint8Array): string {
  const first = bytes.length <= 26 ? 'A'.charCodeAt(0) - 1 : 'a'.charCodeAt(0) - 27
  let line = String.fromCharCode(first + bytes.length)
  for (let start = 0; start < bytes.length; start += 4) {
    let word = 0
    for (let index = start; index < start + 4; index += 1) word = word * 256 + (bytes[index] ?? 0)
    let digits = ''
    for (let place = 0; place < 5; place += 1) {
      digits = `${DIGITS[word % 85] ?? ''}${digits}`
      word = Math.floor(word / 85)
    }
    line += digits
  }
  return line
}
