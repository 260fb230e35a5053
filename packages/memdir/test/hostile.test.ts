import { chmod, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { memoryDirs, openMemdir, saveMemory } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const DRAFT = { name: 'New', description: 'new words', type: 'user', body: 'New.' } as const

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())
const write = (name: string, text: string): Promise<void> => writeFile(work.path(name), text)
const read = (name: string): Promise<string> => readFile(work.path(name), 'utf8')

test.for(['\u2028', '\u2029', '\r'])(
  'M10 a line of the index with %j in its words is a line',
  async (mark) => {
    await write('a.md', '---\nname: A\ndescription: about a\ntype: user\n---\n\nA.\n')
    const line = `- [A](a.md) — one${mark}two\n`
    await write('MEMORY.md', line)
    const memdir = await openMemdir({ dir: work.root })
    expect((await memdir.index()).entries).toMatchObject([
      { title: 'A', file: 'a.md', hook: `one${mark}two` },
    ])
    expect(await memdir.repair()).toEqual({ changes: [] })
    expect(await read('MEMORY.md')).toBe(line)
  },
)

test('M10 after a repair there is nothing more to repair, also where a file was renamed that had two lines', async () => {
  await write('moved.md', '---\nname: A\ndescription: about a\ntype: user\n---\n\nA.\n')
  const [line, other] = ['- [A](gone.md) — about a\n', '- [A](gone.md) — other words\n']
  await write('MEMORY.md', line + other + line)
  const memdir = await openMemdir({ dir: work.root })
  const { changes } = await memdir.repair({ dryRun: true })
  expect(changes).toHaveLength(3)
  expect(await memdir.repair()).toEqual({ changes })
  expect(await read('MEMORY.md')).toBe((line + other).replaceAll('gone', 'moved'))
  expect(await memdir.trash()).toMatchObject([{ file: 'moved.md' }])
  expect(await memdir.repair()).toEqual({ changes: [] })
})

describe("with review the API's memory tool", () => {
  const TOPIC = '---\nname: A\ndescription: about a\ntype: user\ntags: old\n---\n\nA.\n'
  const FIELDS = '---\ntype: user\nname: "N"\ndescription: about n\nmetadata:\n    type: user\n---\n'
  const proposing = async (): Promise<ReturnType<typeof memoryToolHandlers>> =>
    memoryToolHandlers(await openMemdir({ dir: work.root, review: true }))
  const waiting = async (): Promise<number> =>
    (await (await openMemdir({ dir: work.root })).proposals()).length

  test('refuses an edit of what a proposal does not hold, rather than lose it', async () => {
    await write('a.md', TOPIC)
    const tool = await proposing()
    for (const [old, next] of [
      ['tags: old', 'tags: new'],
      ['tags: old\n', ''],
      ['tags: old', 'tags: old # why'],
    ] as const)
      await expect(
        tool.str_replace({ path: '/memories/a.md', old_str: old, new_str: next }),
      ).rejects.toMatchObject({
        code: 'MEMORY_INVALID',
        message: expect.stringContaining('front matter'),
      })
    const text = TOPIC.replace('type: user', 'type: user\nmore: x')
    await expect(tool.create({ path: '/memories/n.md', file_text: text })).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
    })
    expect(await waiting()).toBe(0)
  })

  test('takes edits of what it does hold', async () => {
    await write('a.md', TOPIC)
    const tool = await proposing()
    await tool.str_replace({ path: '/memories/a.md', old_str: 'about a', new_str: 'of a' })
    await tool.str_replace({ path: '/memories/a.md', old_str: 'A.\n', new_str: 'A, and more.\n\nMore.' })
    await tool.create({ path: '/memories/n.md', file_text: `${FIELDS}\nN.\n` })
    await tool.create({ path: '/memories/m.md', file_text: '# Releases\r\n\r\nOn Mondays.\r\n' })
    expect(await waiting()).toBe(4)
  })
})

