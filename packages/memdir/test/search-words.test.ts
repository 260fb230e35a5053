import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Memory } from '../src/memory.ts'
import { foldText } from '../src/fold-text.ts'
import { findMistyped } from '../src/find-word.ts'
import { parseQuery } from '../src/search-words.ts'
import { searchMemories } from '../src/search.ts'
import { forgivenErrors, isWithin, surePieces } from '../src/typing-errors.ts'
import { times } from './thorough.ts'

function memory(name: string, description = '', body = ''): Memory {
  return { name, description, body, type: 'project', file: `${name}.md`, modifiedAtMs: 0, revision: '' }
}
const names = (memories: readonly Memory[], query: string): string[] =>
  searchMemories(memories, query).map((hit) => hit.memory.name)
const holds = (body: string, query: string): boolean => names([memory('m', '', body)], query).length === 1

describe('typing errors', () => {
  test.each([
    ['a letter too few', 'deplo', 'deploy', true],
    ['a letter too many', 'deeploy', 'deploy', true],
    ['another letter', 'deplox', 'deploy', true],
    ['two neighbours swapped', 'dpeloy', 'deploy', true],
    ['two neighbours swapped in the middle', 'delpoy', 'deploy', true],
    ['two errors in a short word', 'dplox', 'deploy', false],
    ['one error in three letters', 'cta', 'cat', false],
    ['one error in four letters', 'fils', 'file', true],
    ['two errors in a long word', 'migartoin', 'migration', true],
    ['one swapped, one missing, in a long word', 'migartin', 'migration', true],
    ['three errors in a long word', 'mgartoin', 'migration', false],
    ['a long word in the text, a shorter in the query', 'migratin', 'migration', true],
    ['accents beside an error', 'résmué', 'resume', true],
    ['Cyrillic', 'разгвоор', 'разговор', true],
    ['digits', 'port8081', 'port8080', false],
    ['a number', '20251', '20252', false],
    ['characters of Chinese', '数据库迁移用', '数据床千移用品', true],
    ['a Chinese word of two', '迁移', '迁徙', false],
    ['kana', 'テスト', 'テント', false],
  ])('%s', (_, query, body, is) => {
    expect(holds(`The ${body} here.`, query)).toBe(is)
  })

  /** By the letter, without any shortcut. */
  function distance(a: readonly string[], b: readonly string[]): number {
    const rows = Array.from({ length: a.length + 1 }, (_, i) =>
      b
        .map(() => 0)
        .concat(0)
        .fill(i, 0, 1),
    )
    const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity
    for (let i = 0; i <= a.length; i += 1) {
      for (let j = 0; j <= b.length; j += 1) {
        const row = rows[i]
        if (row === undefined || (i === 0 && j === 0)) continue
        const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
        row[j] = Math.min(
          i > 0 ? at(i - 1, j) + 1 : Infinity,
          j > 0 ? at(i, j - 1) + 1 : Infinity,
          i > 0 && j > 0 ? at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1) : Infinity,
          swap ? at(i - 2, j - 2) + 1 : Infinity,
        )
      }
    }
    return at(a.length, b.length)
  }
  const word = fc
    .array(fc.constantFrom('a', 'b', 'c', 'é', '𝒳'), { minLength: 3, maxLength: 12 })
    .map((letters) => letters.join(''))

  test('are counted as by the letter', () => {
    fc.assert(
      fc.property(word, word, fc.constantFrom(1, 2), (a, b, most) => {
        expect(isWithin(a, b, most)).toBe(distance(Array.from(a), Array.from(b)) <= most)
      }),
      { numRuns: times(300, 3000) },
    )
  })

  test('leave one of the pieces whole that are looked for', () => {
    const letters = fc.array(fc.constantFrom<string>('a', 'b', 'c', 'd'), { minLength: 4, maxLength: 11 })
    fc.assert(
      fc.property(
        letters,
        fc.array(fc.tuple(fc.nat(11), fc.constantFrom('x', '', '<', '>')), { maxLength: 2 }),
        (from, errors) => {
          const query = from.join('')
          const to = [...from]
          for (const [where, how] of errors.slice(0, forgivenErrors(query))) {
            const at = where % to.length
            if (how === '<' || how === '>') to.splice(at, 2, ...to.slice(at, at + 2).toReversed())
            else to.splice(at, how === 'x' && where % 2 === 0 ? 0 : 1, ...(how === '' ? [] : [how]))
          }
          const most = forgivenErrors(query)
          fc.pre(isWithin(query, to.join(''), most))
          expect(surePieces(query, most).some(({ piece }) => to.join('').includes(piece))).toBe(true)
          // And so they are found, wherever the word stands.
          expect(holds(`zz ${to.join('')} zz`, query)).toBe(true)
        },
      ),
      { numRuns: times(500, 5000) },
    )
  })
})

describe('how text is compared', () => {
  test.each([
    ['Ångström', 'angstrom'],
    ['ＦＵＬＬ　ｗｉｄｔｈ', 'full width'],
    ['Straße', 'strasse'],
    ['İstanbul ısı', 'istanbul isi'],
    ['ΣΊΣΥΦΟΣ', 'σισυφοσ'],
    ['Œuvre, Łódź, Ørsted', 'oeuvre, lodz, orsted'],
    ['ﬁle ①', 'file 1'],
    ['がか', 'がか'],
    ['한국어', '한국어'],
    ['हिन्दी', 'हिन्दी'],
  ])('%s', (text, folded) => {
    expect(foldText(text)).toBe(folded)
    expect(foldText(text.normalize('NFD'))).toBe(folded)
  })

  test('folding again changes nothing, and a text finds itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
        const folded = foldText(text)
        expect(foldText(folded)).toBe(folded)
        const isSought = /[\p{L}\p{N}]/u.test(folded)
        if (isSought) expect(holds(text, text)).toBe(true)
      }),
      { numRuns: times(200, 2000) },
    )
  })
})

