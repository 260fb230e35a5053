import { matchesGlob } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { globPattern, splitGlob } from '../src/agent/tools/glob-pattern.ts'
import { grepLines } from '../src/agent/tools/grep-output.ts'
import { linePattern } from '../src/agent/tools/line-pattern.ts'

describe('patterns of paths', () => {
  test.for([
    ['*.ts', ['a.ts', '.ts', '.a.ts'], ['a/b.ts', 'a.tsx', 'ats']],
    ['**/*.ts', ['a.ts', 'a/b.ts', 'a/b/c.ts', '.x/b.ts'], ['a.js', 'a.ts/b']],
    ['src/**', ['src/a', 'src/a/b'], ['src', 'srca/b']],
    ['src/**/x', ['src/x', 'src/a/x', 'src/a/b/x'], ['src/ax', 'src/x/y']],
    ['**', ['a', 'a/b'], []],
    ['**/**/a', ['a', 'x/a', 'x/y/a'], ['ba']],
    ['a**b', ['ab', 'axb'], ['a/b']],
    ['a?c', ['abc', 'aéc', 'a😀c'], ['ac', 'a/c', 'abbc']],
    ['[a-c]x', ['ax', 'cx'], ['dx', '-x']],
    ['[!a-c]x', ['dx', '-x'], ['ax', '/x']],
    ['[^a]x', ['bx'], ['ax']],
    ['[]]', [']'], ['[']],
    ['[ab', ['[ab'], ['a', 'b']],
    ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.t', 'a.tsxx']],
    ['{a,b/{c,d}}/e', ['a/e', 'b/c/e', 'b/d/e'], ['b/e', 'c/e']],
    ['{,x}a', ['a', 'xa'], ['ya']],
    ['{**/,}a', ['a', 'x/y/a'], ['xa']],
    ['{a,**}/b', ['a/b', 'x/y/b'], ['b']],
    ['{id}/x', ['{id}/x'], ['id/x']],
    ['{a,b', ['a', 'b'], ['{a,b']],
    [String.raw`\*\{a`, ['*{a'], ['x{a']],
    ['a,b}', ['a,b}'], []],
  ] as const)('%s', ([pattern, takes, leaves]) => {
    const fits = globPattern(pattern)
    for (const path of takes) expect(fits(path), path).toBe(true)
    for (const path of leaves) expect(fits(path), path).toBe(false)
  })

  test('what Node says of paths without dots and odd names, this says too', () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const word = fc.constantFrom('a', 'b', 'ab', 'ba')
    const piece = fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]', '{a,b}', '{ab,b*}')
    const name = fc.oneof(
      fc.constant('**'),
      fc.array(piece, { minLength: 1, maxLength: 3 }).map((all) => all.join('').replaceAll('**', '*')),
    )
    const pattern = fc.array(name, { minLength: 1, maxLength: 4 }).map((all) => all.join('/'))
    const path = fc.array(word, { minLength: 1, maxLength: 4 }).map((all) => all.join('/'))
    fc.assert(
      fc.property(pattern, path, (one, other) => {
        expect(globPattern(one)(other)).toBe(matchesGlob(other, one))
      }),
      { numRuns: 500 },
    )
    vi.restoreAllMocks()
  })

  test('any pattern is one, and a path without special characters fits itself', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (pattern, path) => {
        expect(typeof globPattern(pattern)(path)).toBe('boolean')
        if (!/[*?[\]{},\\]/.test(path)) expect(globPattern(path)(path)).toBe(true)
      }),
    )
  })

  test('a pattern of many stars and braces takes no more steps than the path has characters for it', () => {
    expect(globPattern(`${'*a'.repeat(100)}b`)('a'.repeat(2000))).toBe(false)
    expect(globPattern(`${'**/'.repeat(50)}b`)('a/'.repeat(1000))).toBe(false)
    expect(globPattern('{'.repeat(1000))('a')).toBe(false)
    expect(globPattern('{a,b}'.repeat(200))('ab'.repeat(100))).toBe(true)
  })

  test.for([
    ['src/**/*.ts', 'src', '**/*.ts'],
    ['*.ts', '', '*.ts'],
    ['a/b/c.ts', 'a/b', 'c.ts'],
    ['/a/*.ts', '/a', '*.ts'],
    ['/*.ts', '/', '*.ts'],
    ['../x/{a,b}/c', '../x', '{a,b}/c'],
    ['a', '', 'a'],
  ] as const)('%s begins in a directory', ([pattern, directory, rest]) => {
    expect(splitGlob(pattern)).toEqual({ directory, rest })
  })
})

