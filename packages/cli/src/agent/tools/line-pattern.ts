/** Of classes and places in which the regular expressions of JavaScript differ from those of other tools. */
const WORD = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`
const BEFORE_WORD = `(?=[${WORD}])`
const AFTER_WORD = `(?<=[${WORD}])`
const NO_WORD_AFTER = `(?![${WORD}])`
const NO_WORD_BEFORE = `(?<![${WORD}])`

const ESCAPES: Readonly<Record<string, string>> = {
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
  s: String.raw`\p{White_Space}`,
  S: String.raw`\P{White_Space}`,
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
  b: `(?:${NO_WORD_BEFORE}${BEFORE_WORD}|${AFTER_WORD}${NO_WORD_AFTER})`,
  B: `(?:${NO_WORD_BEFORE}${NO_WORD_AFTER}|${AFTER_WORD}${BEFORE_WORD})`,
  '<': `${NO_WORD_BEFORE}${BEFORE_WORD}`,
  '>': `${AFTER_WORD}${NO_WORD_AFTER}`,
  A: '^',
  z: '$',
}
const SET_ESCAPES: Readonly<Record<string, string>> = {
  d: String.raw`\p{Nd}`,
  D: String.raw`\P{Nd}`,
  s: String.raw`\p{White_Space}`,
  S: String.raw`\P{White_Space}`,
  w: WORD,
}
const SETS: Readonly<Record<string, string>> = {
  alnum: 'a-zA-Z0-9',
  alpha: 'a-zA-Z',
  digit: '0-9',
  lower: 'a-z',
  punct: String.raw`!-\/:-@\[-\`{-~`,
  space: String.raw`\t\n\v\f\r `,
  upper: 'A-Z',
  word: 'a-zA-Z0-9_',
  xdigit: '0-9a-fA-F',
}

/**
 * A regular expression for single lines, as tools that search files understand it: classes and the edges of words know
 * the letters of all languages, `[[:alpha:]]`, `(?P<name>…)` and a leading `(?i)` are known, a brace that counts nothing
 * is itself. A string says what is wrong with it. Pure.
 */
export function linePattern(pattern: string, options: { ignoreCase: boolean }): RegExp | string {
  const [prefix = ''] = /^\(\?i\)/.exec(pattern) ?? []
  const flags = options.ignoreCase || prefix !== '' ? 'sui' : 'su'
  try {
    return new RegExp(translate(pattern.slice(prefix.length)), flags)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return error.message.replace(/^.*: (?=[^:]*$)/, '')
  }
}

/** What stands at one place of a pattern, outside a set and inside. */
const TOKEN = /\\[pPu]\{[^}]*\}|\\[\s\S]|\{\d+(?:,\d*)?\}|\(\?P?<(?![=!])|[\s\S]/gu
const SET_TOKEN = /\[:[a-z]+:\]|\\[pPu]\{[^}]*\}|\\[\s\S]|[\s\S]/gu
const KEPT = /[nrtvfcxupPksS0-9^$\\.*+?()[\]{}|/]/

function translate(pattern: string): string {
  const parts: string[] = []
  for (let at = 0; at < pattern.length;) {
    TOKEN.lastIndex = at
    const [token = ''] = TOKEN.exec(pattern) ?? []
    if (token === '[') {
      const set = translateSet(pattern, at)
      parts.push(set.text)
      at = set.end
      continue
    }
    parts.push(translateToken(token))
    at += token.length
  }
  return parts.join('')
}

function translateToken(token: string): string {
  if (token === '{' || token === '}' || token === ']') return `\\${token}`
  if (token.startsWith('(?')) return '(?<'
  if (token.length === 1 || !token.startsWith('\\')) return token
  const character = token.slice(1)
  return ESCAPES[character] ?? (KEPT.test(character) || /[a-zA-Z]/.test(character) ? token : character)
}

function translateSet(pattern: string, from: number): { text: string; end: number } {
  let at = from + 1
  const parts = ['[']
  if (pattern[at] === '^') {
    parts.push('^')
    at += 1
  }
  for (let isFirst = true; at < pattern.length; isFirst = false) {
    SET_TOKEN.lastIndex = at
    const [token = ''] = SET_TOKEN.exec(pattern) ?? []
    at += token.length
    if (token === ']' && !isFirst) return { text: `${parts.join('')}]`, end: at }
    parts.push(translateMember(token))
  }
  // It has no end, and the expression says so.
  return { text: parts.join(''), end: at }
}

function translateMember(token: string): string {
  if (token === '[' || token === ']') return `\\${token}`
  if (token.startsWith('[:')) return SETS[token.slice(2, -2)] ?? token
  if (token.length === 1 || !token.startsWith('\\')) return token
  const character = token.slice(1)
  if (/[-b]/.test(character)) return token
  return SET_ESCAPES[character] ?? (KEPT.test(character) || /[a-zA-Z]/.test(character) ? token : character)
}