describe('text without blanks between words', () => {
  test('a question finds what shares its words', () => {
    const memories = [memory('a', '', '数据库迁移用 prisma'), memory('b', '', '部署到测试环境')]
    expect(names(memories, '我们怎么迁移数据库？')).toEqual(['a'])
    expect(names(memories, '怎么部署')).toEqual(['b'])
  })

  test('one character, Japanese and Thai, and words of other scripts beside', () => {
    expect(holds('東京で会う', '京')).toBe(true)
    expect(holds('設定ファイルを読む', 'ファイル')).toBe(true)
    expect(holds('ฐานข้อมูลอยู่ที่นี่', 'ข้อมูล')).toBe(true)
    expect(holds('用prisma迁移', 'prsima')).toBe(false)
    expect(holds('用prisma迁移', 'prisma')).toBe(true)
    expect(holds('데이터베이스를 옮긴다', '데이터베이스')).toBe(true)
  })
})

describe('what comes first', () => {
  test('name before description before body, as typed before mistyped, whole before part', () => {
    const memories = [
      memory('1', 'x', 'deplox deplox deplox'),
      memory('2', 'x', 'the redeployed'),
      memory('3', 'x', 'the deployment'),
      memory('4', 'x', 'deploy deploy deploy'),
      memory('5', 'deploy', 'x'),
      memory('deploy', 'x', 'x'),
    ].toReversed()
    expect(names(memories, 'deploy')).toEqual(['deploy', '5', '4', '3', '2', '1'])
    expect(names(memories.toReversed(), 'deploy')).toEqual(['deploy', '5', '4', '3', '2', '1'])
  })

  test('who holds all words, mistyped in the body, comes before who holds the first in the name', () => {
    const memories = [memory('deploy'), memory('z', '', 'deplox to stagimg')]
    expect(names(memories, 'deploy staging')).toEqual(['z', 'deploy'])
  })

  test('who holds all words, a rare one mistyped, comes before who holds that as it was typed in the name', () => {
    const common = Array.from({ length: 20 }, (_, n) => memory(`c${n}`, '', 'the one'))
    const memories = [...common, memory('kubernetes'), memory('z', '', 'the kubernets')]
    expect(names(memories, 'the kubernetes').slice(0, 2)).toEqual(['z', 'kubernetes'])
  })

  test('a rare word counts more than common ones', () => {
    const common = Array.from({ length: 20 }, (_, n) => memory(`c${n}`, '', 'how do we do that'))
    expect(names([...common, memory('rare', '', 'kubernetes')], 'how do we kubernetes')[0]).toBe('rare')
  })

  test('equals come by file name', () => {
    expect(names([memory('b', 'x'), memory('a', 'x')], 'x')).toEqual(['a', 'b'])
  })
})

describe('the snippet', () => {
  test('begins with a whole word, or where there are no blanks with a whole character', () => {
    const body = `Run the script, ${'then wait '.repeat(10)}for the needle.`
    expect(searchMemories([memory('m', '', body)], 'needle')[0]?.snippet).toMatch(
      /^…(?:wait|then) .* needle\.$/,
    )
    const unspaced = `${'数据库'.repeat(30)}迁移`
    expect(searchMemories([memory('m', '', unspaced)], '迁移')[0]?.snippet).toBe(`…${unspaced.slice(-42)}`)
  })

  test('stands around the word, whatever folding did to the text before it', () => {
    const [hit] = searchMemories([memory('m', '', `${'ﬃß①'.repeat(300)} the needle here`)], 'needle')
    expect(hit?.snippet).toMatch(/^….*the needle here$/)
  })

  test('shows the rarest word as typed, on one line', () => {
    const body = `sesion\n${'x\n'.repeat(200)}a session\tand\n\nmore`
    const [hit] = searchMemories([memory('m', '', body)], 'session')
    expect(hit?.snippet).toMatch(/^…[x ]+a session and more$/)
  })
})

describe('a hostile query', () => {
  test.each([
    ['100 KB of one word', 'x'.repeat(100_000)],
    ['100 KB of words', Array.from({ length: 30_000 }, (_, n) => `w${n}`).join(' ')],
    ['100 KB of Chinese', '数据'.repeat(50_000)],
    ['control characters', '\0\u001b[31m\u0007\u2028\u202e'],
    ['half characters', '\ud800\udc00\ud800'],
    ['patterns', '(a+)+$ [ \\ ^.*? {1,2} (?<x>'],
    ['nested brackets', '['.repeat(10_000)],
  ])('%s is a bounded search', (_, query) => {
    const memories = [memory('w1', '数据', 'half x'), memory('b')]
    expect(searchMemories(memories, query).length).toBeLessThanOrEqual(2)
    expect(searchMemories([], query)).toEqual([])
  })

  test('of it the first 32 words and 1,000 characters count', () => {
    const words = Array.from({ length: 33 }, (_, n) => `word${n}x`)
    expect(holds('word31x', words.join(' '))).toBe(true)
    expect(holds('word32x', words.join(' '))).toBe(false)
    expect(holds('needle', `${'x'.repeat(993)} needle`)).toBe(true)
    expect(holds('needle', `${'x'.repeat(1000)} needle`)).toBe(false)
  })

  test('each different word of all memories is compared once, and only if it shares a piece', () => {
    const [word] = parseQuery('migrated')
    if (word?.kind !== 'word') throw new Error('no word')
    for (let n = 0; n < 50; n += 1) findMistyped('migrants and other words '.repeat(100), word)
    expect([...word.compared.keys()]).toEqual(['migrants'])
  })
})
