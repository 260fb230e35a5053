import { rm, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'

let work: Tree
afterEach(() => work.remove())

async function made(files: Record<string, TreeFile>): Promise<Memdir> {
  work = await tree(files)
  return openMemdir({ dir: work.root })
}

const topic = (name: string): string =>
  `---\nname: ${name}\ndescription: about ${name}\ntype: user\n---\n\nx\n`
const seen = async (memdir: Memdir): Promise<[string, number | undefined][]> =>
  (await memdir.verify()).map(({ kind, line }) => [kind, line])
const filesNow = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.')))

test('a folder in order has no damage', async () => {
  const memdir = await made({ 'a.md': topic('a'), 'MEMORY.md': '# Mine\n- [A](a.md) — own words\n' })
  expect(await memdir.verify()).toEqual([])
  expect(await memdir.repair()).toEqual({ changes: [] })
})

test('M10: topics without line, lines without topic and repeated lines are found, named and mended as far as no words go', async () => {
  const index =
    '# Mine\r\n- [a](a.md) — own\r\n- [gone](gone.md) — lost\r\n- [a](a.md) — about a\r\nwords\r\n'
  const memdir = await made({
    'a.md': topic('a'),
    'b.md': topic('b'),
    'sub/c.md': 'plain',
    'MEMORY.md': index,
  })
  const damage = await memdir.verify()
  expect(damage.map(({ kind, path, line }) => [kind, path.slice(work.root.length + 1), line])).toEqual([
    ['topic-without-line', 'b.md', undefined],
    ['topic-without-line', 'sub/c.md', undefined],
    ['line-without-topic', 'MEMORY.md', 3],
    ['repeated-line', 'MEMORY.md', 4],
    ['no-front-matter', 'sub/c.md', 1],
  ])
  const changes = [
    'take out line 4 of MEMORY.md: - [a](a.md) — about a',
    'add to MEMORY.md: - [b](b.md) — about b',
    'add to MEMORY.md: - [c](sub/c.md)',
  ]
  const before = await work.snapshot()
  expect(await memdir.repair({ dryRun: true })).toEqual({ changes })
  expect(await work.snapshot()).toEqual(before)
  expect(await memdir.repair()).toEqual({ changes })
  expect(await work.read('MEMORY.md')).toBe(
    '# Mine\r\n- [a](a.md) — own\r\n- [gone](gone.md) — lost\r\nwords\r\n- [b](b.md) — about b\r\n- [c](sub/c.md)\r\n',
  )
  expect(await work.read('a.md')).toBe(topic('a'))
  expect(await seen(memdir)).toEqual([
    ['line-without-topic', 3],
    ['no-front-matter', 1],
  ])
  expect(await memdir.repair()).toEqual({ changes: [] })
})

test('M10: a topic renamed by hand keeps its line, under its new name', async () => {
  const memdir = await made({ 'new.md': topic('a'), 'MEMORY.md': '- [a](old.md) — about a\n' })
  await memdir.repair()
  expect(await work.read('MEMORY.md')).toBe('- [a](new.md) — about a\n')
})

test('repair leaves lines that people wrote in their own way, and says nothing of them', async () => {
  const index = '* [gone](gone.md), my own words\n- [A](a.md) - other dash\n+ [A](a.md)\n'
  const memdir = await made({ 'a.md': topic('a'), 'MEMORY.md': index })
  expect(await seen(memdir)).toEqual([
    ['line-without-topic', 1],
    ['repeated-line', 3],
  ])
  expect(await memdir.repair()).toEqual({ changes: [] })
  expect(await work.read('MEMORY.md')).toBe(index)
})

test('an index that is missing is made of the topics in order, on repair', async () => {
  const memdir = await made({ 'b.md': topic('b'), 'a.md': topic('a') })
  expect(await seen(memdir)).toEqual([['index-missing', undefined]])
  await memdir.repair()
  expect(await work.read('MEMORY.md')).toBe('- [a](a.md) — about a\n- [b](b.md) — about b\n')
  expect(await memdir.verify()).toEqual([])
})

test('an empty folder is in order and repair makes no index in it', async () => {
  const memdir = await made({})
  expect(await memdir.verify()).toEqual([])
  expect(await memdir.repair()).toEqual({ changes: [] })
  expect(await filesNow()).toEqual({})
})

test('lines over 200 characters and an index over its limits are flagged and left', async () => {
  const index = `- [a](a.md) — ${'x'.repeat(200)}\n- ${'y'.repeat(198)}\n<!-- ${'z'.repeat(200)} -->\n${'words\n'.repeat(250)}`
  const memdir = await made({ 'a.md': topic('a'), 'MEMORY.md': index })
  const damage = await memdir.verify()
  expect(damage.map(({ kind, line }) => [kind, line])).toEqual([
    ['long-line', 1],
    ['index-too-long', undefined],
  ])
  expect(damage[1]?.message).toContain('252 lines')
  expect(await memdir.repair()).toEqual({ changes: [] })
})

test('an index that cannot be read is reported, the topics still looked at', async () => {
  const memdir = await made({ 'MEMORY.md/x': '', 'a.md': 'plain' })
  expect(await seen(memdir)).toEqual([
    ['index-unreadable', undefined],
    ['no-front-matter', 1],
  ])
  await expect(memdir.repair()).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
})

test('a line for something that is there and no topic is not dead', async () => {
  const memdir = await made({
    'logs/2031/03/2031-03-06.md': 'x',
    'team/MEMORY.md': '',
    'link.md': { link: '/nowhere' },
    'MEMORY.md':
      '- [log](logs/2031/03/2031-03-06.md)\n- [team](team/MEMORY.md)\n- [link](link.md)\n- [odd](a.md/b.md)\n',
    'a.md': topic('a'),
  })
  expect(await seen(memdir)).toEqual([
    ['topic-without-line', undefined],
    ['line-without-topic', 4],
    ['not-a-file', undefined],
  ])
})

test('an entry with a name no file can have is dead, not an error', async () => {
  const memdir = await made({ 'MEMORY.md': `- [x](${'x'.repeat(300)}.md)\n- [nul](a%00b.md)\n` })
  expect((await seen(memdir)).map(([kind]) => kind)).toEqual(
    ['line-without-topic', 'long-line', 'line-without-topic'].toSorted(),
  )
})

test('broken files in the trash are reported', async () => {
  const empty = '{"file":"a.md","removedAt":"2031-01-01T00:00:00.000Z"}'
  const memdir = await made({ '.trash/x.json': '[]', '.trash/notes': 'x', '.trash/empty.json': empty })
  expect(await seen(memdir)).toEqual([
    ['unreadable', undefined],
    ['unreadable', undefined],
  ])
  expect(await memdir.trash()).toEqual([])
  await expect(memdir.restore('empty')).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
})

test('a save cut off between its steps is found and put right', async () => {
  const memdir = await made({})
  const { memory } = await memdir.save({ name: 'a', description: 'd', type: 'user', body: 'x' })
  await memdir.save({ name: 'b', description: 'd', type: 'user', body: 'x' })
  // As it is after the first step of saving b.
  await writeFile(work.path('MEMORY.md'), '- [a](user_a.md) — d\n')
  expect(await seen(memdir)).toEqual([['topic-without-line', undefined]])
  await memdir.repair()
  expect(await memdir.verify()).toEqual([])
  // As it is before the last step of removing a.
  await writeFile(work.path('MEMORY.md'), '- [b](user_b.md) — d\n')
  await memdir.repair()
  expect((await memdir.index()).entries.map(({ title }) => title)).toEqual(['b', 'a'])
  // Deleted by hand: its line may be all that is left of it.
  await rm(work.path(memory.file))
  expect(await memdir.repair()).toEqual({ changes: [] })
  expect(await seen(memdir)).toEqual([['line-without-topic', 2]])
})
