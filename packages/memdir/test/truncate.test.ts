import { MAX_ENTRYPOINT_BYTES, MAX_ENTRYPOINT_LINES, truncateEntrypointContent } from '@loci/memdir'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { times } from './thorough.ts'

const lines = (count: number, line = (n: number): string => `- [m${n}](m${n}.md) — hook`): string =>
  Array.from({ length: count }, (_, index) => line(index + 1)).join('\n')

describe('the limits', () => {
  test.each([
    [0, 0, false],
    [1, 1, false],
    [199, 199, false],
    [200, 200, false],
    [201, 200, true],
    [260, 200, true],
  ])('of %i lines %i are kept', (count, kept, cut) => {
    const result = truncateEntrypointContent(lines(count))
    expect(result.content).toBe(lines(kept))
    expect(result).toMatchObject({ lineCount: count, lineTruncated: cut, byteTruncated: false })
    expect(result.warning !== undefined).toBe(cut)
  })

  test('25,000 bytes are kept whole, one more drops the last line', () => {
    const text = (bytes: number): string =>
      `${'a'.repeat(9_999)}\n${'b'.repeat(9_999)}\n${'c'.repeat(bytes - 20_000)}`
    expect(truncateEntrypointContent(text(25_000))).toEqual({
      content: text(25_000),
      lineCount: 3,
      byteCount: 25_000,
      lineTruncated: false,
      byteTruncated: false,
    })
    const cut = truncateEntrypointContent(text(25_001))
    expect(cut.content).toBe(`${'a'.repeat(9_999)}\n${'b'.repeat(9_999)}`)
    expect(cut).toMatchObject({ lineCount: 3, byteCount: 25_001, lineTruncated: false, byteTruncated: true })
  })

  test('bytes are UTF-8 bytes, not characters', () => {
    // 10,800 characters, 30 KB.
    const text = lines(108, () => '記'.repeat(99))
    const result = truncateEntrypointContent(text)
    expect(result.byteTruncated).toBe(true)
    expect(Buffer.byteLength(result.content)).toBeLessThanOrEqual(25_000)
    expect(result.content.split('\n')).toHaveLength(83)
  })

  test('bytes that the line limit has cut already do not count as cut by the byte limit', () => {
    const text = `${lines(200, () => 'x')}\n${'y'.repeat(30_000)}`
    expect(truncateEntrypointContent(text)).toMatchObject({ lineTruncated: true, byteTruncated: false })
  })

  test('a first line that alone is too long is cut between graphemes, and never to nothing', () => {
    const family = '👩‍👩‍👧‍👦'
    const result = truncateEntrypointContent(family.repeat(2_000))
    expect(result.content).toBe(family.repeat(1_000))
    expect(Buffer.byteLength(result.content)).toBe(25_000)
    const shifted = truncateEntrypointContent(`ab${family.repeat(2_000)}`)
    expect(shifted.content).toBe(`ab${family.repeat(999)}`)
    // One grapheme of 60 KB: an e with 30,000 accents.
    const monster = truncateEntrypointContent(`e${'\u0301'.repeat(30_000)}`)
    expect(monster.content).toBe(`e${'\u0301'.repeat(12_499)}`)
  })

  test('flags, which pair up from the left, are not parted either', () => {
    const { content } = truncateEntrypointContent(`a${'🇩🇪'.repeat(5_000)}`)
    expect(content).toBe(`a${'🇩🇪'.repeat(3_124)}`)
  })

  test('a line too long after a good one is dropped whole', () => {
    const result = truncateEntrypointContent(`- one\n${'x'.repeat(30_000)}\n- three`)
    expect(result.content).toBe('- one')
    expect(result.warning).toContain('line 2 to 3 (2 of 3 lines)')
  })
})

describe('what is cleaned off first', () => {
  test.each([
    ['a byte order mark', '\uFEFF- a', '- a'],
    ['carriage returns', '- a\r\n- b\r\n', '- a\n- b'],
    ['front matter', '---\nname: x\n---\n- a', '- a'],
    ['front matter with CRLF and a mark', '\uFEFF---\r\nname: x\r\n---\r\n\r\n- a\r\n', '- a'],
    ['a comment on a line of its own', '<!-- hint -->\n- a\n  <!-- more -->  \n- b', '- a\n- b'],
    ['a comment over several lines', '- a\n<!-- one\n\n- not this\n-->\n- b', '- a\n- b'],
    ['the shortest comment', '<!-->\n- a\n<!--->\n- b\n-->', '- a\n- b\n-->'],
    ['two comments on one line', '<!-- a --> <!-- b -->\n- a', '- a'],
    ['a comment that begins behind another', '<!-- a --> <!-- b\nc -->\n- a', '- a'],
    ['blank lines around the text', '\n \n\n- a\n\n- b\n\t\n\n', '- a\n\n- b'],
  ])('%s', (_, raw, content) => {
    const result = truncateEntrypointContent(raw)
    expect(result.content).toBe(content)
    expect(result.byteCount).toBe(Buffer.byteLength(content))
    expect(result.lineCount).toBe(content.split('\n').length)
  })

  test.each([
    ['a comment with text before it', '- a <!-- hint -->'],
    ['a comment with text behind it', '<!-- hint --> - a'],
    ['a comment that is never closed', '<!-- hint\n- a'],
    ['a comment closed in front of text', '<!-- hint\n--> - a'],
    ['front matter that is never closed', '---\nname: x\n- a'],
    ['a rule further down', '- a\n---\n- b\n---\n- c'],
    ['blanks before a line', '  - a\n- b  '],
  ])('but not %s', (_, raw) => {
    expect(truncateEntrypointContent(raw).content).toBe(raw)
  })

  test('nothing but such things is nothing', () => {
    for (const raw of ['', '\uFEFF', '\n\n', '<!-- x -->', '---\na: b\n---\n', '\r\n\r\n']) {
      expect(truncateEntrypointContent(raw)).toEqual({
        content: '',
        lineCount: 0,
        byteCount: 0,
        lineTruncated: false,
        byteTruncated: false,
      })
    }
  })

  test('many open comments are no reason to take long', () => {
    const raw = lines(100_000, () => '<!-- x')
    expect(truncateEntrypointContent(raw).lineCount).toBe(100_000)
    expect(truncateEntrypointContent(`${raw}\n--> y`).lineCount).toBe(100_001)
  })
})

