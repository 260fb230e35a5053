import { writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { times } from './thorough.ts'

let work: Tree
let memdir: Memdir
beforeEach(async () => {
  work = await tree()
  memdir = await openMemdir({ dir: work.root })
})
afterEach(() => work.remove())

const draft: MemoryDraft = {
  name: 'Tabs',
  description: 'prefers tabs',
  type: 'user',
  body: 'x',
  file: 'tabs.md',
}

async function lineFor(fields: Partial<MemoryDraft>): Promise<string> {
  await writeFile(work.path('MEMORY.md'), '')
  const file = fields.file ?? draft.file ?? ''
  const ifRevision = (await memdir.read(file))?.revision
  await memdir.save({ ...draft, ...fields }, { ifRevision })
  return (await work.read('MEMORY.md')).replace(/\n$/, '')
}

describe('an index line', () => {
  test('is the name as a link to the file, and the hook or the description', async () => {
    expect(await lineFor({})).toBe('- [Tabs](tabs.md) — prefers tabs')
    expect(await lineFor({ hook: 'tabs, never blanks' })).toBe('- [Tabs](tabs.md) — tabs, never blanks')
    expect(await lineFor({ description: '' })).toBe('- [Tabs](tabs.md)')
  })

  test('has blanks for brackets and line breaks', async () => {
    expect(await lineFor({ name: 'we]ird [x]', description: 'multi\nline [[other]]' })).toBe(
      '- [we ird x](tabs.md) — multi line other',
    )
  })

  test('has at most 150 UTF-16 units: the hook is cut first, then the name, the link never', async () => {
    const hook = await lineFor({ description: 'd'.repeat(500) })
    expect(hook).toBe(`- [Tabs](tabs.md) — ${'d'.repeat(129)}…`)
    expect(hook).toHaveLength(150)
    expect(await lineFor({ description: 'd'.repeat(130) })).toBe(`- [Tabs](tabs.md) — ${'d'.repeat(130)}`)
    const name = await lineFor({ name: 'n'.repeat(500) })
    expect(name).toBe(`- [${'n'.repeat(136)}…](tabs.md)`)
    expect(name).toHaveLength(150)
    const file = `${'f'.repeat(160)}.md`
    expect(await lineFor({ file, name: 'name' })).toBe(`- […](${file})`)
  })

  test('is never cut inside a character', async () => {
    expect(await lineFor({ description: '😀'.repeat(100) })).toBe(`- [Tabs](tabs.md) — ${'😀'.repeat(64)}…`)
    expect(await lineFor({ description: `a${'👩‍👩‍👧‍👦'.repeat(30)}` })).toBe(
      `- [Tabs](tabs.md) — a${'👩‍👩‍👧‍👦'.repeat(11)}…`,
    )
  })

  test.each([
    'notes (old).md',
    'a b.md',
    '100%.md',
    'a<b>.md',
    ')(.md',
    'a%20b.md',
    '日本 語.md',
    'sub dir/x y.md',
    'b[1].md',
    'note:x.md',
    'http:a.md',
    'C:.md',
    '#1.md',
    'sub/#1.md',
    ' x.md',
    '\u00a0x\u2028\ufeff.md',
    '~.md',
    '-.md',
    'x](y.md',
    'a&amp;.md',
  ])('for the file %j is read back as naming that file', async (file) => {
    await memdir.save({ ...draft, file })
    const { entries } = await memdir.index()
    expect(entries).toEqual([{ title: 'Tabs', file, hook: 'prefers tabs', line: 1 }])
    expect(await memdir.verify()).toEqual([])
    const again = await memdir.save(
      { ...draft, name: 'Again', file },
      { ifRevision: (await memdir.read(file))?.revision },
    )
    expect(again.visible).toBe(true)
    expect((await memdir.index()).entries).toHaveLength(1)
  })

  test('of any name, hook and file is read back, within its length', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: 'binary', maxLength: 200 }),
    )
    const name = fc.stringMatching(/^[a-z ()%<>[\]—é]{1,20}$/).map((stem) => `x${stem}.md`)
    await fc.assert(
      fc.asyncProperty(text, text, name, async (title, hook, file) => {
        const line = await lineFor({ name: `n${title}`, hook, file })
        expect(line).not.toContain('\n')
        expect(line.length).toBeLessThanOrEqual(150)
        expect(Buffer.from(line).toString()).toBe(line)
        const { entries } = await memdir.index()
        expect(entries).toMatchObject([{ file, line: 1 }])
      }),
      { numRuns: times(20, 300) },
    )
  })
})

