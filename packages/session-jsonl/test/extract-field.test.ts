import { extractJsonStringField, extractLastJsonStringField } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { often } from './lines.ts'

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

describe('the first and the last field of a text', () => {
  const table: [name: string, text: string, first: string | undefined, last?: string | undefined][] = [
    ['of two lines', line({ k: 'a' }) + line({ k: 'b' }), 'a', 'b'],
    ['nowhere', line({ x: 'a' }), undefined],
    ['never from inside a string', line({ x: '"k":"no"' }) + line({ x: '\n{"k":"no"}\n' }), undefined],
    ['never from a nested object', line({ x: { k: 'no' }, y: [{ k: 'no' }], k: 'yes' }), 'yes'],
    ['never a value for a key', line({ x: 'k', y: 'z' }), undefined],
    [
      'only a string value',
      line({ k: 1 }) + line({ k: null }) + line({ k: { k: 'no' } }) + line({ k: 'yes' }),
      'yes',
    ],
    ['with blanks around it', ' { "a" : [ 1 , {} ] ,\t"k" : "yes" } \r\n', 'yes'],
    ['with escapes', line({ k: 'a"\\\n\u2028é😀' }), 'a"\\\n\u2028é😀'],
    ['a lone half of a pair becomes U+FFFD', String.raw`{"k":"a\ud83d"}`, 'a\uFFFD'],
    ['an empty string is a value', line({ k: 'a' }) + line({ k: '' }), 'a', ''],
    ['after a key with an escaped quote', line({ 'x"k': 'no', k: 'yes' }), 'yes'],
    ['on a line without newline', line({ k: 'a' }) + JSON.stringify({ k: 'b' }), 'a', 'b'],
    ['after a byte order mark', `\uFEFF${line({ k: 'a' })}`, 'a'],
    ['after zeros', `\0\0${line({ k: 'a' })}`, 'a'],
    ['of two records on one line', `${JSON.stringify({ k: 'a' })}${line({ k: 'b' })}`, 'a', 'b'],
    [
      'after the stub of another record',
      `${line({ x: 1 })}{"x":"to${line({ type: 't', sessionId: 's', k: 'a' })}`,
      'a',
    ],
    ['not from a torn line in the middle', `${line({ k: 'a' })}{"k":"b","x\n${line({ x: 1 })}`, 'a', 'a'],
    [
      'not from a line in the middle whose beginning is lost',
      `${line({ k: 'a' })}lost":1,"k":"no"}\n${line({ x: 1 })}`,
      'a',
    ],
    [
      'not from a value inside a torn line',
      `{"x":1,"m":{"k":"no"}\n${line({ k: 'a' })}{"x":1,"m":{"k":"no"}\n${line({ x: 1 })}`,
      'a',
    ],
    ['of a line cut at its end, if complete', `${line({ k: 'a' })}{"k":"b","x":{"y":[1,`, 'a', 'b'],
    ['not a value that is cut', `${line({ k: 'a' })}{"k":"b`, 'a', 'a'],
    [
      'of a line cut at its beginning, told from its end',
      `d text {\\"k\\":\\"no\\"}","y":[{"k":"no"}],"k":"yes","z":"\\"}"}\n`,
      'yes',
    ],
    ['not of a nested object that a cut lays bare', `{"k":"no"}],"z":1}\n${line({ k: 'yes' })}`, 'yes'],
    ['of a line that a cut begins with the end of a string', `{","k":"no"}\n`, 'no'],
    ['not of a key whose escape is cut off', `"k":"no","z":1}\n`, undefined],
    ['not of text that is cut on both sides', `some "k":"no" text`, undefined],
  ]
  test.each(table)('%s', (_name, text, first, last = first) => {
    expect(extractJsonStringField(text, 'k')).toBe(first)
    expect(extractLastJsonStringField(text, 'k')).toBe(last)
  })
})

const json = fc.dictionary(
  fc.constantFrom('k', 'a', 'x"k', 'ü'),
  fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 2 })),
  {
    maxKeys: 5,
  },
)

test('is what parsing says, on any lines', () => {
  fc.assert(
    fc.property(fc.array(json, { maxLength: 5 }), (records) => {
      const text = records.map((record) => line(record)).join('')
      // As they read: stringifying escapes a lone half, which then comes back as U+FFFD.
      const values = records.map((record) => record['k']).filter((value) => typeof value === 'string')
      const whole = values.map((value) => value.replace(/[\uD800-\uDFFF]/gu, '\uFFFD'))
      expect(extractJsonStringField(text, 'k')).toBe(whole[0])
      expect(extractLastJsonStringField(text, 'k')).toBe(whole.at(-1))
    }),
  )
})

test('a text cut anywhere gives a value that the whole has, or none', () => {
  fc.assert(
    fc.property(fc.array(json, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(), (records, from, to) => {
      const text = records.map((record) => line(record)).join('')
      const begin = from % (text.length + 1)
      const cut = text.slice(begin, begin + (to % (text.length - begin + 1)))
      const values = records
        .map((record) => record['k'])
        .filter((value) => typeof value === 'string')
        .map((value) => value.replace(/[\uD800-\uDFFF]/gu, '\uFFFD'))
      for (const found of [extractJsonStringField(cut, 'k'), extractLastJsonStringField(cut, 'k')]) {
        if (found !== undefined) expect(values).toContain(found)
      }
    }),
    { numRuns: often(1_000, 300) },
  )
})
