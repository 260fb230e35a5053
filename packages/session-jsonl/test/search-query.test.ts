import { files } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import { readTranscript, searchSessions } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { itemsOfLines } from '../src/search-lines.ts'
import { fold, lineFilter, wordsOf } from '../src/search-query.ts'
import { findWords, snippetOf } from '../src/search-text.ts'
import { SID, assistant, jsonl, often, result, text, user } from './lines.ts'

test.each([
  ['one  two', ['one', 'two']],
  ['one "two  three" four', ['one', 'two three', 'four']],
  ['a"b c"d', ['a', 'b c', 'd']],
  ['"open end', ['open', 'end']],
  ['Same same SAME', ['same']],
  ['" lead" ""', ['lead']],
  ['" "', []],
])('the words of %j are %j', (query, words) => {
  expect(wordsOf(query)).toEqual(words)
})

/** Characters that fold, compose, are escaped, or are cut. */
const SIGNS =
  'aAbBnNtTuU0123456789efEF\n\r\t\b\f \u00A0\u3000"\\/\u001b\u0000\u007F\u0301\u0307\u0308\u0323\u0345\u0338iIİıßẞſKÅςΣσéÉﬁ①Ａ¨한ㅎ\u1112\u1161\u11AB修🚀𝐚\u2028\u200D=<>'
const sign = fc.constantFrom(...Array.from(SIGNS), '\uD83D', '\uDE80', 'e\u0301', '\\u0041', '\n\u0301')
const said = fc.array(sign, { maxLength: 30 }).map((signs) => signs.join(''))

/** A text as JSON that another program may have written: `escapes` says which characters may be spelled otherwise. */
function spelled(value: string, escapes: (sign: string, nth: number) => boolean): string {
  const units = Array.from(value, (one, nth) => {
    const plain = JSON.stringify(one).slice(1, -1)
    if (one.length > 1 || !escapes(one, nth)) return plain
    return one === '/' ? String.raw`\/` : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return `"${units.join('')}"`
}

/** A text, and a piece of it as somebody may type it. */
const typed = fc
  .tuple(said, fc.nat(30), fc.integer({ min: 1, max: 8 }), fc.nat(3))
  .map(([of, from, length, how]) => {
    const piece = of.slice(from, from + length)
    const query = [piece, piece.toUpperCase(), piece.normalize('NFD'), `"${piece}"`][how] ?? piece
    return { of, query }
  })

test('the filter loses no line that a full parse finds, however it is spelled', () => {
  const random = fc.array(fc.boolean(), { minLength: 1, maxLength: 5 })
  let hits = 0
  fc.assert(
    fc.property(typed, random, ({ of, query }, some) => {
      const words = wordsOf(query)
      if (words.length === 0 || !words.every((word) => fold(of).includes(word))) return
      hits += 1
      const mayHold = lineFilter(words)
      for (const json of [
        JSON.stringify(of),
        spelled(of, (one) => one < ' ' || one === '/'),
        spelled(of, (_, nth) => some[nth % some.length] ?? false),
      ]) {
        expect(JSON.parse(json)).toBe(of)
        expect(mayHold(Buffer.from(`{"type":"user","message":{"content":${json}},"uuid":"x"}\n`))).toBe(true)
      }
    }),
    { numRuns: often(50_000, 5_000) },
  )
  expect(hits).toBeGreaterThan(500)
})

test.each([
  ['a letter that is escaped', String.raw`{"text":"caf\u00e9"}`, 'café'],
  ['a mark behind an escape', String.raw`{"text":"\n` + '\u0301fox"}', '\u0301fox'],
  ['a control character', String.raw`{"text":"\u001b[1mfox\u001b"}`, 'fox'],
  ['another case', '{"text":"FOX"}', 'fox'],
])('the filter passes %s', (_, raw, query) => {
  expect(lineFilter(wordsOf(query))(Buffer.from(raw))).toBe(true)
})

test.each([
  ['plain', '{"text":"hound"}', 'fox'],
  ['beside escapes', String.raw`{"text":"a\nb \"c\" \u001b[0m é"}`, 'fox'],
  ['one of two', '{"text":"hound"}', 'hound fox'],
])('the filter stops a line without the word: %s', (_, raw, query) => {
  expect(lineFilter(wordsOf(query))(Buffer.from(raw))).toBe(false)
})

test('a search gives what parsing every line gives', async () => {
  const piece = fc.tuple(said, fc.constantFrom('user', 'assistant', 'tool'))
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 8 }),
      typed,
      async (pieces, { of, query }) => {
        const lines = [...pieces, [of, 'user'] as const].map(([each, role], nth) => {
          if (role === 'assistant') return assistant(`u${nth}`, null, [text(each)])
          return user(`u${nth}`, null, role === 'tool' ? [result('t', each)] : each)
        })
        const words = wordsOf(query)
        fc.pre(words.length > 0)
        const made = await tree({ [`p/${SID}.jsonl`]: jsonl(...lines) })
        try {
          const naive: unknown[] = []
          for await (const { record } of readTranscript(made.path(`p/${SID}.jsonl`))) {
            const hit = record && findWords(record, words)
            if (hit) naive.unshift({ uuid: record['uuid'], ...hit })
          }
          const given: unknown[] = []
          for await (const { uuid, role, snippet } of searchSessions({ projectsDir: made.root, query }))
            given.push({ uuid, role, snippet })
          expect(given).toEqual(naive)
        } finally {
          await made.remove()
        }
      },
    ),
    { numRuns: often(1_000, 100) },
  )
})