describe('patterns of lines', () => {
  test.for([
    ['a.c', ['abc', 'a\u2028c', 'a😀c', 'a\rc'], ['ac']],
    [String.raw`\bfür\b`, ['ganz für sich'], ['dafür', 'fürs']],
    [String.raw`^\w+$`, ['Größe', '変数', 'a_1'], ['a-b', '']],
    [String.raw`\W`, ['a-b'], ['äß']],
    [String.raw`\d`, ['1', '٣'], ['x']],
    [String.raw`[\d\w]x`, ['1x', 'äx'], ['-x']],
    [String.raw`\<a\>`, ['x a y'], ['xay', 'xa y']],
    [String.raw`\"a\-b\'`, [`"a-b'`], ['ab']],
    ['interface{}', ['interface{}'], ['interface']],
    ['func(', [], []],
    [String.raw`func\(`, ['func('], ['func']],
    ['a{2}b', ['aab'], ['ab']],
    ['{ a }', ['{ a }'], ['a']],
    ['x]', ['x]'], ['x']],
    ['[]a]', [']', 'a'], ['b']],
    ['[^]a]', ['b'], [']']],
    ['[[:alpha:]_]+1', ['ab_1'], ['-1']],
    ['[a-z&&x[]', ['[', '&'], ['A']],
    ['(?P<x>a)', ['a'], ['b']],
    ['(?<x>a)', ['a'], ['b']],
    ['(?<=a)b', ['ab'], ['cb']],
    ['(?i)TODO', ['todo'], ['tod']],
    [String.raw`\Aa\z`, ['a'], ['ab']],
    [String.raw`\p{Lu}`, ['Ä'], ['ä']],
    [String.raw`\tx`, ['\tx'], ['tx']],
    [String.raw`[\-\.]`, ['-', '.'], ['a']],
  ] as const)('%s', ([pattern, takes, leaves]) => {
    const expression = linePattern(pattern, { ignoreCase: false })
    if (typeof expression === 'string') return expect([takes, leaves]).toEqual([[], []])
    for (const line of takes) expect(expression.test(line), line).toBe(true)
    for (const line of leaves) expect(expression.test(line), line).toBe(false)
  })

  test('without regard to case, in all languages', () => {
    expect(linePattern('größe', { ignoreCase: true })).toSatisfy(
      (expression: RegExp) => expression.test('GRÖßE') && !expression.test('grosse'),
    )
  })

  test('any text is a pattern or a reason in one line; a quoted one fits itself', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const expression = linePattern(text, { ignoreCase: false })
        if (typeof expression === 'string') expect(expression).not.toBe('')
        const quoted = linePattern(text.replaceAll(/[\\^$.*+?()[\]{}|-]/g, String.raw`\$&`), {
          ignoreCase: false,
        })
        expect(quoted instanceof RegExp && quoted.test(text)).toBe(true)
      }),
    )
  })
})

describe('what is told of hits', () => {
  const file = { lines: Array.from({ length: 20 }, (_, index) => `line ${index + 1}`), hits: [2, 4, 15] }
  const output = { mode: 'content', before: 0, after: 0, hasNumbers: true } as const

  test('lines with their numbers, or without; paths; counts', () => {
    expect(grepLines('a', file, output)).toEqual(['a:3:line 3', 'a:5:line 5', 'a:16:line 16'])
    expect(grepLines('a', file, { ...output, hasNumbers: false })[0]).toBe('a:line 3')
    expect(grepLines('a', file, { ...output, mode: 'count' })).toEqual(['a:3'])
    expect(grepLines('a', file, { ...output, mode: 'files_with_matches' })).toEqual(['a'])
    expect(grepLines('a', { ...file, hits: [] }, output)).toEqual([])
  })

  test('lines around them, each once', () => {
    expect(grepLines('a', file, { ...output, before: 1, after: 1 })).toEqual([
      'a-2-line 2',
      'a:3:line 3',
      'a-4-line 4',
      'a:5:line 5',
      'a-6-line 6',
      '--',
      'a-15-line 15',
      'a:16:line 16',
      'a-17-line 17',
    ])
  })

  test('every hit is told once, in order, whatever is around it', () => {
    const places = fc.uniqueArray(fc.nat(19)).map((all) => all.toSorted((a, b) => a - b))
    fc.assert(
      fc.property(places, fc.nat(5), fc.nat(5), (hits, before, after) => {
        const said = grepLines('a', { ...file, hits }, { ...output, before, after })
        expect(said.filter((line) => line.startsWith('a:'))).toEqual(
          hits.map((at) => `a:${at + 1}:line ${at + 1}`),
        )
        const numbers = said.flatMap((line) => /^a[-:](\d+)/.exec(line)?.[1] ?? []).map(Number)
        expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
      }),
    )
  })

  test('a long line is cut', () => {
    const [line = ''] = grepLines('a', { lines: ['x'.repeat(10_000)], hits: [0] }, output)
    expect(line.length).toBeLessThan(600)
    expect(line).toContain('[10000 characters]')
  })
})
