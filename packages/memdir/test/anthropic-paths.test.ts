import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import type { MemoryToolHandlers } from '@loci/memdir/anthropic'
import { isLociError } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { times } from './thorough.ts'

let work: Tree
let tool: MemoryToolHandlers
beforeEach(async () => {
  work = await tree({
    'secret.md': 'SECRET',
    'out/secret.md': 'SECRET',
    'memory/MEMORY.md': '- [a](a.md) — A\n',
    'memory/a.md': 'A',
    'memory/d/b.md': 'B',
    'memory/.conflicts/c.md': 'SECRET',
    'memory/.trash/t.json': 'SECRET',
    'memory/.hidden.md': 'SECRET',
    'memory/link.md': { link: '../secret.md' },
    'memory/inside.md': { link: 'a.md' },
    'memory/dangling.md': { link: 'nowhere.md' },
    'memory/up': { link: '..' },
    'memory/d/out': { link: '../../out' },
  })
  tool = memoryToolHandlers(await openMemdir({ dir: work.path('memory') }))
})
afterEach(() => work.remove())

/** Each command on a path; rename both ways. */
const everyCommand = (path: string): (() => Promise<string>)[] => [
  () => tool.view({ path }),
  () => tool.create({ path, file_text: 'WRITTEN' }),
  () => tool.str_replace({ path, old_str: 'SECRET', new_str: 'WRITTEN' }),
  () => tool.insert({ path, insert_line: 0, insert_text: 'WRITTEN' }),
  () => tool.rename({ old_path: path, new_path: '/memories/stolen.md' }),
  () => tool.rename({ old_path: '/memories/a.md', new_path: path }),
  () => tool.delete({ path }),
]

/** What no command may change: all outside, what is hidden, and links. */
async function untouchable(): Promise<Record<string, unknown>> {
  const entries = Object.entries(await work.snapshot()).filter(
    ([name, file]) =>
      !name.startsWith('memory/') || 'link' in file || /\/\.(?:conflicts|trash\/t|hidden)/.test(name),
  )
  return Object.fromEntries(entries)
}

describe.each([
  ['/memories/../secret.md', 'Path /memories/../secret.md would escape /memories directory'],
  ['/memories/d/../../secret.md', 'Path /memories/d/../../secret.md would escape /memories directory'],
  ['/memories/d/../a.md', 'Path /memories/d/../a.md would escape /memories directory'],
  ['/memories/%2e%2e/secret.md', 'Path /memories/%2e%2e/secret.md would escape /memories directory'],
  ['/memories/..%2Fsecret.md', 'Path /memories/..%2Fsecret.md would escape /memories directory'],
  ['/memories/%252e%252e%252fsecret.md', 'would escape /memories directory'],
  ['/memories/..\\secret.md', 'Path /memories/..\\secret.md would escape /memories directory'],
  ['/memories/a.md\0.txt', 'would escape /memories directory'],
  ['/memories/\uD800.md', 'would escape /memories directory'],
  ['/memories-elsewhere/secret.md', 'Path must start with /memories, got: /memories-elsewhere/secret.md'],
  ['/etc/passwd', 'Path must start with /memories, got: /etc/passwd'],
  ['memories/a.md', 'Path must start with /memories, got: memories/a.md'],
  ['', 'Path must start with /memories, got: '],
  [undefined as unknown as string, 'Path must start with /memories, got: undefined'],
  ['/memories/link.md', 'Path would escape /memories directory via symlink'],
  ['/memories/inside.md', 'Path would escape /memories directory via symlink'],
  ['/memories/dangling.md', 'Path would escape /memories directory via symlink'],
  ['/memories/up', 'Path would escape /memories directory via symlink'],
  ['/memories/up/secret.md', 'Path would escape /memories directory via symlink'],
  ['/memories/d/out/secret.md', 'Path would escape /memories directory via symlink'],
])('%j', (path, message) => {
  test('is refused by every command, and nothing is changed', async () => {
    const before = await work.snapshot()
    for (const run of everyCommand(path)) await expect(run()).rejects.toThrow(message)
    expect(await work.snapshot()).toEqual(before)
  })
})

