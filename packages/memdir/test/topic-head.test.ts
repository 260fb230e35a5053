import { mkdir, truncate, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { isAlias, isMap, isScalar, parseDocument } from 'yaml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { scanFolder, scanHeads } from '../src/folder.ts'
import { toMemory } from '../src/memory.ts'
import { plainFields } from '../src/plain-front-matter.ts'
import { LONG, times } from './thorough.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'm/': '' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

describe('the head of a topic file', () => {
  const line = fc.constantFrom(
    'name: A name',
    'name: "A \\"quoted\\" one"',
    'description: what it says',
    'description: |\n  a\n  b',
    'type: user',
    'metadata:\n  type: feedback',
    '# a comment',
    `x: ${'y'.repeat(4050)}`,
    `x: ${'y'.repeat(4079)}`,
    'broken: [',
    '--- not a fence',
    '',
  )
  const fence = fc.constantFrom('---', '--- ', '---\t', '----', '')
  const topic = fc
    .record({
      mark: fc.constantFrom('', '\uFEFF'),
      end: fc.constantFrom('\n', '\r\n'),
      open: fence,
      lines: fc.array(line, { maxLength: 5 }),
      close: fence,
      body: fc.constantFrom('', 'Body.', '---\nname: other\n---', 'é'.repeat(3000)),
      last: fc.boolean(),
    })
    .map(({ mark, end, open, lines, close, body, last }) =>
      (mark + [open, ...lines, close, body].join('\n') + (last ? '\n' : '')).replaceAll('\n', end),
    )

  test('says what the whole file says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(topic, { minLength: 1, maxLength: 8 }), async (texts) => {
        for (const [n, text] of texts.entries()) await writeFile(work.path(`m/t${n}.md`), text)
        const { heads } = await scanHeads(work.path('m'))
        const { topics } = await scanFolder(work.path('m'))
        const whole = topics.map((stored) => {
          const { file, name, description, type } = toMemory(stored).memory
          return { file, name, description, type }
        })
        expect(heads).toEqual(whole)
      }),
      { numRuns: times(100, 1000) },
    )
  })

  test('is read at once: each file opened once, one read of 4 KB, whatever follows; and nothing else is', async () => {
    const count = LONG ? 5000 : 300
    for (let n = 0; n < count; n += 1) {
      const path = work.path(`m/t${n}.md`)
      await writeFile(path, `---\nname: n${n}\ndescription: d\ntype: user\n---\n\nbody\n`)
      // Holes: nobody could hold them all in memory.
      if (n % 2 === 0) await truncate(path, 2 ** 30)
    }
    const seen = new Map<string, number>()
    setFaultHook((operation) => void seen.set(operation, (seen.get(operation) ?? 0) + 1))
    const { heads, damage } = await scanHeads(work.path('m'))
    setFaultHook(undefined)
    expect(damage).toEqual([])
    expect(heads).toHaveLength(count)
    expect(heads[0]).toEqual({ file: 't0.md', name: 'n0', description: 'd', type: 'user' })
    expect(Object.fromEntries(seen)).toEqual({
      readdir: 1,
      open: count,
      fstat: count,
      read: count,
      close: count,
    })
  })

  test('repair and the first index of a folder need no more of topics that nobody could read whole', async () => {
    const path = work.path('m/huge.md')
    await writeFile(path, '---\nname: Huge\ndescription: d\ntype: user\n---\n')
    await truncate(path, 2 ** 33)
    const memdir = await openMemdir({ dir: work.path('m') })
    await memdir.save({ name: 'N', description: 'e', type: 'user', body: 'B' })
    expect((await memdir.index()).raw).toBe('- [Huge](huge.md) — d\n- [N](user_n.md) — e\n')
    await writeFile(work.path('m/MEMORY.md'), '')
    expect((await memdir.repair()).changes).toHaveLength(2)
    expect((await memdir.index()).raw).toBe('- [Huge](huge.md) — d\n- [N](user_n.md) — e\n')
  })

  test('one that cannot be read hides no other; what is gone by then is not there; no link is followed', async () => {
    for (const name of ['a', 'b', 'c']) await writeFile(work.path(`m/${name}.md`), '')
    await mkdir(work.path('m/d.md'))
    setFaultHook((operation, path) => {
      if (operation !== 'open') return undefined
      const code = path.endsWith('a.md') ? 'EACCES' : path.endsWith('b.md') ? 'ENOENT' : undefined
      return code === undefined ? undefined : Object.assign(new Error(code), { code })
    })
    const { heads, damage } = await scanHeads(work.path('m'))
    expect(heads.map(({ file }) => file)).toEqual(['c.md'])
    expect(damage).toMatchObject([{ kind: 'unreadable', path: work.path('m/a.md') }])
  })
})