test('for every file name that is accepted, the line is read back as that file, and a second save writes it anew', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '#',
      ':',
      'a:',
      'C:',
      '//',
      '/',
      '(',
      ')',
      '<',
      '>',
      '[',
      ']',
      '](',
      '%20',
      '&',
      ' ',
      '\u2028',
      '~',
    ),
    fc.string({ unit: 'grapheme', maxLength: 4 }),
    fc.string({ unit: 'binary', maxLength: 3 }),
  )
  const name = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => `${pieces.join('')}.md`)
  let accepted = 0
  await fc.assert(
    fc.asyncProperty(name, async (file) => {
      await writeFile(work.path('MEMORY.md'), '# Mine\n')
      const old = await memdir.read(file).catch(() => null)
      if (old === null) return
      accepted += 1
      const ifRevision = old?.revision
      const { memory } = await memdir.save({ ...draft, file }, { ifRevision })
      expect((await memdir.index()).entries).toMatchObject([{ file, line: 2 }])
      await memdir.save({ ...draft, file, name: 'Again' }, { ifRevision: memory.revision })
      expect((await memdir.index()).entries).toMatchObject([{ title: 'Again', file, line: 2 }])
    }),
    { numRuns: times(30, 500) },
  )
  expect(accepted).toBeGreaterThan(5)
})

describe('the entries of an index', () => {
  test('are its links to topic files, with the numbers of their lines', async () => {
    const raw = [
      '\uFEFF---',
      'title: - [no](no.md)',
      '---',
      '# My memories',
      '- [One](one.md) — first',
      '* [Two](./two.md) - second',
      '  + [Th]ree](<th ree.md>): third',
      '<!-- - [no](no.md) -->',
      '- [Four](sub/fo%20ur.md)',
      '- [Five](fi(v)e.md) plain words',
      '- [Web](https://example.org/x.md) — not ours',
      '- [Text](notes.txt)',
      '- [Up](../up.md)',
      '- [Root](/etc/x.md)',
      '- [Anchor](#x.md)',
      '- [Scheme](note:x.md)',
      'See [inline](inline.md).',
      '- not a link',
    ].join('\r\n')
    await writeFile(work.path('MEMORY.md'), raw)
    const index = await memdir.index()
    expect(index.raw).toBe(raw)
    expect(index.content.startsWith('# My memories\n- [One]')).toBe(true)
    expect(index.warning).toBeUndefined()
    expect(index.entries).toEqual([
      { title: 'One', file: 'one.md', hook: 'first', line: 5 },
      { title: 'Two', file: 'two.md', hook: 'second', line: 6 },
      { title: 'Th]ree', file: 'th ree.md', hook: 'third', line: 7 },
      { title: 'Four', file: 'sub/fo ur.md', hook: '', line: 9 },
      { title: 'Five', file: 'fi(v)e.md', hook: 'plain words', line: 10 },
    ])
  })

  test('of an index that is not there are none', async () => {
    expect(await memdir.index()).toEqual({ raw: '', content: '', entries: [] })
  })
})