test.each(['.conflicts/c.md', '.trash', '.trash/t.json', '.hidden.md', '.MEMORY.md.lock.1'])(
  '%s is hidden: not there, and no place for anything',
  async (file) => {
    const path = `/memories/${file}`
    const before = await work.snapshot()
    const [view, create, replace, insert, from, to, remove] = everyCommand(path)
    for (const run of [view, replace, insert])
      await expect(run?.()).rejects.toThrow(`The path ${path} does not exist. Please provide a valid path.`)
    for (const run of [from, remove]) await expect(run?.()).rejects.toThrow(`The path ${path} does not exist`)
    for (const run of [create, to]) await expect(run?.()).rejects.toThrow('is a hidden name')
    expect(await work.snapshot()).toEqual(before)
  },
)

test('a path through a file leads nowhere', async () => {
  const path = '/memories/a.md/x.md'
  await expect(tool.view({ path })).rejects.toThrow(
    `The path ${path} does not exist. Please provide a valid path.`,
  )
  await expect(tool.delete({ path })).rejects.toThrow(`The path ${path} does not exist`)
  await expect(tool.create({ path, file_text: 'x' })).rejects.toThrow(
    `Path ${path} cannot be used: a part of it is a file`,
  )
  await expect(tool.rename({ old_path: '/memories/d/b.md', new_path: path })).rejects.toMatchObject({
    code: 'PATH_INVALID',
  })
})

test('links and special files are in no list; a special file is not waited for', async () => {
  execFileSync('mkfifo', [work.path('memory/fifo.md')])
  const list = await tool.view({ path: '/memories' })
  expect(
    list
      .split('\n')
      .slice(2)
      .map((line) => line.split('\t')[1]),
  ).toEqual(['/memories/MEMORY.md', '/memories/a.md', '/memories/d/', '/memories/d/b.md'])
  const path = '/memories/fifo.md'
  await expect(tool.view({ path })).rejects.toThrow(`Unsupported file type for ${path}`)
  await expect(tool.insert({ path, insert_line: 0, insert_text: 'x' })).rejects.toThrow(
    `The path ${path} is not a file.`,
  )
  await expect(tool.delete({ path })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
})

test('a link that has taken the place of a directory is not followed', async () => {
  await rm(work.path('memory/d'), { recursive: true })
  await symlink(work.path('out'), work.path('memory/d'))
  await writeFile(work.path('out/b.md'), 'SECRET')
  const before = await work.snapshot()
  for (const run of everyCommand('/memories/d/b.md'))
    await expect(run()).rejects.toMatchObject({ code: 'PATH_LINK' })
  expect(await work.snapshot()).toEqual(before)
})

test('whatever the path, nothing outside is read or changed', async () => {
  await mkdir(work.path('memory/e'))
  const before = await untouchable()
  const parts = ['..', '.', '', '...', '%2e%2e', '..%2f', '..\\', '\0', '\u2025', '\uFF0E\uFF0E', '~']
  parts.push('secret.md', 'link.md', 'inside.md', 'dangling.md', 'up', 'd', 'e', 'out', 'a.md', 'b.md')
  parts.push('MEMORY.md', '.trash', 't.json', '.conflicts', 'c.md', 'memory', 'new.md', 'a b.md', 'CON')
  const part = fc.constantFrom(...parts, work.root, work.path('secret.md'))
  const start = fc.constantFrom('/memories', '/memories/', '/memories', '/', '', '/memories/up')
  const paths = fc
    .tuple(start, fc.array(part, { maxLength: 5 }), fc.constantFrom('/', '//', '\\'))
    .map(([head, segments, slash]) => [head, ...segments].join(slash === '\\' ? '\\' : slash))
  await fc.assert(
    fc.asyncProperty(paths, fc.nat(6), async (path, which) => {
      const run = everyCommand(path)[which] ?? (async () => '')
      const answer = await run().catch((error: unknown) => {
        if (isLociError(error)) return error.message.replaceAll(path, '')
        throw error
      })
      expect(answer).not.toMatch(/SECRET(?!` did)/)
      expect(await untouchable()).toEqual(before)
    }),
    { numRuns: times(300, 3000) },
  )
})