describe('a plain front matter', () => {
  function slowly(yaml: string): Map<string, string> | undefined {
    const document = parseDocument(yaml, { schema: 'failsafe', logLevel: 'silent' })
    if (document.errors.length > 0 || !isMap(document.contents)) return undefined
    const found = new Map<string, string>()
    for (const path of [
      'name',
      'description',
      'type',
      'metadata.type',
      'metadata.originSessionId',
      'other',
    ]) {
      const node = document.getIn(path.split('.'), true)
      const value = isAlias(node) ? node.resolve(document) : node
      if (isScalar(value) && typeof value.value === 'string') found.set(path, value.value)
    }
    return found
  }
  const key = fc.constantFrom(
    'name',
    'description',
    'type',
    'metadata',
    'other',
    'tags',
    '  type',
    '  originSessionId',
    ' x',
    '__proto__',
  )
  const value = fc.oneof(
    fc.constantFrom(
      'a',
      'a b  c',
      '1.0',
      'yes',
      'null',
      '~',
      '2031-01-01',
      '"a"',
      '"a\\nb"',
      '"\\u0041"',
      '"a" b',
      "'a'",
    ),
    fc.constantFrom(
      '[a, b]',
      '[]',
      '[a, ]',
      '[a: b]',
      '{a: b}',
      '- a',
      'a: b',
      'a #b',
      'a # b',
      '#a',
      '&a b',
      '*a',
      '!!str a',
    ),
    fc.constantFrom(
      '|',
      '>',
      '',
      ' a',
      'a ',
      '\ta',
      'é 記',
      '"é 👩‍👩‍👧‍👦"',
      '"\u0085"',
      '"\u2028"',
      '@a',
      '`a`',
      '%a',
      '? a',
      'a\\',
      '---',
      '...',
      '"a\\',
    ),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => JSON.stringify(text)),
  )
  const yaml = fc
    .array(fc.tuple(key, fc.constantFrom(': ', ':', ':  ', ' : '), value), { minLength: 1, maxLength: 6 })
    .map((lines) => `${lines.map((parts) => parts.join('')).join('\n')}\n`)

  test('is read as YAML reads it, or not at all', () => {
    let plain = 0
    fc.assert(
      fc.property(yaml, (text) => {
        const fields = plainFields(text)
        if (fields === undefined) return
        plain += 1
        const known = slowly(text)
        expect(known).toBeDefined()
        for (const path of [
          'name',
          'description',
          'type',
          'metadata.type',
          'metadata.originSessionId',
          'other',
        ])
          expect([path, fields.get(path)]).toEqual([path, known?.get(path)])
      }),
      { numRuns: times(3000, 50_000) },
    )
    expect(plain).toBeGreaterThan(20)
  })

  test.each([
    [
      'as we write it',
      'name: A\ndescription: "b: c"\ntype: user\nmetadata:\n  type: user\n  originSessionId: s-1\n',
      5,
    ],
    ['with a list of another tool', 'name: A\ntags: [a, b-c]\ntype: user\n', 2],
  ])('%s is such a one', (_, text, count) => {
    expect(plainFields(text)?.size).toBe(count)
  })

  test.each([
    'a: b\na: c\n',
    'name:\n',
    'metadata:\n',
    'metadata: x\n  type: y\n',
    'name: [a]\n',
    '# c\nname: a\n',
    'name: a\n\n',
    '',
  ])('%j is not', (text) => {
    expect(plainFields(text)).toBeUndefined()
  })
})