test('of a line of any length 4 MiB at most are held to ask about it', async () => {
  const long = jsonl(user('long', null, 'x'.repeat(5 * 1024 * 1024)))
  const made = await tree({ long: `${jsonl(user('a', null, '-'))}${long}${jsonl(user('b', null, '-'))}` })
  const file = await files.open(made.path('long'), 'r')
  const asked: number[] = []
  const read: unknown[] = []
  const mayMatter = (line: Uint8Array): boolean => asked.push(line.length) > 0
  for await (const { record, offset } of itemsOfLines(file, made.path('long'), mayMatter))
    read.push([record?.['uuid'], offset])
  await file.close()
  await made.remove()
  const [a = 0] = asked
  expect(asked).toEqual([a, a])
  expect(read).toEqual([
    ['a', 0],
    ['long', a],
    ['b', a + long.length],
  ])
})

const LONE = /[\uD800-\uDFFF]/u

test('a snippet is one line of at most 200 units, whole characters, and holds the first word', () => {
  const long = fc
    .array(fc.oneof(sign, fc.constant('lorem ipsum ')), { maxLength: 400 })
    .map((all) => all.join(''))
  fc.assert(
    fc.property(
      long,
      long,
      fc.constantFrom('Fox', 'Ｆｏｘ', 'f\uD835\uDC28x', 'é𝐚é'),
      (before, after, word) => {
        const words = wordsOf(word)
        const snippet = snippetOf(`${before} ${word} ${after}`, words)
        expect(snippet.length).toBeLessThanOrEqual(200)
        expect(snippet).not.toMatch(/[\n\r\t]/)
        expect(LONE.test(snippet)).toBe(false)
        expect(fold(snippet)).toContain(words[0])
      },
    ),
    { numRuns: often(20_000, 500) },
  )
})

test.each([
  ['short', 'a  fox\n here ', 'fox', 'a fox here'],
  ['cut behind', `fox ${'x'.repeat(300)}`, 'fox', `fox ${'x'.repeat(195)}…`],
  ['cut before', `${'x'.repeat(300)} fox`, 'fox', `…${'x'.repeat(195)} fox`],
  [
    'cut on both sides',
    `${'x'.repeat(300)}fox${'y'.repeat(300)}`,
    'fox',
    `…${'x'.repeat(60)}fox${'y'.repeat(135)}…`,
  ],
  ['the first of several', `${'x'.repeat(90)} two ${'x'.repeat(300)} one`, 'one two', /two/],
  [
    'emoji are not cut before',
    `${'🚀'.repeat(100)}xfox${'y'.repeat(300)}`,
    'fox',
    `…${'🚀'.repeat(29)}xfox${'y'.repeat(136)}…`,
  ],
  ['where folding made the text longer', `${'ﬃ'.repeat(200)} fox ${'x'.repeat(400)}`, 'fox', /fox/],
  ['emoji are not cut', '🚀'.repeat(200), '🚀', `${'🚀'.repeat(99)}…`],
])('a snippet: %s', (_, said_, query, expected) => {
  const snippet = snippetOf(said_, wordsOf(query))
  if (expected instanceof RegExp) expect(snippet).toMatch(expected)
  else expect(snippet).toBe(expected)
})
