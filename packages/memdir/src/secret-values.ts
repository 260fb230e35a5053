/** So much of a value is looked at to tell whether it is a secret. */
export const LOOKED_AT = 128

/** Words that stand in the place of a secret. */
const STAND_INS = new Set(
  (
    'your my the some a an this example examples sample dummy fake mock test placeholder redacted hidden masked removed ' +
    'change me changeme replace replaceme insert enter fill in here todo none null undefined true false empty ' +
    'password passwd pass pwd pw p passwort passphrase token key keys api apikey auth access private client ' +
    'user username value string foo bar baz db database goes with real long random very'
  ).split(' '),
)

/** Templates and code that name a value and do not hold it. */
const REFERENCES =
  /<[^<>]{1,60}>|\$\{|\{\{|#\{|\$\(|^\{.{0,200}\}$|^\$[A-Za-z_]\w{0,60}$|^%[A-Za-z_]\w{0,60}%?$|^[@*&!][A-Za-z_.]{1,60}$|\.{3}|…|\*{3}|process\.env|os\.environ|getenv|import\.meta/

/** Whether `value` only stands for a secret: `<your-key>`, `${TOKEN}`, `xxxx`, `****`, `changeme`, `…EXAMPLE`. */
export function isPlaceholder(value: string): boolean {
  if (REFERENCES.test(value) || isFiller(value)) return true
  if (/\d/.test(value)) return false
  const words = value.toLowerCase().match(/[a-z]+/g) ?? []
  return words.every((word) => STAND_INS.has(word) || /^x+$/.test(word))
}

/** Whether `token` is filled up with one character, or says itself that it is an example. */
export function isFiller(token: string): boolean {
  if (/EXAMPLE|placeholder|redacted|changeme|your[-_]/i.test(token)) return true
  const counts = new Uint16Array(128)
  let most = 0
  for (let index = 0; index < token.length; index += 1) {
    const times = (counts[token.charCodeAt(index)] ?? 0) + 1
    counts[token.charCodeAt(index)] = times
    if (times > most) most = times
  }
  return token.length > 3 && most * 2 > token.length
}

/**
 * Whether `value` looks drawn by chance and not written: letters and digits through one another, few words, no
 * order. A value of letters alone must change its case often.
 */
export function looksRandom(value: string): boolean {
  const text = /[a-z]/.test(value) ? value : value.toLowerCase()
  if (isOrderly(text)) return false
  const inWords = sizeOf(text.match(/[A-Za-z][a-z]{3,}/g))
  const isWordy = inWords * 2 >= text.length
  if (/^[A-Za-z]+$/.test(text)) return !isWordy && count(text, /[a-z](?=[A-Z])/g) >= text.length * 0.15
  if (!/\d/.test(text)) return false
  const interleaved = count(text, /\d(?=[A-Za-z])/g) >= 2 && count(text, CHANGE) >= text.length * 0.2
  const inMixed = sizeOf(
    text.match(/[0-9A-Za-z]+/g)?.filter((part) => /\d/.test(part) && /[A-Za-z]/.test(part)),
  )
  return interleaved || (!isWordy && inMixed * 2 >= text.length && count(text, CHANGE) >= 3)
}

/** Where a character is followed by one of another kind. */
const CHANGE = /[a-z](?![a-z])|[A-Z](?![A-Z])|\d(?!\d)/g

/** `123456`, `abcdef`, `x0x0x0x0`, a date. */
function isOrderly(value: string): boolean {
  let steps = 0
  for (let index = 1; index < value.length; index += 1) {
    if (Math.abs(value.charCodeAt(index) - value.charCodeAt(index - 1)) <= 1) steps += 1
  }
  const isDate = /^(?:19|20)\d\d-?[01]\d-?[0-3]\d(?:[T_ -]|$)/i.test(value)
  return isDate || steps * 2 > value.length || new Set(value).size < Math.min(value.length * 0.4, 8)
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

function sizeOf(parts: readonly string[] | null | undefined): number {
  return (parts ?? []).reduce((sum, part) => sum + part.length, 0)
}
