import { rename, rm, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
beforeEach(async () => {
  work = await tree()
  let ids = 0
  const clock = (): Date => new Date('2031-03-06T10:00:00Z')
  memdir = await openMemdir({ dir: work.root, clock, createId: () => `id-${++ids}` })
})
afterEach(() => work.remove())

const draft: MemoryDraft = { name: 'N', description: 'about n', type: 'user', body: 'B', file: 'a.md' }
const OURS = '- [N](a.md) — about n\n'
const index = (): Promise<string> => work.read('MEMORY.md')
const writeIndex = (text: string | Uint8Array): Promise<void> => writeFile(work.path('MEMORY.md'), text)
const revision = async (): Promise<string> => (await memdir.read('a.md'))?.revision ?? ''
const kinds = async (): Promise<[string, number | undefined][]> =>
  (await memdir.verify()).map(({ kind, line }) => [kind, line])
/** All that the trash holds, as text. */
const trashText = async (): Promise<string> =>
  Object.entries(await work.snapshot())
    .flatMap(([name, file]) => (name.startsWith('.trash/') && 'text' in file ? [file.text] : []))
    .join('\n')

describe('removing a memory', () => {
  const BY_HAND = '* [See also](a.md) thoughts that stand nowhere else\n'

  test('keeps all its index lines, and restoring brings all of them back', async () => {
    await memdir.save(draft)
    await writeIndex(`# Mine\n${OURS}words\n${BY_HAND}`)
    await memdir.remove('a.md', { ifRevision: await revision() })
    expect(await index()).toBe('# Mine\nwords\n')
    await memdir.restore('id-1')
    expect(await index()).toBe(`# Mine\nwords\n${OURS}${BY_HAND}`)
    expect(await memdir.trash()).toEqual([])
  })

  test('keeps index lines that are not UTF-8, byte for byte', async () => {
    await memdir.save(draft)
    const bytes = Buffer.concat([Buffer.from('- [N](a.md) caf'), Buffer.from([0xe9]), Buffer.from('\n')])
    await writeIndex(bytes)
    await memdir.remove('a.md', { ifRevision: await revision() })
    await memdir.restore('id-1')
    const { readFile } = await import('node:fs/promises')
    expect(await readFile(work.path('MEMORY.md'))).toEqual(bytes)
  })
})

describe('restoring over what is there now', () => {
  test('keeps the lines of the newer memory in the trash with it', async () => {
    const { memory } = await memdir.save(draft)
    await memdir.remove('a.md', { ifRevision: memory.revision })
    await memdir.save({ ...draft, body: 'v2' })
    await writeIndex('# Mine\n- [N](a.md) — my own words for v2\nwords\n')
    await memdir.restore('id-1')
    expect(await index()).toBe(`# Mine\n${OURS}words\n`)
    expect((await memdir.trash()).map(({ id }) => id)).toEqual(['id-2'])
    await memdir.restore('id-2')
    expect(await memdir.read('a.md')).toMatchObject({ body: 'v2', hook: 'my own words for v2' })
    expect(await index()).toBe('# Mine\n- [N](a.md) — my own words for v2\nwords\n')
  })

  test('keeps a line that somebody wrote while the memory was away', async () => {
    const { memory } = await memdir.save(draft)
    await memdir.remove('a.md', { ifRevision: memory.revision })
    await writeIndex('- [N](a.md) — written meanwhile\n')
    await memdir.restore('id-1')
    expect(await index()).toBe(OURS)
    expect(await memdir.trash()).toMatchObject([{ id: 'id-2', file: 'a.md' }])
    // Without bytes of a topic the entry brings its lines back.
    expect(await memdir.restore('id-2')).toMatchObject({ file: 'a.md', body: 'B' })
    expect(await index()).toBe(`${OURS}- [N](a.md) — written meanwhile\n`)
    expect(await memdir.trash()).toEqual([])
  })

  test('is refused for lines alone while their topic is away; they can be read in the file it names', async () => {
    await memdir.save(draft)
    await writeIndex(OURS + OURS)
    await memdir.repair()
    await rm(work.path('a.md'))
    await expect(memdir.restore('id-1')).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
      message: expect.stringContaining('.trash/id-1.json'),
    })
    expect(await memdir.trash()).toHaveLength(1)
  })

  test('is refused where the trash holds lines for something else', async () => {
    await memdir.save(draft)
    const entry = { file: 'a.md', removedAt: '2031-01-01T00:00:00Z', text: 'x', lines: ['- [B](b.md)'] }
    const { mkdir } = await import('node:fs/promises')
    await mkdir(work.path('.trash'))
    await writeFile(work.path('.trash/odd.json'), JSON.stringify(entry))
    await expect(memdir.restore('odd')).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    expect(await memdir.read('a.md')).toMatchObject({ body: 'B' })
  })
})

