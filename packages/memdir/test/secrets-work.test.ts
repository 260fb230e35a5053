import { scanForSecrets } from '@loci/memdir'
import { afterEach, describe, expect, test } from 'vitest'
import { LONG } from './thorough.ts'

/**
 * Counts what scanning does instead of timing it: characters looked at one by one, and the distance that searches and
 * patterns go. Every pattern in it is one whose own work is bounded at each place.
 */
function workOf(text: string): number {
  let work = 0
  const saved = Object.getOwnPropertyDescriptors(String.prototype)
  const savedExec = Object.getOwnPropertyDescriptors(RegExp.prototype).exec
  restore = () => {
    const { charCodeAt, charAt, indexOf, includes } = saved
    Object.assign(String.prototype, {
      charCodeAt: charCodeAt.value,
      charAt: charAt.value,
      indexOf: indexOf.value,
      includes: includes.value,
    })
    Object.assign(RegExp.prototype, { exec: savedExec.value })
  }
  Object.assign(String.prototype, {
    charCodeAt(this: string, index: number) {
      work += 1
      return saved.charCodeAt.value?.call(this, index)
    },
    charAt(this: string, index: number) {
      work += 1
      return saved.charAt.value?.call(this, index)
    },
    indexOf(this: string, searched: string, from = 0) {
      const at = saved.indexOf.value?.call(this, searched, from) ?? -1
      work += 1 + (at === -1 ? this.length : at) - from
      return at
    },
    includes(this: string, searched: string) {
      work += this.length
      return saved.includes.value?.call(this, searched)
    },
  })
  Object.assign(RegExp.prototype, {
    exec(this: RegExp, searched: string) {
      const from = this.global ? this.lastIndex : 0
      const match = savedExec.value?.call(this, searched) ?? null
      work += 1 + (match === null ? searched.length : match.index + match[0].length) - from
      return match
    },
  })
  try {
    scanForSecrets(text)
  } finally {
    restore()
  }
  return work
}

let restore = (): void => undefined
afterEach(() => restore())

const ESCAPES = ['\\', '\\\n', '\\"', '%', '%4', '%41', '\\u00', '\\u0041', '\n', '\r\n ', 'a\n']
const SIGNS = ['a', ' ', '=', '==', '/', '.', 'a.', 'aaaaaa.', ':', '@', '密码：']
const PREFIXES = [
  'AKIA',
  'AKI',
  'eyJ',
  'eyJa.',
  'eyJaaaaaaaaaa.eyJ',
  'sk-',
  'sk-a',
  'ghp_',
  'ghp_a',
  'xoxb-',
  'glpat-',
]
const SHORT_PREFIXES = [
  'SG.',
  'SG.aaaaaaaaaaaaaaaa.',
  ':AA',
  '1:AA',
  '12345678:AA',
  '8Q~',
  'aaa8Q~',
  'AZDO',
  '1//0',
  'ya29.',
]
const LONG_PREFIXES = ['hooks.slack.com/services/', 'discord.com/api/webhooks/1', 'pypi-AgE']
const BEGIN = '-----BEGIN PRIVATE KEY-----'
const KEYS = [
  BEGIN,
  `${BEGIN}\naaaa`,
  `${BEGIN}\nA: b\n`,
  `${BEGIN} `,
  '-----BEGIN ',
  '-----END ',
  'PuTTY-User-Key-File-2:',
]
const URLS = [
  '://',
  'a://',
  'a://b:',
  'a://b:c',
  'a://@',
  'Basic ',
  'basic YWJj',
  ' -u ',
  ' -u a:',
  '--user ',
]
const NAMES = [
  'password',
  'password=',
  'pwd=',
  'pwd1A:',
  'pwd = ',
  'pwd="',
  "pwd='",
  'pwd="\\',
  'api_key',
  'api_key|',
  'Bearer ',
]
const VALUES = ['token: a', 'token: b = ', 'secret is ', 'host=a password=', 'host=a password=x1 ']
const RUNS = [
  'A'.repeat(64),
  `${'A'.repeat(39)} `,
  `${'A'.repeat(40)} `,
  'QUtJQUFBQUFBQUFBQUFBQUFBQUE',
  'LS0tLS1CRUdJTi',
]
const PARTS = [
  ESCAPES,
  SIGNS,
  PREFIXES,
  SHORT_PREFIXES,
  LONG_PREFIXES,
  KEYS,
  URLS,
  NAMES,
  VALUES,
  RUNS,
].flat()

const filled = (part: string, length: number): string =>
  part.repeat(Math.ceil(length / part.length)).slice(0, length)

describe('R16: twice the text is twice the work', () => {
  test.each(PARTS)('%j again and again', (part) => {
    const [once, twice] = [workOf(filled(part, 8192)), workOf(filled(part, 16_384))]
    expect(twice / once).toBeLessThan(2.2)
  })

  test.each(PARTS)('after a long run: %j', (part) => {
    const text = (length: number): string => filled('a', length / 2) + filled(part, length / 2)
    expect(workOf(text(16_384)) / workOf(text(8192))).toBeLessThan(2.2)
  })
})

test.each(LONG ? PARTS : ['eyJaaaaaaaaaa.eyJ', 'pwd:', 'sk-'])(
  'R16: a megabyte of %j takes so much work a character and no more',
  (part) => {
    const length = 2 ** 20
    expect(workOf(filled(part, length)) / length).toBeLessThan(2000)
  },
)

test('R16: as many secrets as a large file can hold', () => {
  const text = ['AKIA', '234567ABCDEFGHIJ'].join('').repeat(130_000)
  expect(scanForSecrets(text)).toHaveLength(130_000)
})
