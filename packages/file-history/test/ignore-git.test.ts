import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { walkTree } from '../src/walk-tree.ts'

let work: Tree | undefined
afterEach(async () => {
  await work?.remove()
  work = undefined
})

const FOLDERS = ['', 'a/', 'a/b/', 'a/b/c/', 'out/', 'a/out/', 'a/b/out/x/']
const NAMES = ['f.js', 'f.log', 'keep', 'b', 'out']
const PATTERNS = String.raw`
*.log /f.js out out/ /out/ b/keep /b/* a/**/f.js **/out a/b [fk]* */ a/b/out/**
/ !/ !*/ [!f]* [[:alpha:]]eep a/*/c **/a/**/b f\.js ** /**
!keep !*.log !/a/b/out !out/ #keep \!keep f.js\
`
  .trim()
  .split(/\s+/)
const someRules = fc.array(fc.constantFrom(...PATTERNS), { maxLength: 4 })
const someTree = fc.record({
  files: fc.uniqueArray(
    fc
      .tuple(fc.constantFrom(...FOLDERS), fc.constantFrom(...NAMES))
      .map(([folder, name]) => `${folder}${name}`),
    { minLength: 4 },
  ),
  rules: fc.dictionary(fc.constantFrom(...FOLDERS), someRules, { maxKeys: 3 }),
  exclude: someRules,
  root: fc.constantFrom('', 'a', 'a/b'),
  kind: fc.constantFrom('repository', 'worktree', 'separate'),
})

function git(cwd: string, ...argv: string[]): string {
  const env = { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }
  const options = ['-c', 'user.name=n', '-c', 'user.email=e@x', '-c', 'core.excludesFile=/dev/null']
  return execFileSync('git', [...options, ...argv], { cwd, env, encoding: 'utf8', stdio: 'pipe' })
}

/** Writes what has a place: where a file is there can be no folder, and the other way about. */
async function put(path: string, text: string): Promise<void> {
  await fs.mkdir(dirname(path), { recursive: true }).catch(() => undefined)
  await fs.writeFile(path, text).catch(() => undefined)
}

/** The top of a work tree of that kind, and where its `info/exclude` is. */
async function workTree(parent: string, kind: string): Promise<{ top: string; info: string }> {
  const top = join(parent, 'top')
  const main = join(parent, 'main')
  if (kind === 'separate') git(parent, 'init', '-q', '--separate-git-dir', main, top)
  else git(parent, 'init', '-q', kind === 'repository' ? top : main)
  if (kind === 'repository') return { top, info: join(top, '.git/info/exclude') }
  if (kind === 'separate') return { top, info: join(main, 'info/exclude') }
  git(main, 'commit', '-q', '--allow-empty', '-m', 'first')
  git(main, 'worktree', 'add', '-q', '--detach', top)
  return { top, info: join(main, '.git/info/exclude') }
}

/** What a walk from `root` covers, and what git would have from there. */
async function both(top: string, root: string): Promise<{ ours: string[]; gits: string[] }> {
  const walk = await walkTree(join(top, root), { skip: [], always: new Set(), maxIgnored: 1000 })
  const gits = git(join(top, root), 'ls-files', '--others', '--exclude-standard', '-z').split('\0')
  const ours = [...walk.files.values()].filter(({ isIgnored }) => !isIgnored)
  return { ours: ours.map(({ key }) => key).toSorted(), gits: gits.filter((key) => key !== '').toSorted() }
}

test('what git ignores is ignored, and nothing else: in any tree, from any folder that it does not ignore', async () => {
  await fc.assert(
    fc.asyncProperty(someTree, async ({ files, rules, exclude, root, kind }) => {
      await work?.remove()
      work = await tree({})
      const { top, info } = await workTree(work.root, kind)
      for (const file of ['a/b/f.js', ...files]) await put(join(top, file), 'text')
      for (const [folder, lines] of Object.entries(rules))
        await put(join(top, folder, '.gitignore'), lines.join('\n'))
      await put(info, exclude.join('\n'))
      fc.pre(root === '' || !isIgnoredByGit(top, root))
      const { ours, gits } = await both(top, root)
      expect(ours).toEqual(gits)
    }),
    { numRuns: 15 },
  )
})

function isIgnoredByGit(top: string, key: string): boolean {
  try {
    git(top, 'check-ignore', '-q', key)
    return true
  } catch {
    return false
  }
}

test.each(['out', 'out/p'])(
  'from a folder that git ignores (%s) rules from above say nothing: somebody chose it',
  async (root) => {
    work = await tree({
      'top/.gitignore': 'out\n*.log\n',
      'top/out/.gitignore': '!p\n',
      [`top/${root}/a.log`]: '1',
      [`top/${root}/a.tmp`]: '1',
      'top/out/p/.gitignore': '*.tmp\n',
    })
    git(work.path('top'), 'init', '-q')
    const { ours } = await both(work.path('top'), root)
    expect(ours.filter((key) => key.endsWith('.log'))).toEqual(['a.log'])
    expect(ours.includes('a.tmp')).toBe(root === 'out')
  },
)
