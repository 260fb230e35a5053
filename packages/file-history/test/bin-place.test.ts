import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
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

describe('where --dir is a folder that is no history', () => {
  const READING = ['list', 'verify', 'diff', 'rewind', 'undo', 'gc', 'unlock']
  const refused = async (dir: string, why: RegExp, commands: readonly string[][]): Promise<void> => {
    const before = await work.snapshot()
    for (const command of commands) {
      const [name = '', ...rest] = command
      const { code, out, err } = await fileHistory(work.path('top'), name, '--dir', dir, ...rest)
      expect({ name, code, out }).toEqual({ name, code: 125, out: '' })
      expect(err).toMatch(/^file-history: [^\n]+ \[[A-Z_]+\]\n$/)
      expect(err).toMatch(why)
    }
    expect(await work.snapshot()).toEqual(before)
  }
  const all = [...READING.map((name) => [name]), ['snapshot', 'a.txt'], ['run', '--', 'true']]

  test('but holds something else: every command is refused in one line, and changes nothing', async () => {
    await refused('sub', /"\S+\/top\/sub" is no file history: it holds other files; /, all)
    await refused('.', /is no file history: it holds other files; /, all)
  })

  test('but a file', async () => {
    await refused('a.txt', /"\S+\/top\/a\.txt" is a file; --dir takes the folder of a history/, all)
  })

  test('but that of a session, whose transcript has the snapshots, or that lost them: gc takes no backup away', async () => {
    await put('session/0123456789abcdef@v1', 'backup')
    await refused('../session', /"\S+\/session" has no snapshots\.jsonl: /, all)
  })

  test('but empty: there is none yet, and run makes one', async () => {
    await fs.mkdir(work.path('empty'))
    await refused(
      '../empty',
      /There is no file history in "\S+\/empty"; /,
      READING.map((name) => [name]),
    )
    expect((await change('top', '--dir', '../empty')).code).toBe(0)
    expect((await fileHistory(work.path('top'), 'list', '--dir', '../empty')).out).toMatch(/^run-/)
  })
})

test('where the history in the git directory lost its snapshots.jsonl, that is no answer; run makes a new one', async () => {
  await put('top/.git/HEAD', HEAD)
  await change('top')
  await fs.rm(work.path('top/.git/file-history/snapshots.jsonl'))
  for (const command of ['list', 'verify', 'diff', 'gc']) {
    const { code, err } = await fileHistory(work.path('top'), command)
    expect(code).toBe(125)
    expect(err).toMatch(/^file-history: "\S+\/top\/\.git\/file-history" has no snapshots\.jsonl: [^\n]+\n$/)
  }
  expect((await change('top')).code).toBe(0)
  expect((await fileHistory(work.path('top'), 'list')).out).toMatch(/^run-/)
})

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
