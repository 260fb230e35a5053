import { open, truncate, writeFile } from 'node:fs/promises'
import { loadMemoryPrompt, memoryDirs, truncateEntrypointContent } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { EntrypointScan } from '../src/entrypoint-scan.ts'
import { decode } from '../src/index-file.ts'
import { readEntrypoint } from '../src/read-entrypoint.ts'
import type { EntrypointTruncation } from '../src/truncate.ts'
import { LONG, times } from './thorough.ts'

/** As of a file of these bytes that is read in windows of `size`. */
function scanned(bytes: Buffer, size: number): EntrypointTruncation {
  const scan = new EntrypointScan()
  for (let at = 0; at < bytes.length; at += size) scan.push(bytes.subarray(at, at + size))
  return scan.end()
}

describe('reading by windows says what reading the whole text says', () => {
  // Parted by `|`.
  const FENCES = '---|--- |----|---x|--- -->|--- <!-- a -->|\uFEFF---'
  const COMMENTS =
    '<!--|-->|<!-->|<!--->|<!-- a -->| <!-- a --> |<!-- a --> <!-- b|--> <!-- c|<!--><!-->|a <!-- b -->|--> a|<!-- a --> b'
  const BLANKS = '|\uFEFF|\r|\r\r| |\t\v\f|\u00A0|\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000|\u200B|\0'
  const TEXTS = `-|--|>|<!-|- [a](a.md) — b|${'記'.repeat(50)}|👩‍👩‍👧‍👦|${'x'.repeat(300)}`
  const PIECES = [FENCES, COMMENTS, BLANKS, TEXTS].flatMap((list) =>
    list.split('|').map((text) => Buffer.from(text)),
  )
  const BROKEN = [
    [0xff],
    [0xc3],
    [0xe2, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xe0, 0x80],
    [0xed, 0xa0, 0x80],
    [0x80],
    [0xef, 0xbb],
  ]
  const piece = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...PIECES) },
    { weight: 1, arbitrary: fc.constantFrom(...BROKEN.map((bytes) => Buffer.from(bytes))) },
    { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => Buffer.from(text)) },
  )
  const separator = fc.constantFrom('\n', '\n', '\n', '\r\n', '')
  const bytes = fc
    .array(fc.tuple(piece, separator), { maxLength: 30 })
    .map((parts) => Buffer.concat(parts.flatMap(([text, end]) => [text, Buffer.from(end)])))

  test('of any small file, in windows of any size', () => {
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 40 }), (file, size) => {
        expect(scanned(file, size)).toEqual(truncateEntrypointContent(decode(file)))
      }),
      { numRuns: times(1500, 20_000) },
    )
  })

  test('of files over the limits', () => {
    const long = fc.constantFrom(
      ...[
        'x'.repeat(9000),
        '記'.repeat(5000),
        ' '.repeat(5000),
        `${' '.repeat(5000)}y`,
        '👩‍👩‍👧‍👦'.repeat(1100),
        `<!-- ${'z'.repeat(30_000)}`,
      ].map((text) => Buffer.from(text)),
    )
    const file = fc
      .array(
        fc.tuple(fc.oneof({ weight: 1, arbitrary: long }, { weight: 30, arbitrary: piece }), separator),
        {
          minLength: 1,
          maxLength: 300,
          size: 'max',
        },
      )
      .map((parts) => Buffer.concat(parts.flatMap(([text, end]) => [text, Buffer.from(end)])))
    fc.assert(
      fc.property(file, fc.constantFrom(1000, 4096, 65_536), (content, size) => {
        expect(scanned(content, size)).toEqual(truncateEntrypointContent(decode(content)))
      }),
      { numRuns: times(60, 600) },
    )
  })

  test.each([
    ['front matter that never closes', `---\na\n<!-- b -->\n${'- x\n'.repeat(300)}`],
    ['front matter that closes after the limits', `---\n${'- x\n'.repeat(9000)}---\n- y`],
    ['a comment that closes after the limits', `- a\n<!--\n${'- x\n'.repeat(9000)}-->\n- y`],
    ['a comment that closes before text after the limits', `- a\n<!--\n${'- x\n'.repeat(9000)}--> z\n- y`],
    ['a comment that never closes', `- a\n<!--\n${'- x\n'.repeat(9000)}\n\n`],
    ['blank lines at the end', `- a${'\n'.repeat(30_000)}`],
    ['a first line over the limit', `${'é'.repeat(20_000)}\n- b`],
    ['one grapheme over the limit', `e${'\u0301'.repeat(30_000)}\n- b`],
  ])('%s', (_, text) => {
    for (const size of [7, 1000, 65_536])
      expect(scanned(Buffer.from(text), size)).toEqual(truncateEntrypointContent(text))
  })
})

describe('reading a file', () => {
  let work: Tree
  beforeEach(async () => {
    work = await tree({ 'p/memory/': '' })
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await work.remove()
  })
  const file = (): string => work.path('p/memory/MEMORY.md')

  test('decodes what is passed on and one line for the warning, however large it is', async () => {
    const line = '- [a memory](project_a_memory.md) — é what it says\n'
    await writeFile(file(), `<!-- hint -->\n${line.repeat(40_000)}`)
    const decoding = vi.spyOn(TextDecoder.prototype, 'decode')
    const toString = vi.spyOn(Buffer.prototype, 'toString')
    const found = await loadMemoryPrompt({
      dirs: memoryDirs({ home: work.path('home'), projectDir: work.path('p') }),
      enabled: true,
    })
    const decoded = decoding.mock.calls.reduce((sum, [input]) => sum + (input?.byteLength ?? 0), 0)
    expect(toString).not.toHaveBeenCalled()
    expect(found?.loaded).toMatchObject([{ lines: 200, truncated: true }])
    expect(found?.context).toContain('40000 lines')
    expect(decoded).toBeGreaterThan(10_000)
    expect(decoded).toBeLessThanOrEqual(25_000 + 200)
  })

  const FILLED = {
    'a line of NULs without an end': (size: number) => truncate(file(), size),
    'short lines, then one such': async (size: number) => {
      const handle = await open(file(), 'w')
      const block = Buffer.from('- [m](m.md) — hook and more words, as they are\n'.repeat(20_000))
      for (let at = 0; at < size / 8; at += block.length) await handle.write(block)
      await handle.truncate(size)
      await handle.close()
    },
  }

  test.each(Object.keys(FILLED) as (keyof typeof FILLED)[])(
    '%s: a large file takes little memory',
    async (kind) => {
      await writeFile(file(), '')
      await FILLED[kind](LONG ? 2 ** 30 : 2 ** 26)
      const before = process.memoryUsage()
      const found = await readEntrypoint(file())
      const after = process.memoryUsage()
      expect(found).toMatchObject({ [kind.startsWith('short') ? 'lineTruncated' : 'byteTruncated']: true })
      expect(found?.byteCount).toBeGreaterThan(2 ** 26 - 1000)
      // The file itself would be 64 MB, or a gigabyte.
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(2 ** 24)
    },
  )
})
