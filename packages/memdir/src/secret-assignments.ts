import { ALPHABETS } from './secret-rules.ts'
import type { Match } from './secret-tokens.ts'
import { isPlaceholder, looksRandom } from './secret-values.ts'

/** Words that a name has which is given a secret. */
const NAMES =
  /pass(?:word|wd|wort|phrase)|pwd|secret|token|api[_\- ]?key|access[_\- ]?key|auth[_\- ]?key|private[_\- ]?key|account[_\- ]?key|encryption[_\- ]?key|signing[_\- ]?key|master[_\- ]?key|credential|authorization|\bauth\b|_auth\b|\bsig=|密码|密碼|口令|密钥|密鑰|パスワード|비밀번호|пароль|contraseña|mot de passe/gi
const PASSWORD = /pass|pwd|密|口令|パスワード|비밀번호|пароль|contraseña/i
/** What such a name ends with when its value is no secret. */
const NO_SECRET =
  /(?:name|names|file|path|dir|url|uri|endpoint|type|hash|digest|sha\d{0,3}|checksum|count|limit|length|size|field|ttl|age|expiry|expires|id|ids|header|prefix|pattern|regex|policy|version|ref|arn|hint|label|public|status|at|ms|class)$/i

const MAX_NAME = 64
const MAX_VALUE = 512
const MAX_BLANKS = 16

/** Values drawn by chance that are given to names like `password`, `api_key` or `token`, in any common spelling. */
export function findAssignments(text: string): Match[] {
  const found: Match[] = []
  NAMES.lastIndex = 0
  for (let name = NAMES.exec(text); name !== null; name = NAMES.exec(text)) {
    const end = endOfName(text, NAMES.lastIndex)
    NAMES.lastIndex = end
    const rest = text.slice(name.index, end)
    if (NO_SECRET.test(text.slice(name.index + name[0].length, end))) continue
    const value = valueAfter(text, end, text.slice(Math.max(0, name.index - 2), name.index) === '--')
    if (value === undefined || !isSecret(value.text, rest)) continue
    const before = text.slice(Math.max(0, name.index - 24), name.index)
    found.push({
      rule: ruleFor(before + rest, value.text),
      start: value.start,
      end: value.start + value.text.length,
      shown: '',
    })
    NAMES.lastIndex = value.start + value.text.length
  }
  return found
}

function ruleFor(name: string, value: string): string {
  if (/heroku/i.test(name)) return 'heroku-key'
  if (/aws|secret_?access/i.test(name) && value.length === 40) return 'aws-secret-key'
  if (/account_?key|shared_?access|azure|sig=/i.test(name)) return 'azure-key'
  if (/twilio/i.test(name)) return 'twilio-key'
  return 'secret-assignment'
}

function isSecret(value: string, name: string): boolean {
  if (/\s/.test(value) || isPlaceholder(value) || value.includes('://')) return false
  const kinds = [/[a-z]/, /[A-Z]/, /[0-9]/, /[^0-9A-Za-z]/].filter((kind) => kind.test(value)).length
  if (PASSWORD.test(name) && value.length >= 8 && value.length <= 64 && kinds === 4 && !/^[./~]/.test(value))
    return true
  return value.length >= (PASSWORD.test(name) ? 10 : 16) && looksRandom(value)
}

function endOfName(text: string, index: number): number {
  let end = index
  while (end - index < MAX_NAME && ALPHABETS.dotted[text.charCodeAt(end)] === 1) end += 1
  return end
}

/** What a name that ends at `index` is given: after `=`, `:`, `=>`, `|`, `>`, `(`, « is », or a blank (`isOption`). */
function valueAfter(
  text: string,
  index: number,
  isOption: boolean,
): { text: string; start: number } | undefined {
  let at = skip(text, index, CLOSERS, 4)
  const afterName = at
  at = skip(text, at, BLANKS, MAX_BLANKS)
  const separator = separatorAt(text, at)
  if (separator > 0) at += separator
  else if (!(isOption && at > afterName)) return undefined
  at = skip(text, at, BLANKS, MAX_BLANKS)
  at = skip(text, at, '*_', 2)
  at = skip(text, at, BLANKS, MAX_BLANKS)
  at += schemeAt(text, at)
  const quote = text.charAt(at)
  const value =
    QUOTES.includes(quote) && quote !== ''
      ? quotedAt(text, at + 1, quote)
      : { text: bareAt(text, at), start: at }
  if (value === undefined || value.text === '') return undefined
  const next = skip(text, value.start + value.text.length, BLANKS, MAX_BLANKS)
  // A type stood there, not a value: `key: string = '…'`.
  if (text.charAt(at + separator) !== '=' && text.charAt(next) === '=' && quote !== text.charAt(next)) {
    const again = skip(text, next + 1, BLANKS, MAX_BLANKS)
    const opening = text.charAt(again)
    return QUOTES.includes(opening) && opening !== '' ? quotedAt(text, again + 1, opening) : undefined
  }
  return value
}

const QUOTES = '"\'`'
const CLOSERS = '"\'`]*_?'
const BLANKS = ' \t'
const BARE_END = ' \t\r\n"\'`,;<>(){}[]|&\0'
const SEPARATORS = ['===', '!==', ':=', '=>', '==', '=', ':', '|', '>', '(', 'is:', 'is ', 'was ', '：']
const SCHEMES = [
  'Bearer ',
  'bearer ',
  'Basic ',
  'basic ',
  'Token ',
  'token ',
  'b',
  'r',
  'f',
  'u',
  '@',
  '$',
  '<code>',
]

function separatorAt(text: string, index: number): number {
  return SEPARATORS.find((separator) => text.startsWith(separator, index))?.length ?? 0
}

/** How long what stands before a value is: a scheme of HTTP, or the letter before a quote. */
function schemeAt(text: string, index: number): number {
  const scheme = SCHEMES.find((word) => text.startsWith(word, index))
  if (scheme === undefined) return 0
  return scheme.length > 1 || QUOTES.includes(text.charAt(index + 1) || ' ') ? scheme.length : 0
}

function skip(text: string, index: number, characters: string, most: number): number {
  let at = index
  while (at - index < most && at < text.length && characters.includes(text.charAt(at))) at += 1
  return at
}

function quotedAt(text: string, start: number, quote: string): { text: string; start: number } | undefined {
  for (let end = start; end < text.length && end - start <= MAX_VALUE; end += 1) {
    const character = text.charAt(end)
    if (character === quote) return { text: text.slice(start, end), start }
    if (character === '\n' || character === '\r') return undefined
    if (character === '\\') end += 1
  }
  return undefined
}

function bareAt(text: string, start: number): string {
  let end = start
  while (end < text.length && end - start < MAX_VALUE && !BARE_END.includes(text.charAt(end))) end += 1
  // A call or an index: code, not a value.
  if ('([{'.includes(text.charAt(end) || ' ')) return ''
  while (end > start && '.:!?*_\\'.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}