describe('a save changes one line and leaves every other byte', () => {
  const OTHERS = [
    '\uFEFF# Mine',
    '',
    '<!-- keep',
    '- [c](c.md) -->',
    '- [Tabs](tabs.md) — old',
    'words  ',
    '* [X](x.md) - by hand',
  ]

  test.each(['\n', '\r\n'])('in an index whose lines end in %j', async (newline) => {
    await memdir.save(draft)
    const raw = OTHERS.join(newline) + newline
    await writeFile(work.path('MEMORY.md'), raw)
    const { revision } = (await memdir.read('tabs.md')) ?? {}
    await memdir.save({ ...draft, hook: 'new' }, { ifRevision: revision })
    expect(await work.read('MEMORY.md')).toBe(raw.replace('— old', '— new'))
    await memdir.save({ ...draft, file: 'other.md', name: 'Other' })
    expect(await work.read('MEMORY.md')).toBe(
      `${raw.replace('— old', '— new')}- [Other](other.md) — prefers tabs${newline}`,
    )
  })

  test('where the last line has no end, it gets one before a new line, and stays so otherwise', async () => {
    await writeFile(work.path('MEMORY.md'), '- [a](a.md)\r\nwords')
    await memdir.save(draft)
    expect(await work.read('MEMORY.md')).toBe('- [a](a.md)\r\nwords\r\n- [Tabs](tabs.md) — prefers tabs\r\n')
    await writeFile(work.path('MEMORY.md'), 'words\n- [Tabs](tabs.md)')
    await memdir.save({ ...draft, hook: 'h' }, { ifRevision: (await memdir.read('tabs.md'))?.revision })
    expect(await work.read('MEMORY.md')).toBe('words\n- [Tabs](tabs.md) — h')
  })

  test('where the file is empty or a byte order mark', async () => {
    await writeFile(work.path('MEMORY.md'), '\uFEFF')
    await memdir.save(draft)
    expect(await work.read('MEMORY.md')).toBe('\uFEFF- [Tabs](tabs.md) — prefers tabs\n')
    await memdir.save({ ...draft, hook: 'h' }, { ifRevision: (await memdir.read('tabs.md'))?.revision })
    expect(await work.read('MEMORY.md')).toBe('\uFEFF- [Tabs](tabs.md) — h\n')
  })

  test('where other lines are not UTF-8', async () => {
    const { readFile } = await import('node:fs/promises')
    const before = Buffer.from([0x63, 0xe9, 0x0a, 0xff, 0x0a])
    await writeFile(work.path('MEMORY.md'), before)
    await memdir.save(draft)
    const line = Buffer.from('- [Tabs](tabs.md) — prefers tabs\n')
    expect(await readFile(work.path('MEMORY.md'))).toEqual(Buffer.concat([before, line]))
  })

  test('a line with the same file further down is left to repair', async () => {
    await memdir.save(draft)
    await writeFile(work.path('MEMORY.md'), '- [Tabs](tabs.md)\n- [Tabs](tabs.md) — again\n')
    await memdir.save({ ...draft, hook: 'h' }, { ifRevision: (await memdir.read('tabs.md'))?.revision })
    expect(await work.read('MEMORY.md')).toBe('- [Tabs](tabs.md) — h\n- [Tabs](tabs.md) — again\n')
  })
})

test('a hook that somebody chose comes with the memory, so that saving it again keeps the hook', async () => {
  await memdir.save({ ...draft, hook: 'tabs!' })
  const memory = await memdir.read('tabs.md')
  expect(memory).toMatchObject({ hook: 'tabs!' })
  const again = await memdir.save({ ...draft, file: 'x.md', hook: 'two\nlines' })
  expect(again.memory.hook).toBe('two lines')
  expect(await memdir.read('x.md')).toEqual(again.memory)
  await memdir.remove('x.md', { ifRevision: again.memory.revision })
  await memdir.save({ ...draft, ...memory, body: 'new' }, { ifRevision: memory?.revision })
  expect(await work.read('MEMORY.md')).toBe('- [Tabs](tabs.md) — tabs!\n')
  expect((await memdir.list()).memories).toMatchObject([{ hook: 'tabs!', body: 'new' }])
  await memdir.save({ ...draft, file: 'long.md', description: 'd'.repeat(500) })
  expect(await memdir.read('long.md')).not.toHaveProperty('hook')
})
