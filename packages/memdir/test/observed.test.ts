import { cpSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'

// Memory folders as a widely used client wrote them; each case has a README that says what was done.
const OBSERVED = join(import.meta.dirname, 'fixtures/observed')
const PLACES = {
  'memory-dir': 'config/projects/-home-user-project/memory',
  'memory-auto-index': 'memory',
} as const
type Case = keyof typeof PLACES

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())

async function copyOf(name: Case): Promise<Memdir> {
  cpSync(join(OBSERVED, name, PLACES[name]), work.path('memory'), { recursive: true })
  return openMemdir({ dir: work.path('memory'), sessionId: 's-1' })
}
const bytes = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.')))
const draft: MemoryDraft = {
  name: 'Build: "how"',
  description: 'a: b #c',
  type: 'project',
  body: '--- make all\n---\n',
}

/** That layout's rules: front matter between the first two lines of dashes; `metadata.type`, else `type`. */
async function readByItsRules(file: string): Promise<unknown> {
  const text = await work.read(`memory/${file}`)
  const [, head = '', body = ''] = /^---\n([^]*?)\n---\n\n?([^]*)$/.exec(text) ?? []
  const { name, description, type, metadata } = parse(head) as Record<string, never>
  return {
    name,
    description,
    type: (metadata as { type?: string } | undefined)?.type ?? type,
    body: body.replace(/\n$/, ''),
  }
}

test('a folder with topic and index opens, whole and without damage, and stays as it was', async () => {
  const memdir = await copyOf('memory-dir')
  const before = await bytes()
  const { memories, damage } = await memdir.list()
  expect(damage).toEqual([])
  expect(memories).toMatchObject([
    {
      file: 'likes-tabs.md',
      name: 'likes-tabs',
      description: 'user prefers tabs',
      type: 'user',
      body: 'The user prefers tabs.',
      originSessionId: 'e8e274eb-8152-46f6-9cfd-a81a5e3f156c',
    },
  ])
  expect((await memdir.index()).entries).toEqual([
    { title: 'Likes tabs', file: 'likes-tabs.md', hook: 'prefers tabs', line: 1 },
  ])
  expect(await memdir.verify()).toEqual([])
  expect(await memdir.repair({ dryRun: true })).toEqual({ changes: [] })
  expect(await bytes()).toEqual(before)
})

test('a change of its memory keeps its other keys, their order and its line', async () => {
  const memdir = await copyOf('memory-dir')
  const before = await work.read('memory/likes-tabs.md')
  const memory = await memdir.read('likes-tabs.md')
  if (memory === undefined) throw new Error('not read')
  await memdir.save({ ...memory, body: 'Tabs, always.' }, { ifRevision: memory.revision })
  const after = await work.read('memory/likes-tabs.md')
  expect(after.replace('type: user\n---', '---')).toBe(
    before.replace('The user prefers tabs.', 'Tabs, always.').replace('type: user\n---', '---'),
  )
  expect(await work.read('memory/MEMORY.md')).toBe('- [Likes tabs](likes-tabs.md) — prefers tabs\n')
  // And back, byte for byte.
  const [entry] = await memdir.trash()
  await memdir.restore(entry?.id ?? '')
  expect(await work.read('memory/likes-tabs.md')).toBe(before)
})

test.each(Object.keys(PLACES) as Case[])('what is saved into %s is read back by its rules', async (name) => {
  const memdir = await copyOf(name)
  const { memory, visible } = await memdir.save(draft)
  expect(visible).toBe(true)
  expect(await readByItsRules(memory.file)).toEqual({
    name: draft.name,
    description: draft.description,
    type: 'project',
    body: draft.body,
  })
  const line = (await memdir.index()).raw.split('\n').find((text) => text.includes(memory.file))
  expect(line).toMatch(/^- \[[^[\]]+\]\([^()]+\.md\) — .+$/)
  expect(Object.keys(await bytes()).filter((path) => path.endsWith('.md'))).toContain(`memory/${memory.file}`)
  expect((await memdir.verify()).filter(({ kind }) => kind !== 'no-front-matter')).toEqual([])
})

test('a folder without an index gets one with a line for each topic, as the client itself made it', async () => {
  const memdir = await copyOf('memory-auto-index')
  expect(await memdir.verify()).toMatchObject([{ kind: 'index-missing' }, { kind: 'no-front-matter' }])
  await memdir.repair()
  const ours = await memdir.index()
  expect(ours.entries.map(({ file }) => file)).toEqual([
    'likes-tabs.md',
    'plain_note.md',
    'sub/deep/d.md',
    'weird.md',
  ])
  const expected = await readFile(join(OBSERVED, 'memory-auto-index/MEMORY.expected.md'), 'utf8')
  // The client lists the same files, in the order of its directory, and we read its index as it does.
  await rm(work.path('memory/MEMORY.md'))
  await writeFile(work.path('memory/MEMORY.md'), expected)
  const theirs = await memdir.index()
  expect(theirs.entries.map(({ file }) => file).toSorted()).toEqual(ours.entries.map(({ file }) => file))
  expect((await memdir.verify()).map(({ kind }) => kind)).toEqual(['no-front-matter'])
  expect(await memdir.repair()).toEqual({ changes: [] })
})
