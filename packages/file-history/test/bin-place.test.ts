import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fileHistory, spawned } from './command-line.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'top/a.txt': 'a1\n', 'top/sub/b.txt': 'b1\n' })
})
afterEach(() => work.remove())

const HEAD = 'ref: refs/heads/main\n'
/** Runs something that changes both files, in a directory below `top`. */
const change = (from: string, ...options: string[]): ReturnType<typeof spawned> =>
  spawned(
    work.path(from),
    'run',
    '--json',
    ...options,
    '--',
    'sh',
    '-c',
    `echo a2 > ${work.path('top/a.txt')}; echo b2 > ${work.path('top/sub/b.txt')}`,
  )
async function put(name: string, text: string): Promise<void> {
  await fs.mkdir(dirname(work.path(name)), { recursive: true })
  await fs.writeFile(work.path(name), text)
}
const names = async (): Promise<string[]> => Object.keys(await work.snapshot())
const both = (): string[] => ['top/a.txt', 'top/sub/b.txt'].map((name) => work.path(name))

test('in a git work tree: all of it, also from below, and the history in the git directory', async () => {
  await put('top/.git/HEAD', HEAD)
  const before = await names()
  expect(JSON.parse((await change('top/sub')).out)).toMatchObject({ changed: both() })
  const made = (await names()).filter((name) => !before.includes(name))
  expect(made.filter((name) => !name.startsWith('top/.git/file-history/'))).toEqual([
    'top/.git/.file-history.lock.1',
  ])
  expect((await fileHistory(work.path('top'), 'rewind')).code).toBe(0)
  expect(await fs.readFile(work.path('top/sub/b.txt'), 'utf8')).toBe('b1\n')
})

test.each([
  ['relative', '../repository/.git/worktrees/top'],
  ['absolute', ''],
])('in a worktree, whose .git file names its git directory (%s)', async (_, relative) => {
  const gitDir = work.path('repository/.git/worktrees/top')
  await put('repository/.git/worktrees/top/HEAD', HEAD)
  await put('top/.git', `gitdir: ${relative || gitDir}\n`)
  expect(JSON.parse((await change('top/sub')).out)).toMatchObject({ changed: both() })
  expect((await fs.readdir(gitDir)).toSorted()).toEqual(['.file-history.lock.1', 'HEAD', 'file-history'])
})

test.each(['without git', 'with a .git that names nothing', 'with a .git that is no git directory'])(
  '%s: a folder in the root that ignores itself, and nothing beside it',
  async (kind) => {
    if (kind === 'with a .git that names nothing') await put('top/.git', 'gitdir: /nowhere/at/all\n')
    if (kind === 'with a .git that is no git directory') await put('top/.git/x', '')
    const before = await names()
    expect(JSON.parse((await change('top')).out)).toMatchObject({ changed: both(), untracked: [] })
    expect(await fs.readFile(work.path('top/.file-history/.gitignore'), 'utf8')).toBe('*\n')
    const made = (await names()).filter((name) => !before.includes(name))
    expect(made.filter((name) => !name.startsWith('top/.file-history/'))).toEqual([])
    expect((await fileHistory(work.path('top'), 'list', '--dir', '.file-history')).out).toMatch(/^run-/)
    expect((await fileHistory(work.path('top'), 'rewind')).code).toBe(0)
    expect(await fs.readFile(work.path('top/a.txt'), 'utf8')).toBe('a1\n')
  },
)

test('a root of its own has a history of its own: names are recorded from it', async () => {
  await put('top/.git/HEAD', HEAD)
  expect(JSON.parse((await change('top', '--root', 'sub')).out)).toMatchObject({
    changed: [work.path('top/sub/b.txt')],
  })
  expect(await fs.readdir(work.path('top/.git'))).toEqual(['HEAD'])
  expect((await fileHistory(work.path('top/sub'), 'list', '--root', '.')).out).toMatch(/^run-/)
  expect((await fileHistory(work.path('top'), 'list')).out).toMatch(
    /^there is no history yet in [^\n]+; file-history run -- COMMAND makes one\n$/,
  )
})

test('--dir keeps it elsewhere', async () => {
  await put('top/.git/HEAD', HEAD)
  expect((await change('top', '--dir', '../kept')).code).toBe(0)
  expect((await fs.readdir(work.path('kept'))).includes('snapshots.jsonl')).toBe(true)
  expect(await fs.readdir(work.path('top/.git'))).toEqual(['HEAD'])
})

test.each([
  ['list', 0],
  ['verify', 0],
  ['diff', 125],
  ['rewind', 125],
  ['undo', 125],
  ['gc', 125],
  ['unlock', 0],
])('where there is no history, %s makes none', async (command, code) => {
  const before = await work.snapshot()
  expect(await fileHistory(work.path('top'), command)).toMatchObject({ code })
  expect(await work.snapshot()).toEqual(before)
})

test.each(['list', 'verify', 'diff', 'rewind', 'undo', 'gc', 'unlock'])(
  'where --dir names nothing, %s is refused in one line and makes nothing',
  async (command) => {
    const before = await work.snapshot()
    const { code, out, err } = await fileHistory(work.path('top'), command, '--dir', 'typo')
    expect({ code, out }).toEqual({ code: 125, out: '' })
    expect(err).toMatch(
      /^file-history: There is no file history in "\S+\/top\/typo"; [^\n]+ \[SNAPSHOT_NOT_FOUND\]\n$/,
    )
    expect(await work.snapshot()).toEqual(before)
  },
)

test('where a directory above has a history, it is said how to get at that', async () => {
  await put('top/.git/HEAD', HEAD)
  await change('top')
  const hint = `; --root ${JSON.stringify(work.path('top'))} has one`
  expect((await fileHistory(work.path('top'), 'list', '--root', 'sub')).out).toContain(hint)
  expect((await fileHistory(work.path('top'), 'rewind', '--root', 'sub')).err).toContain(hint)
  expect((await fileHistory(work.path('top'), 'rewind', '--root', 'sub', '--dir', 'typo')).err).not.toContain(
    hint,
  )
})

test('unlock: also what was cut off before its first write', async () => {
  await put('.kept.lock.1', '')
  expect((await fileHistory(work.root, 'unlock', '--dir', 'kept')).out).toBe('unlocked\n')
})
