import { validateTeamMemoryKey } from '@loci/memdir'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { foldTeamMemoryKey } from '../src/team-key.ts'

const refused = (key: string): boolean => {
  try {
    validateTeamMemoryKey(key)
    return false
  } catch (error) {
    expect(error).toMatchObject({ code: 'TEAM_KEY_INVALID', details: { key } })
    return true
  }
}

test.each([
  'a.md',
  'user_role.md',
  'deploy/how to ship.md',
  'a/b/c/d.md',
  'MEMORIES.md',
  'memory/a.md',
  'v1.2.3.md',
  'a..b.md',
  '~.md',
  '-.md',
  'конфиг/развёртывание.md',
  '部署.md',
  'ファイル.md',
  'Ärger.md',
  '🚀 launch.md',
  'console.md',
  'com10.md',
  'auxiliary/nulls.md',
  `${'k'.repeat(252)}.md`,
])('R17: %j is a key', (key) => {
  expect(refused(key)).toBe(false)
})

describe('R17: refused', () => {
  test.each([
    ['nothing', ''],
    ['no ending', 'a'],
    ['another ending', 'a.txt'],
    ['an ending in capitals', 'a.MD'],
    ['an ending in wide letters', 'a.\uff4d\uff44'],
    ['an ending alone', '.md'],
    ['a directory', 'a.md/'],
    ['absolute', '/etc/a.md'],
    ['an absolute path of Windows', 'C:/a.md'],
    ['a share', '\\\\host\\share\\a.md'],
    ['a share with slashes', '//host/a.md'],
    ['an empty segment', 'a//b.md'],
    ['the parent', '../a.md'],
    ['a parent within', 'a/../../b.md'],
    ['the directory itself', './a.md'],
    ['a backslash', 'a\\b.md'],
    ['the parent with backslashes', '..\\a.md'],
    ['an encoded parent', '%2e%2e%2fa.md'],
    ['a percent sign', '100%.md'],
    ['a stream of NTFS', 'a.md:x.md'],
    ['NUL', 'a\0.md'],
    ['a line break', 'a\nb.md'],
    ['a tab', 'a\tb.md'],
    ['an escape', 'a\u001b[2J.md'],
    ['a control character of C1', 'a\u0085.md'],
    ['a line separator', 'a\u2028b.md'],
    ['half a character', 'a\ud800.md'],
    ['the other half', 'a\udc00.md'],
    ['a dot file', '.a.md'],
    ['a dot directory', '.git/a.md'],
    ['our own dot directories', '.trash/a.md'],
    ['a dot file further down', 'a/.b.md'],
    ['the index', 'MEMORY.md'],
    ['the index in small letters', 'memory.md'],
    ['an index further down', 'a/Memory.md'],
    ['a directory in the place of the index', 'MEMORY.md/a.md'],
    ['the index in wide letters', '\uff2dEMORY.md'],
    ['the index with a character that shows nothing', 'MEM\u200bORY.md'],
    ['a dot behind a character that shows nothing', '\u2060.git/a.md'],
    ['a device', 'CON.md'],
    ['a device in small letters', 'nul.md'],
    ['a device with two endings', 'aux.tar.md'],
    ['a device as a directory', 'prn/a.md'],
    ['a numbered device', 'a/COM1.md'],
    ['a device with a small number', 'com\u00b9.md'],
    ['a device in wide letters', '\uff4eul.md'],
    ['a device before a blank', 'lpt1 .md'],
    ['a device of the console', 'CONIN$.md'],
    ['a directory that ends in a dot', 'a./b.md'],
    ['a directory that ends in a blank', 'a /b.md'],
    ['a directory that ends in a wide blank', 'a\u3000/b.md'],
    ['a directory of a blank', ' /b.md'],
    ['a wide slash', 'a\uff0fb.md'],
    ['a wide slash to the parent', '\uff0e\uff0e\uff0fa.md'],
    ['a wide dot', '\uff0egit/a.md'],
    ['two dots in one character', '\u2025/a.md'],
    ['three dots in one character', 'a\u2026md'],
    ['a leader dot', 'a\u2024md'],
    ['a wide backslash', 'a\uff3cb.md'],
    ['a small backslash', 'a\ufe68b.md'],
    ['a wide percent sign', 'a\uff052fb.md'],
    ['a wide colon', 'a\uff1ab.md'],
    ['a letter pair with a slash in it', '\u2100.md'],
    ['256 bytes', `${'k'.repeat(253)}.md`],
    ['256 bytes of fewer characters', `${'é'.repeat(126)}e.md`],
  ])('%s: %j', (_, key) => {
    expect(refused(key)).toBe(true)
  })

  test.each([[undefined], [null], [5], [['a.md']], [{}]])('what is no text: %j', (key) => {
    expect(() => validateTeamMemoryKey(key as unknown as string)).toThrow('cannot be a key')
  })
})

