/** Words that stand in the place of a secret, in letters only. */
const STAND_IN =
  /^(?:x{2,}|y{2,}|your|my|the|some|any|a|an|test|tests|testing|demo|dummy|fake|mock|sample|example|examples|placeholder|redacted|hidden|masked|removed|changeme|change|replace|replaceme|insert|enter|here|todo|none|null|undefined|true|false|yes|no|empty|secret|secrets|password|passwd|passwort|pass|pwd|passphrase|token|tokens|key|keys|api|apikey|auth|access|private|client|user|username|root|admin|guest|postgres|value|string|me|with|this|in|it|real|actual|new|old|default|foo|bar|baz|qux|abc|abcd|hunter|super|supersecret|mysecret|mypassword|yourpassword|strong|strongpassword|random|generated|long|very|app|db|database|service|name|openai|anthropic|github|aws|azure|google|pw|p|u|s|pat|sk|id|hash|text|plain)$/

/**
 * Whether `value` only stands for a secret, as documentation and templates have it: `<your-key>`, `${TOKEN}`,
 * `xxxx`, `****`, `changeme`, `abcdef123456`.
 */
export function isPlaceholder(value: string): boolean {
  if (/[<>{}]|^[$%@&#*]|\.{3}|…|\*{3}|\$\(|EXAMPLE|process\.env|os\.environ|getenv|import\.meta/.test(value))
    return true
  if (isRegular(value)) return true
  const words = value.toLowerCase().match(/[a-z]{1,40}/g) ?? []
  return words.length > 0 && words.every((word) => STAND_IN.test(word)) && digitsIn(value) <= 4
}

/** Whether the characters come in an order, or few of them again and again: `123456`, `abcdef`, `x0x0x0x0`. */
export function isRegular(value: string): boolean {
  let steps = 0
  for (let index = 1; index < value.length; index += 1) {
    const step = value.charCodeAt(index) - value.charCodeAt(index - 1)
    if (step >= -1 && step <= 1) steps += 1
  }
  return steps * 2 > value.length || new Set(value).size < Math.min(value.length * 0.4, 8)
}

function digitsIn(value: string): number {
  let count = 0
  for (let index = 0; index < value.length; index += 1)
    if (kindOf(value.charCodeAt(index)) === 'digit') count += 1
  return count
}

/**
 * Whether `value` looks drawn by chance and not written: letters and digits through one another, few words.
 * What has no digit never does.
 */
export function looksRandom(value: string): boolean {
  if (isRegular(value)) return false
  const text = /[a-z]/.test(value) ? value : value.toLowerCase()
  let digits = 0
  let letters = 0
  let inWords = 0
  let word = 0
  let digitsBeforeLetters = 0
  let changes = 0
  let previous: Kind = 'other'
  for (let index = 0; index <= text.length; index += 1) {
    const kind = index < text.length ? kindOf(text.charCodeAt(index)) : 'other'
    if (kind === 'digit') digits += 1
    if (kind === 'lower' || kind === 'upper') letters += 1
    if (previous === 'digit' && (kind === 'lower' || kind === 'upper')) digitsBeforeLetters += 1
    if (kind !== previous) changes += 1
    if (kind === 'lower') word += 1
    else {
      if (word >= 4) inWords += word
      word = kind === 'upper' ? 1 : 0
    }
    previous = kind
  }
  if (digits === 0 || letters === 0) return false
  return (
    (digitsBeforeLetters >= 2 && changes >= text.length * 0.2) ||
    (inWords < text.length * 0.5 && changes >= 3)
  )
}

type Kind = 'lower' | 'upper' | 'digit' | 'other'

function kindOf(code: number): Kind {
  if (code >= 97 && code <= 122) return 'lower'
  if (code >= 65 && code <= 90) return 'upper'
  return code >= 48 && code <= 57 ? 'digit' : 'other'
}
