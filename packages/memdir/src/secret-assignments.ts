import type { Runs } from './secret-runs.ts'
import type { Match } from './secret-tokens.ts'
import { isPlaceholder, LOOKED_AT, looksRandom } from './secret-values.ts'

/** Words that a name has which is given a secret. */
const NAMES =
  /pass(?:word|wd|wort|phrase|code)|pwd|secret|token|(?:api|access|auth|private|account|encryption|signing|master|service)[_\- ]?key|credential|authorization|\bauth\b|_auth\b|\bsig(?==)|密码|密碼|口令|密钥|密鑰|パスワード|비밀번호|пароль|contraseña|mot de passe/gi
const PASSWORD = /pass|pwd|密码|密碼|口令|パスワード|비밀번호|пароль|contraseña/i
/** Words that such a name ends with when its value is no secret. */
const NO_SECRET_WORDS =
  'name|names|file|path|dir|url|uri|endpoint|type|hash|digest|sha|sha1|sha256|sha512|checksum|count|limit|length|size|field|' +
  'ttl|age|expiry|expires|id|ids|header|prefix|pattern|regex|policy|version|ref|arn|hint|label|public|status|at|ms|class'
const NO_SECRET = new RegExp(`(?:^|[_.-])(?:${NO_SECRET_WORDS})$`, 'i')
const NO_SECRET_CAMEL = new RegExp(
  `(?:${NO_SECRET_WORDS.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())})$`,
)

const MAX_NAME = 64
const MAX_BLANKS = 16

/** Values drawn by chance that are given to names like `password`, `api_key` or `token`, in any common spelling. */
export function findAssignments(text: string, runs: Runs): Match[] {
  const found: Match[] = []
  NAMES.lastIndex = 0
  for (let name = NAMES.exec(text); name !== null; name = NAMES.exec(text)) {
    const end = Math.min(runs.end('dotted', NAMES.lastIndex), NAMES.lastIndex + MAX_NAME)
    const ending = text.slice(NAMES.lastIndex, end)
    NAMES.lastIndex = end
    if (NO_SECRET.test(ending) || NO_SECRET_CAMEL.test(ending)) continue
    // A method of what has such a name: `token.startsWith('…')`.
    if (ending.includes('.') && text.charAt(end) === '(') continue
    const value = valueAfter(text, end, {
      runs,
      afterBlank: PASSWORD.test(name[0]) || text.startsWith('--', name.index - 2),
    })
    if (value === undefined || !isSecret(text.slice(value.start, value.end), name[0])) continue
    const fullName = text.slice(Math.max(0, name.index - 24), end)
    found.push({ rule: ruleFor(fullName, value.end - value.start), ...value, shown: '' })
    NAMES.lastIndex = value.end
  }
  return found
}

function ruleFor(name: string, length: number): string {
  if (/heroku/i.test(name)) return 'heroku-key'
  if (/aws|secret_?access/i.test(name) && length === 40) return 'aws-secret-key'
  if (/account_?key|shared_?access|azure|sig$/i.test(name)) return 'azure-key'
  if (/twilio/i.test(name)) return 'twilio-key'
  return 'secret-assignment'
}

function isSecret(value: string, name: string): boolean {
  const seen = value.slice(0, LOOKED_AT)
  if (!/\d/.test(seen) && !(/[a-z]/.test(seen) && /[A-Z]/.test(seen))) return false
  if (/\s/.test(seen) || seen.includes('://') || isPlaceholder(seen)) return false
  if (/^(?:\.{0,2}|~)\//.test(seen))
    return seen.split('/').some((part) => part.length >= 16 && looksRandom(part))
  if (!PASSWORD.test(name)) return seen.length >= 16 && looksRandom(seen)
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^0-9A-Za-z]/].filter((kind) => kind.test(seen)).length
  if (kinds === 4 && seen.length >= 8 && seen.length <= 64) return true
  return seen.length >= 10 && looksRandom(seen)
}

interface Place {
  start: number
  end: number
}

/** What a name that ends at `index` is given: after `=`, `:`, `=>`, `|`, `>`, `(`, « is », or `afterBlank`. */
function valueAfter(
  text: string,
  index: number,
  { runs, afterBlank }: { runs: Runs; afterBlank: boolean },
): Place | undefined {
  const afterName = skip(text, index, CLOSERS, 4)
  const before = skip(text, afterName, BLANKS, MAX_BLANKS)
  const separator = SEPARATORS.find((word) => text.startsWith(word, before)) ?? ''
  if (separator === '' && !(afterBlank && before > afterName)) return undefined
  let at = skip(text, before + separator.length, BLANKS, MAX_BLANKS)
  at = skip(text, skip(text, at, '*_', 2), BLANKS, MAX_BLANKS)
  at += schemeAt(text, at)
  const value = placeAt(text, at, runs)
  if (value === undefined || separator === '=') return value
  // In `key: string = '…'` a type stands there, not the value.
  const next = skip(text, value.end, BLANKS, MAX_BLANKS)
  const isType = value.start === at && text.charAt(next) === '='
  return isType ? placeAt(text, skip(text, next + 1, BLANKS, MAX_BLANKS), runs) : value
}

function placeAt(text: string, at: number, runs: Runs): Place | undefined {
  const quote = text.charAt(at)
  return quote !== '' && QUOTES.includes(quote) ? quotedAt(text, at + 1, quote) : bareAt(text, at, runs)
}

const QUOTES = '"\'`'
const CLOSERS = '"\'`]*_?'
const BLANKS = ' \t'
const SEPARATORS = ['===', ':=', '=>', '==', '=', '：', ':', '|', '>', '(', 'is: ', 'is ', 'was ']
const SCHEMES = ['Bearer ', 'bearer ', 'Token ', 'token ', '<code>']

/** How long what stands before a value is: a scheme of HTTP, or the letter before a quote. */
function schemeAt(text: string, index: number): number {
  const scheme = SCHEMES.find((word) => text.startsWith(word, index))
  if (scheme !== undefined) return scheme.length
  return /^[brfu@$]["'`]/.test(text.slice(index, index + 2)) ? 1 : 0
}

function skip(text: string, index: number, characters: string, most: number): number {
  let at = index
  while (at - index < most && at < text.length && characters.includes(text.charAt(at))) at += 1
  return at
}

/** Ends at the next such quote, where the next search for one begins: linear, however many begin. */
function quotedAt(text: string, start: number, quote: string): Place | undefined {
  for (let end = start; end < text.length; end += 1) {
    const character = text.charAt(end)
    if (character === quote) return { start, end }
    if (character === '\n' || character === '\r') return undefined
    if (character === '\\') end += 1
  }
  return undefined
}

function bareAt(text: string, start: number, runs: Runs): Place | undefined {
  let end = runs.end('bare', start)
  // A call or an index: code, not a value.
  if ('([{'.includes(text.charAt(end) || ' ')) return undefined
  while (end > start && '.:!?*_\\'.includes(text.charAt(end - 1))) end -= 1
  return end > start ? { start, end } : undefined
}