const tricks = [
  '..',
  '.',
  '',
  ' ',
  '/',
  '\\',
  '%2f',
  ':',
  '\0',
  'CON',
  'con',
  'MEMORY.md',
  'memory',
  '.git',
  '.md',
  '~1',
]
const letters = ['a', 'b c', '部', 'é', 'e\u0301', 'ß', '\u0130', '-', '\r\n']
const lookAlikes = ['\uff0f', '\uff0e', '\u2025', '\u2026', '\u200b', '\ud800']
const hostile = fc.constantFrom(...tricks, ...letters, ...lookAlikes)
const anyKey = fc
  .array(fc.array(fc.oneof(hostile, fc.string({ unit: 'binary', maxLength: 3 })), { maxLength: 4 }), {
    maxLength: 4,
  })
  .map((segments) => `${segments.map((segment) => segment.join('')).join('/')}.md`)

test('R17: whatever is taken leads nowhere else, in no spelling of it', () => {
  let taken = 0
  fc.assert(
    fc.property(anyKey, (key) => {
      if (refused(key)) return
      taken += 1
      for (const spelling of [key, key.normalize('NFKC'), foldTeamMemoryKey(key)]) {
        const segments = spelling.split('/')
        expect(segments).toHaveLength(key.split('/').length)
        expect(spelling).toMatch(/^[^\\%:\p{Cc}\p{Cs}]+\.md$/u)
        for (const segment of segments) {
          expect(segment).not.toMatch(/^\.|^$|[.\s]$/u)
          expect(segment).not.toMatch(/^memory\.md$|^(?:con|prn|aux|nul)(?:\.|$)/i)
        }
      }
      expect(Buffer.byteLength(key)).toBeLessThanOrEqual(255)
    }),
    { numRuns: 5000 },
  )
  expect(taken).toBeGreaterThan(100)
})

describe('R17: keys that some system takes for one have one fold', () => {
  test.each([
    ['case', 'Notes/A.md', 'notes/a.md'],
    ['composed and not', 'caf\u00e9.md', 'cafe\u0301.md'],
    ['wide letters', '\uff41.md', 'a.md'],
    ['ligatures', '\ufb01t.md', 'fit.md'],
    ['sharp s', 'stra\u00dfe.md', 'STRASSE.md'],
    ['capital sharp s', 'stra\u1e9ee.md', 'strasse.md'],
    ['the sigmas', 'λόγος.md', 'ΛΌΓΟΣ.md'],
    ['the degree Kelvin', '\u212aelvin.md', 'kelvin.md'],
    ['long s', 'no\u017ftalgia.md', 'nostalgia.md'],
    ['a joiner that shows nothing', 'a\u200db.md', 'ab.md'],
  ])('%s', (_, one, other) => {
    expect(one).not.toBe(other)
    expect(foldTeamMemoryKey(one)).toBe(foldTeamMemoryKey(other))
  })

  test.each([
    ['a.md', 'b.md'],
    ['a/b.md', 'a_b.md'],
    ['cafe.md', 'caf\u00e9.md'],
    ['1.md', 'l.md'],
  ])('but not %j and %j', (one, other) => {
    expect(foldTeamMemoryKey(one)).not.toBe(foldTeamMemoryKey(other))
  })

  test('every character folds as its other forms do, and a fold folds to itself', () => {
    const wrong: string[] = []
    for (let code = 1; code < 0x2_00_00; code += 1) {
      if (code >= 0xd800 && code < 0xe000) continue
      const character = String.fromCodePoint(code)
      const fold = foldTeamMemoryKey(character)
      const others = [fold, character.toLowerCase(), character.toUpperCase()]
      const forms = (['NFC', 'NFD', 'NFKC', 'NFKD'] as const).map((form) => character.normalize(form))
      if ([...others, ...forms].some((other) => foldTeamMemoryKey(other) !== fold))
        wrong.push(code.toString(16))
    }
    expect(wrong).toEqual([])
  })
})