describe('the warning', () => {
  test('is one line with the true size, the limit hit, what is missing, and what to do', () => {
    const { warning, byteCount } = truncateEntrypointContent(lines(250))
    expect(warning).toContain(`250 lines and ${byteCount} bytes`)
    expect(warning).toContain('limit of 200 lines.')
    expect(warning).toContain('line 201 to 250 (50 of 250 lines)')
    expect(warning).toContain('"- [m201](m201.md) — hook"')
    expect(warning).toMatch(/merge or remove entries/)
    expect(warning).not.toContain('\n')
  })

  test('names both limits where both were hit, and only the one that was', () => {
    expect(truncateEntrypointContent(lines(250, () => 'x'.repeat(200))).warning).toContain(
      'limit of 200 lines and of 25000 bytes',
    )
    const bytes = truncateEntrypointContent(lines(150, () => 'x'.repeat(200))).warning
    expect(bytes).toContain('limit of 25000 bytes')
    expect(bytes).not.toContain('200 lines')
    expect(bytes).toContain('line 125 to 150 (26 of 150 lines)')
  })

  test('shows no more than the beginning of a long lost line', () => {
    const { warning } = truncateEntrypointContent(`- a\n${'é'.repeat(30_000)}`)
    expect(warning).toContain(`${'é'.repeat(79)}…`)
    expect(warning?.length).toBeLessThan(600)
  })

  test('says where inside the first line the cut is, and what else is lost', () => {
    const { warning } = truncateEntrypointContent(`${'x'.repeat(26_000)}\n- b`)
    expect(warning).toContain('line 1 after its first 25000 bytes')
    expect(warning).toContain('line 2 to 2 (1 of 2 lines)')
    expect(truncateEntrypointContent('x'.repeat(26_000)).warning).not.toContain('line 2')
  })
})

describe('for any text', () => {
  const text = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'grapheme', maxLength: 300 }),
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.constantFrom(
          '',
          '---',
          '<!--',
          '-->',
          '\uFEFF',
          '- [a](a.md) — b',
          '\r',
          'x'.repeat(9_000),
          '記'.repeat(5_000),
        ),
      ),
      { maxLength: 260, size: 'max' },
    )
    .map((parts) => parts.join('\n'))

  test('the content is a beginning of the cleaned text, whole lines, within both limits', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const { content, lineCount, byteCount, lineTruncated, byteTruncated, warning } =
          truncateEntrypointContent(raw)
        const kept = content === '' ? [] : content.split('\n')
        expect(kept.length).toBeLessThanOrEqual(MAX_ENTRYPOINT_LINES)
        expect(Buffer.byteLength(content)).toBeLessThanOrEqual(MAX_ENTRYPOINT_BYTES)
        expect(lineTruncated).toBe(lineCount > MAX_ENTRYPOINT_LINES)
        expect(warning !== undefined).toBe(lineTruncated || byteTruncated)
        expect(content === '').toBe(lineCount === 0)
        if (!lineTruncated && !byteTruncated) {
          expect(Buffer.byteLength(content)).toBe(byteCount)
          expect(kept.length).toBe(lineCount)
        }
        // Each line kept stands in the raw text, in the same order; only a single first line may be cut.
        const all = raw
          .replace(/^\uFEFF/, '')
          .split('\n')
          .map((line) => line.replace(/\r$/, ''))
        let from = 0
        for (const line of kept) {
          const at = all.findIndex(
            (candidate, index) =>
              index >= from &&
              (kept.length === 1 && byteTruncated ? candidate.startsWith(line) : candidate === line),
          )
          expect(at).not.toBe(-1)
          from = at + 1
        }
      }),
      { numRuns: times(50, 300) },
    )
  })

  test('as many lines are kept as fit', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 400 }), {
          minLength: 1,
          maxLength: 250,
          size: 'max',
        }),
        (parts) => {
          const clean = parts.map((part) => `- ${part.replace(/[\r\n]/g, ' ')}.`)
          const { content } = truncateEntrypointContent(clean.join('\n'))
          let most = 0
          while (
            most < Math.min(clean.length, MAX_ENTRYPOINT_LINES) &&
            Buffer.byteLength(clean.slice(0, most + 1).join('\n')) <= MAX_ENTRYPOINT_BYTES
          ) {
            most += 1
          }
          expect(content).toBe(clean.slice(0, most).join('\n'))
        },
      ),
      { numRuns: times(20, 100) },
    )
  })

  test('cutting what was cut changes nothing more', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const { content } = truncateEntrypointContent(raw)
        fc.pre(!/^---|<!--|^\uFEFF|\r/m.test(content))
        expect(truncateEntrypointContent(content).content).toBe(content.replace(/(?:\n[^\S\n]*)+$/, ''))
      }),
      { numRuns: times(20, 100) },
    )
  })
})
