import type { Match } from './secret-tokens.ts'
import { isPlaceholder, looksRandom } from './secret-values.ts'

const MAX_USERINFO = 512
const MAX_BLOCK = 32_768
const LEAST_KEY = 40

/** Passwords in URLs: `scheme://user:password@host`. */
export function findUrlPasswords(text: string): Match[] {
  const found: Match[] = []
  for (let at = text.indexOf('://'); at !== -1; at = text.indexOf('://', at + 3)) {
    const password = passwordAt(text, at + 3)
    if (password === undefined || !/[a-z0-9]/i.test(text.charAt(at - 1))) continue
    const value = text.slice(password.start, password.end)
    if (isPlaceholder(value)) continue
    found.push({ rule: 'url-password', ...password, shown: '' })
  }
  return found
}

function passwordAt(text: string, start: number): { start: number; end: number } | undefined {
  let colon = -1
  let at = -1
  for (let index = start; index < Math.min(text.length, start + MAX_USERINFO); index += 1) {
    const character = text.charAt(index)
    if (' \t\r\n"\'`<>/?#\\\0|'.includes(character)) break
    if (character === ':' && colon === -1) colon = index
    if (character === '@') at = index
  }
  return colon !== -1 && at > colon + 1 ? { start: colon + 1, end: at } : undefined
}

/** Passwords in connection strings: `Server=…;Password=…;`, `host=… password=…`. */
export function findConnectionPasswords(text: string): Match[] {
  const found: Match[] = []
  const names = /(?:password|pwd)\s?=\s?/gi
  for (let name = names.exec(text); name !== null; name = names.exec(text)) {
    const start = names.lastIndex
    const end = endOfField(text, start)
    const value = text.slice(start, end)
    if (value.length < 4 || isPlaceholder(value)) continue
    const before = text.slice(Math.max(0, name.index - 300), name.index)
    const line = before.slice(Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r')) + 1)
    if (
      !/(?:server|data source|host|addr|address|user id|uid|user|username|endpoint|dbname|database)\s?=/i.test(
        line,
      )
    )
      continue
    found.push({ rule: 'connection-string', start, end, shown: '' })
    names.lastIndex = end
  }
  return found
}

function endOfField(text: string, start: number): number {
  let end = start
  while (end < text.length && end - start < MAX_USERINFO && !' \t\r\n"\'`;&,)\0'.includes(text.charAt(end)))
    end += 1
  return end
}

/** Names and passwords of HTTP, in Base64 after `Basic`, or after `-u` of curl. */
export function findBasicAuth(text: string): Match[] {
  const found: Match[] = []
  const basic = /Basic |(?:-u|--user)[ =]["']?/gi
  for (let word = basic.exec(text); word !== null; word = basic.exec(text)) {
    const start = basic.lastIndex
    const end = endOfField(text, start)
    const isHeader = word[0].length === 6
    const given = text.slice(start, end)
    const pair = isHeader ? decodedPair(given) : given
    const password = pair.slice(pair.indexOf(':') + 1)
    if (!pair.includes(':') || password.length < 6 || isPlaceholder(password)) continue
    if (!isHeader && !looksRandom(password)) continue
    found.push({ rule: 'basic-auth', start: isHeader ? start : end - password.length, end, shown: '' })
  }
  return found
}

function decodedPair(base64: string): string {
  if (base64.length < 12 || !/^[0-9A-Za-z+/_=-]{12,512}$/.test(base64)) return ''
  const pair = Buffer.from(base64, 'base64').toString('latin1')
  return /^[\x20-\x7e]{1,512}$/.test(pair) ? pair : ''
}

/** Private keys of PEM, OpenSSH, PGP and PuTTY, from the first line to the last, or as far as there is one. */
export function findPrivateKeys(text: string): Match[] {
  const found: Match[] = []
  const openings = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-[23]:/g
  for (let opening = openings.exec(text); opening !== null; opening = openings.exec(text)) {
    const start = opening.index
    const window = text.slice(openings.lastIndex, start + MAX_BLOCK)
    const closing = /-----END |-----BEGIN |PuTTY-User-Key|Private-MAC:/.exec(window)
    const body = closing === null ? window : window.slice(0, closing.index)
    const end =
      openings.lastIndex +
      (closing?.[0] === '-----END ' ? endOfClosing(window, closing.index) : endOfKey(body))
    if (!holdsKey(body)) continue
    found.push({
      rule: 'private-key',
      start,
      end,
      shown: opening[0].startsWith('-') ? '-----BEGIN ' : 'PuTTY',
    })
    openings.lastIndex = end
  }
  return found
}

function endOfClosing(window: string, index: number): number {
  const end = window.indexOf('-----', index + 9)
  return end === -1 || end > index + 60 ? index + 9 : end + 5
}

function endOfKey(body: string): number {
  let end = 0
  for (const line of body.matchAll(/[0-9A-Za-z+/=]{16,4096}/g)) end = line.index + line[0].length
  return end
}

function holdsKey(body: string): boolean {
  return (
    new Set(body.replaceAll(/[^0-9A-Za-z+/]/g, '')).size >= 16 &&
    /[0-9A-Za-z+/=]{20}/.test(body) &&
    body.replaceAll(/[^0-9A-Za-z+/]/g, '').length >= LEAST_KEY
  )
}
