import type { Runs } from './secret-runs.ts'
import type { Match } from './secret-tokens.ts'
import { isPlaceholder, LOOKED_AT, looksRandom } from './secret-values.ts'

/** Passwords in URLs: `scheme://user:password@host`. */
export function findUrlPasswords(text: string): Match[] {
  const found: Match[] = []
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', at + 3)) {
    if (!/[0-9a-z]/i.test(text.charAt(at - 1))) continue
    const { colon, sign } = userinfoAt(text, at + 3)
    if (colon === -1 || sign - colon < 4) continue
    const user = text.slice(at + 3, colon)
    const password = text.slice(colon + 1, Math.min(sign, colon + 1 + LOOKED_AT))
    if (password === user || isPlaceholder(password)) continue
    found.push({ rule: 'url-password', start: colon + 1, end: sign, shown: '' })
  }
  return found
}

/** Where the first `:` and the last `@` before the host are. Ends at a `/`, which every `://` has: linear. */
function userinfoAt(text: string, start: number): { colon: number; sign: number } {
  let colon = -1
  let sign = -1
  for (let index = start; index < text.length; index += 1) {
    const character = text.charAt(index)
    if (' \t\r\n"\'`<>/\\\0|'.includes(character)) break
    if (character === ':' && colon === -1) colon = index
    if (character === '@') sign = index
  }
  return { colon, sign }
}

/** What a line says beside a password when it is a connection string. */
const CONNECTION =
  /(?:server|data source|host|hostname|addr|address|user id|uid|user|username|endpoint|dbname|database)\s?=/i

/** Passwords in connection strings: `Server=…;Password=…;`, `host=… password=…`, `jdbc:…?user=…&password=…`. */
export function findConnectionPasswords(text: string, runs: Runs): Match[] {
  const found: Match[] = []
  const names = /(?:password|pwd)\s?=\s?/gi
  for (let name = names.exec(text); name !== null; name = names.exec(text)) {
    const start = names.lastIndex
    const end = runs.end('bare', start)
    if (end - start < 4 || isPlaceholder(text.slice(start, Math.min(end, start + LOOKED_AT)))) continue
    const around = text.slice(Math.max(0, name.index - 256), name.index)
    const line = around.slice(Math.max(around.lastIndexOf('\n'), around.lastIndexOf('\r')) + 1)
    const rest = /^[^\r\n]{0,128}/.exec(text.slice(end, end + 128))?.[0] ?? ''
    if (!CONNECTION.test(line) && !/^[; &]/.test(rest)) continue
    if (!CONNECTION.test(line) && !CONNECTION.test(rest)) continue
    found.push({ rule: 'connection-string', start, end, shown: '' })
    names.lastIndex = end
  }
  return found
}

/** Names and passwords of HTTP: in Base64 after `Basic`, or as they are after `-u` of curl. */
export function findBasicAuth(text: string, runs: Runs): Match[] {
  const found: Match[] = []
  const openings = /basic |(?:\s-u|--user)[ =]["']?/gi
  for (let opening = openings.exec(text); opening !== null; opening = openings.exec(text)) {
    const start = openings.lastIndex
    const end = runs.end('bare', start)
    const isHeader = opening[0].toLowerCase() === 'basic '
    const given = text.slice(start, Math.min(end, start + LOOKED_AT))
    const pair = isHeader ? decodedPair(given) : given
    const colon = pair.indexOf(':')
    const password = pair.slice(colon + 1)
    if (colon === -1 || password.length < 6 || isPlaceholder(password)) continue
    if (!isHeader && !looksRandom(password)) continue
    found.push({ rule: 'basic-auth', start: isHeader ? start : start + colon + 1, end, shown: '' })
  }
  return found
}

function decodedPair(base64: string): string {
  if (!/^[0-9A-Za-z+/_-]{12,}=*$/.test(base64)) return ''
  const pair = Buffer.from(base64, 'base64').toString('latin1')
  return /^[\x20-\x7e]+$/.test(pair) ? pair : ''
}

const MAX_KEY = 32_768

/** Private keys of PEM, OpenSSH, PGP and PuTTY, from the first line to the last, or as far as there is one. */
export function findPrivateKeys(text: string): Match[] {
  const found: Match[] = []
  const openings = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d:/g
  for (let opening = openings.exec(text); opening !== null; opening = openings.exec(text)) {
    const from = openings.lastIndex
    const window = text.slice(from, from + MAX_KEY)
    // The next opening ends this one too, so that no text is read twice.
    const closing = /-----(END|BEGIN) |PuTTY-User-Key|(Private-MAC):/.exec(window)
    let length = unclosedLength(window.slice(0, closing?.index))
    if (closing?.[1] === 'END') length = endOfLine(window, closing.index)
    if (closing?.[2] !== undefined) length = closing.index
    if (length === 0 || !holdsKey(window.slice(0, length))) continue
    const shown = opening[0].startsWith('-') ? '-----BEGIN ' : 'PuTTY'
    found.push({ rule: 'private-key', start: opening.index, end: from + length, shown })
    openings.lastIndex = from + length
  }
  return found
}

function endOfLine(window: string, index: number): number {
  const end = window.slice(index + 9, index + 64).indexOf('-----')
  return end === -1 ? index + 9 : index + 9 + end + 5
}

/** How far a key goes that nothing closes: after its headers, line by line. 0 if there is none. */
function unclosedLength(body: string): number {
  const headers = /^(?:\s|[A-Za-z-]{2,20}: [^\n]{0,100}\n){0,64}/.exec(body)?.[0].length ?? 0
  const lines = /^[0-9A-Za-z+/=]{30,}(?:\s{1,40}[0-9A-Za-z+/=]{30,})*(?:\r?\n[0-9A-Za-z+/=]+)?/
  const key = lines.exec(body.slice(headers))
  return key === null ? 0 : headers + key[0].length
}

function holdsKey(body: string): boolean {
  const runs = body.match(/[0-9A-Za-z+/=]{16,}/g) ?? []
  const key = runs.join('')
  return key.length >= 24 && new Set(key).size >= 6 && !/\.{3}|…/.test(body)
}