describe('a file that is too large to be text, as a sparse one of 1 GB', () => {
  const OK = '---\nname: Fine\ndescription: fine words\ntype: user\n---\n\nFine.\n'
  const huge = async (name: string): Promise<Memdir> => {
    await work.remove()
    work = await tree({ 'fine.md': OK, [name]: '' })
    await truncate(work.path(name), 1_000_000_000)
    return openMemdir({ dir: work.root })
  }

  test('as a topic is named and hides no other', async () => {
    const memdir = await huge('big.md')
    const { memories, damage } = await memdir.list()
    expect(memories.map(({ file }) => file)).toEqual(['fine.md'])
    expect(damage).toMatchObject([{ kind: 'unreadable', path: work.path('big.md') }])
    expect(await memdir.search('fine')).toHaveLength(1)
    await expect(memdir.read('big.md')).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    const tool = memoryToolHandlers(memdir)
    await expect(tool.view({ path: '/memories/big.md' })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await memdir.save(DRAFT)
    expect((await memdir.verify()).map(({ kind }) => kind)).toContain('unreadable')
  })

  test('as the index is named, and nothing is changed', async () => {
    const memdir = await huge('MEMORY.md')
    expect((await memdir.list()).memories).toHaveLength(1)
    expect(await memdir.read('fine.md')).toMatchObject({ name: 'Fine' })
    expect(await memdir.verify()).toMatchObject([{ kind: 'index-unreadable' }])
    for (const refused of [memdir.index(), memdir.save(DRAFT), memdir.repair()])
      await expect(refused).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await expect(saveMemory('x', { file: work.path('MEMORY.md') })).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
    })
    expect((await stat(work.path('MEMORY.md'))).size).toBe(1_000_000_000)
  })

  test('beside them is named, and hides none of its kind', async () => {
    const memdir = await huge('.trash/big.json')
    const { memory } = await memdir.save(DRAFT)
    await memdir.remove(memory.file, { ifRevision: memory.revision })
    expect(await memdir.trash()).toHaveLength(1)
    expect((await memdir.verify()).map(({ path }) => path)).toContain(work.path('.trash/big.json'))
  })

  test('a topic as large as is read comes back from the trash, whatever its characters', async () => {
    const text = OK + '\u0001'.repeat(16 * 1024 * 1024 - Buffer.byteLength(OK))
    await write('large.md', text)
    const memdir = await openMemdir({ dir: work.root })
    const before = await memdir.read('large.md')
    await memdir.remove('large.md', { ifRevision: before?.revision ?? '' })
    const [entry] = await memdir.trash()
    await memdir.restore(entry?.id ?? '')
    expect((await read('large.md')) === text).toBe(true)
  })
})

describe('M08 front matter that cannot be changed without breaking other keys', () => {
  const TOPIC = '---\nname: &n {first: A}\nother: *n\n---\n\nA.\n'

  test('is refused with a reason, and stays', async () => {
    await write('a.md', TOPIC)
    const memdir = await openMemdir({ dir: work.root })
    const before = await memdir.read('a.md')
    await expect(
      memdir.save({ ...DRAFT, file: 'a.md' }, { ifRevision: before?.revision }),
    ).rejects.toMatchObject({ code: 'MEMORY_INVALID', message: expect.stringContaining('front matter') })
    expect(await read('a.md')).toBe(TOPIC)
  })

  test('keeps no proposal from being approved', async () => {
    await write('a.md', TOPIC)
    const memdir = await openMemdir({ dir: work.root, review: true })
    await memdir.save(DRAFT)
    const [proposal] = await memdir.proposals()
    expect(await memdir.approve(proposal?.id ?? '')).toMatchObject({ name: 'New' })
  })
})

test.for([
  ['/home/me', '/home/me'],
  ['/home/me', '/home/me/'],
  ['/home/me', '/home/you/../me'],
  ['/home/me', '/home'],
  ['me', '~/memory'],
] as const)('M11 with home %j the setting %j is refused', ([HOME, autoMemoryDirectory]) => {
  const dirs = memoryDirs({
    home: '/loci',
    projectDir: '/loci/p',
    env: { HOME },
    settings: { autoMemoryDirectory },
  })
  expect(dirs).toMatchObject({
    project: '/loci/p/memory',
    warnings: [expect.stringContaining('home directory')],
  })
})

describe('M14', () => {
  // Made up, in the form of a provider's.
  const KEY = `ghp_${'k7Qz2Lm9Xw4Rt8Vb3Np6'.repeat(2).slice(0, 36)}`

  test('a secret in a name does not come into the name of the file', async () => {
    const memdir = await openMemdir({ dir: work.root })
    const { memory, warnings } = await memdir.save({ ...DRAFT, name: `token ${KEY} of the server` })
    expect(memory.file).toBe('user_token_of_the_server.md')
    expect(warnings).toEqual([expect.stringContaining('The name looks like a secret')])
  })

  test('a file that is renamed to one is warned of', async () => {
    const memdir = await openMemdir({ dir: work.root })
    const { memory } = await memdir.save(DRAFT)
    const tool = memoryToolHandlers(memdir)
    const said = await tool.rename({ old_path: `/memories/${memory.file}`, new_path: `/memories/${KEY}.md` })
    expect(said).toContain('looks like a secret')
  })

  test('what is kept beside the topics is for its owner alone, as they may be', async () => {
    const memdir = await openMemdir({ dir: work.root })
    const { memory } = await memdir.save(DRAFT)
    await chmod(work.path(memory.file), 0o600)
    await memdir.remove(memory.file, { ifRevision: memory.revision })
    const [entry] = await memdir.trash()
    await (await openMemdir({ dir: work.root, review: true })).save(DRAFT)
    const [proposal] = await memdir.proposals()
    for (const name of [`.trash/${entry?.id}.json`, `.proposed/${proposal?.id}.json`])
      expect((await stat(work.path(name))).mode & 0o777).toBe(0o600)
  })
})