describe('repair', () => {
  test('leaves a line for a file that is not there, which verify names', async () => {
    await memdir.save(draft)
    const raw = `${OURS}- [Deploy](deploy.md) — ask Bob before Friday, he has the token\n`
    await writeIndex(raw)
    expect(await memdir.repair()).toEqual({ changes: [] })
    expect(await index()).toBe(raw)
    expect(await kinds()).toEqual([['line-without-topic', 2]])
  })

  test('leaves a second line with other words, which verify names', async () => {
    await memdir.save(draft)
    const raw = `${OURS}- [N](a.md) — second hook, other words\n`
    await writeIndex(raw)
    expect(await memdir.repair()).toEqual({ changes: [] })
    expect(await index()).toBe(raw)
    expect(await kinds()).toEqual([['repeated-line', 2]])
  })

  test('takes out a line that stands there twice, or says only what the topic says; both go to the trash', async () => {
    await memdir.save(draft)
    const own = '* [N](a.md) own words\n'
    await writeIndex(`${own}x\n${OURS}${own}y\n`)
    const { changes } = await memdir.repair()
    expect(changes).toEqual([
      'take out line 3 of MEMORY.md: - [N](a.md) — about n',
      'take out line 4 of MEMORY.md: * [N](a.md) own words',
    ])
    expect(await index()).toBe(`${own}x\ny\n`)
    expect(await memdir.verify()).toEqual([])
    expect(await memdir.trash()).toMatchObject([{ id: 'id-1', file: 'a.md' }])
    expect(await trashText()).toContain('* [N](a.md) own words')
    await memdir.restore('id-1')
    expect(await index()).toBe(`${own}x\ny\n${OURS}${own}`)
  })

  test('gives the lines of a topic renamed by hand its new name, and nothing else of them changes', async () => {
    await memdir.save(draft)
    await writeIndex('\uFEFF# Mine\r\n  * [N](<./a.md>): hand (words)\r\n- [N](a.md) — more\r\nend')
    await rename(work.path('a.md'), work.path('b (2).md'))
    const { changes } = await memdir.repair()
    expect(changes).toEqual([
      'write line 2 of MEMORY.md as:   * [N](<b (2).md>): hand (words)',
      'write line 3 of MEMORY.md as: - [N](<b (2).md>) — more',
    ])
    expect(await index()).toBe(
      '\uFEFF# Mine\r\n  * [N](<b (2).md>): hand (words)\r\n- [N](<b (2).md>) — more\r\nend',
    )
    expect(await kinds()).toEqual([['repeated-line', 3]])
    expect((await memdir.read('b (2).md'))?.hook).toBe('hand (words)')
  })

  test('guesses no new name where two files could be it, or two lines', async () => {
    const topic = '---\nname: N\ndescription: d\ntype: user\n---\n'
    const dead = '- [N](a.md) — mine\n'
    await writeFile(work.path('b.md'), topic)
    await writeFile(work.path('c.md'), topic)
    await writeIndex(dead)
    await memdir.repair()
    expect(await index()).toBe(`${dead}- [N](b.md) — d\n- [N](c.md) — d\n`)
    await rm(work.path('c.md'))
    await writeIndex(`${dead}- [N](old.md) — too\n`)
    await memdir.repair()
    expect(await index()).toBe(`${dead}- [N](old.md) — too\n- [N](b.md) — d\n`)
  })
})

describe('saving over a memory', () => {
  const saved = async (change: Partial<MemoryDraft>): Promise<string> => {
    const memory = await memdir.read('a.md')
    await memdir.save({ ...draft, ...memory, ...change }, { ifRevision: memory?.revision })
    return index()
  }

  test.each([
    ['a hook longer than we write', `- [N](a.md) — ${'word '.repeat(34)}END\n`],
    ['a line in its own form', '  * [My Title](<./a.md>): hand words  \n'],
    ['a line without hook', '+ [N](a.md)\n'],
    ['our own line', OURS],
  ])('leaves %s as it is where name, description and hook are the same', async (_, line) => {
    await memdir.save(draft)
    await writeIndex(`# Mine\n${line}end\n`)
    expect(await saved({ body: 'new' })).toBe(`# Mine\n${line}end\n`)
    expect(await memdir.read('a.md')).toMatchObject({ body: 'new' })
    // A caller that has nothing to say of the hook does not take it away.
    await memdir.save({ ...draft, body: 'newer' }, { ifRevision: await revision() })
    expect(await index()).toBe(`# Mine\n${line}end\n`)
    expect(await saved({ type: 'project' })).toBe(`# Mine\n${line}end\n`)
    // Each topic that was replaced, and no line alone.
    expect((await memdir.trash()).map(({ file }) => file)).toEqual(['a.md', 'a.md', 'a.md'])
  })

  test('leaves a hook that somebody chose when the description alone changes, if the caller passes it on', async () => {
    await memdir.save(draft)
    const line = `- [N](a.md) — ${'word '.repeat(34)}END\n`
    await writeIndex(line)
    expect(await saved({ description: 'other' })).toBe(line)
  })

  test('writes the line anew for a new name, description or hook', async () => {
    await memdir.save(draft)
    expect(await saved({ description: 'other' })).toBe('- [N](a.md) — other\n')
    expect(await saved({ name: 'M' })).toBe('- [M](a.md) — other\n')
    expect(await saved({ hook: 'h' })).toBe('- [M](a.md) — h\n')
    // The words of a hook stand nowhere else, so each that is replaced is kept, though the topic is as it was.
    expect(await memdir.trash()).toHaveLength(2)
    expect(await saved({ hook: 'i' })).toBe('- [M](a.md) — i\n')
    expect(await trashText()).toContain('- [M](a.md) — h')
  })

  test('keeps a line with words of its own in the trash when it is replaced', async () => {
    await memdir.save(draft)
    await writeIndex('* [N](a.md) hand words\n')
    await memdir.save({ ...draft, description: 'other' }, { ifRevision: await revision() })
    expect(await index()).toBe('- [N](a.md) — other\n')
    expect(await trashText()).toContain('* [N](a.md) hand words')
    expect(await memdir.trash()).toMatchObject([{ file: 'a.md' }])
  })

  test('keeps a line that somebody wrote for a memory before there was one', async () => {
    await writeIndex('- [N](a.md) — to be written by Bob\n')
    await memdir.save(draft)
    expect(await index()).toBe(OURS)
    expect(await trashText()).toContain('to be written by Bob')
  })
})
