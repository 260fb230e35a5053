import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import type { FileHistory } from '@loci/file-history'
import { afterEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

async function start(content: Record<string, string>, options: { maxFiles?: number } = {}): Promise<void> {
  work = await project(content)
  history = await work.open(options)
  await history.makeSnapshot('m1')
}

/** A command that appends to each of the files, or makes it. */
function touchAll(names: readonly string[]): Promise<{ changed: string[]; untracked: string[] }> {
  return history.trackCommand('c1', async () => {
    for (const name of names) await work.write(name, `${(await work.read(name)) ?? ''}more`)
  })
}

/** What is ignored of `files` by `rules` (a text for each file of rules). */
const RULES: { what: string; rules: Record<string, string>; files: string[]; ignored: string[] }[] = [
  {
    what: 'a rule without a slash is for every depth; comments, empty lines and a byte order mark are none',
    rules: { '.gitignore': '\uFEFF*.log\n\n# a.txt\n/\n' },
    files: ['a.txt', 'a.log', 'd/e/b.log', '# a.txt'],
    ignored: ['a.log', 'd/e/b.log'],
  },
  {
    what: 'a rule with a slash in it is tied to its folder',
    rules: { '.gitignore': '/a.txt\r\nd/b.txt\r\n' },
    files: ['a.txt', 'd/a.txt', 'd/b.txt', 'e/d/b.txt'],
    ignored: ['a.txt', 'd/b.txt'],
  },
  {
    what: 'a rule that ends with a slash is for directories alone',
    rules: { '.gitignore': 'out/\n' },
    files: ['out/a.txt', 'd/out/b/c.txt', 'e/out'],
    ignored: ['d/out/b/c.txt', 'out/a.txt'],
  },
  {
    what: 'the last rule decides, and below an ignored directory nothing comes back',
    rules: { '.gitignore': '*.txt\n!keep.txt\nout/\n!out/keep.txt\nin/*\n!in/keep.txt\n' },
    files: ['a.txt', 'keep.txt', 'out/keep.txt', 'in/a', 'in/keep.txt'],
    ignored: ['a.txt', 'in/a', 'out/keep.txt'],
  },
  {
    what: 'a deeper file of rules is for its folder, and comes after those above',
    rules: { '.gitignore': 'build/\n*.js\n', 'd/.gitignore': '!build/\n!/a.js\nx\n' },
    files: ['x', 'a.js', 'build/b', 'd/a.js', 'd/build/b', 'd/build/c.js', 'd/e/a.js', 'd/e/x'],
    ignored: ['a.js', 'build/b', 'd/build/c.js', 'd/e/a.js', 'd/e/x'],
  },
  {
    what: 'signs in the name of a folder are no signs of its rules',
    rules: { 'a*[b]/.gitignore': 'x\n/y\n', '!c/.gitignore': 'x\n' },
    files: ['a*[b]/x', 'a*[b]/d/x', 'a*[b]/y', 'ab/x', 'a*[b]/d/y', '!c/x', 'c/x'],
    ignored: ['!c/x', 'a*[b]/d/x', 'a*[b]/x', 'a*[b]/y'],
  },
  {
    what: '.git/info/exclude counts before all others; upper and lower case differ',
    rules: { '.git/HEAD': '', '.git/info/exclude': '*.tmp\n/local\n', 'd/.gitignore': '!*.tmp\n' },
    files: ['a.tmp', 'a.TMP', 'local/x', 'd/b.tmp'],
    ignored: ['a.tmp', 'local/x'],
  },
]

test.each(RULES)('$what', async ({ rules, files, ignored }) => {
  await start({ ...rules, ...Object.fromEntries(files.map((name) => [name, 'text'])) })
  const { changed, untracked } = await touchAll(files)
  expect(untracked).toEqual(ignored.map(work.path).toSorted())
  expect(changed).toEqual(
    files
      .filter((name) => !ignored.includes(name))
      .map(work.path)
      .toSorted(),
  )
})

test('ignored files are not copied, and a rewind leaves them alone', async () => {
  await start({ '.gitignore': 'dist/\n*.log\n', 'a.txt': 'a1', 'dist/out.js': 'o1', 'x.log': 'x1' })
  const { changed, untracked } = await history.trackCommand('c1', async () => {
    await work.write('a.txt', 'a2')
    await work.write('dist/new.js', 'n')
    await work.remove('dist/out.js')
    await work.remove('x.log')
  })
  expect(await fs.readdir(work.inDir('base'))).toHaveLength(2)
  expect(changed).toEqual([work.path('a.txt')])
  expect(untracked).toEqual(['dist/new.js', 'dist/out.js', 'x.log'].map(work.path))
  await history.rewind('m1')
  expect(await work.files()).toMatchObject({ 'a.txt': { text: 'a1' }, 'dist/new.js': { text: 'n' } })
})

test('a file that an edit tracks stays covered although it is ignored', async () => {
  await start({ '.gitignore': '.env\ndist/\n', '.env': 'e1', 'dist/a.js': 'a1' }, { maxFiles: 3 })
  await edit(work, history, '.env', 'e2')
  await edit(work, history, 'dist/a.js', 'a2')
  // Too many files for a look at each.
  for (const name of ['b', 'c', 'd', 'e']) await work.write(`dist/${name}.js`, 'x')
  await history.makeSnapshot('m2')
  const { changed } = await touchAll(['.env', 'dist/a.js'])
  expect(changed).toEqual(['.env', 'dist/a.js'].map(work.path))
  await history.rewind('m2')
  expect([await work.read('.env'), await work.read('dist/a.js')]).toEqual(['e2', 'a2'])
})

test('rules that a command writes keep no file out that was covered before, but leave out what it makes', async () => {
  await start({ 'a.txt': 'a1', 'd/b.txt': 'b1' })
  const { changed, untracked } = await history.trackCommand('c1', async () => {
    await work.write('.gitignore', '*\n')
    await work.write('a.txt', 'a2')
    await work.remove('d/b.txt')
    await work.write('venv/lib.py', 'made')
  })
  expect(changed).toEqual(['a.txt', 'd/b.txt'].map(work.path))
  expect(untracked).toEqual(['.gitignore', 'venv/lib.py'].map(work.path))
  await history.rewind('m1')
  expect([await work.read('a.txt'), await work.read('d/b.txt')]).toEqual(['a1', 'b1'])
})

test('rules that a command writes hide no file of many, that were covered, from the look after it', async () => {
  await start({ 'd/a': 'a1', 'd/b': 'b1', 'd/same': 's1', 'c.txt': 'c1' }, { maxFiles: 4 })
  const before = await work.files()
  const { changed, untracked } = await history.trackCommand('c1', async () => {
    await work.write('.gitignore', 'd/\n')
    for (const name of ['a', 'x', 'y', 'z']) await work.write(`d/${name}`, 'made')
    await work.remove('d/b')
  })
  expect(changed).toEqual(['.gitignore', 'd/a', 'd/b'].map(work.path))
  expect(untracked).toEqual([work.path('d')])
  await history.rewind('m1')
  expect(await work.files()).toMatchObject(before)
})

test('of an ignored directory with too many files only itself is looked at, and named if that changed', async () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`node_modules/f${number}`, 'x']))
  await start({ '.gitignore': 'node_modules/\nout\n', 'out/a': 'a', ...many }, { maxFiles: 20 })
  let looks = 0
  setFaultHook((operation, path) => {
    if (operation === 'lstat' && path.includes('/node_modules/')) looks += 1
    return undefined
  })
  const first = await touchAll(['node_modules/f1', 'out/a'])
  expect(looks).toBe(0)
  expect(first).toMatchObject({ changed: [], untracked: [work.path('out/a')] })
  expect(await touchAll(['node_modules/new'])).toMatchObject({ untracked: [work.path('node_modules')] })
  const removed = await history.trackCommand('c2', () => work.remove('node_modules'))
  expect(removed.untracked).toEqual([work.path('node_modules')])
})

test('an ignored directory that could be looked into on one side alone is named', async () => {
  await start({ '.gitignore': 'out\n', 'out/a': 'a', 'out/b': 'b' }, { maxFiles: 3 })
  const { changed, untracked } = await touchAll(['out/c', 'out/d'])
  expect([changed, untracked]).toEqual([[], [work.path('out')]])
})

test('rules are read through no link', async () => {
  await start({ 'a.txt': 'a1', 'd/a.txt': 'a1', '.git/HEAD': 'ref' })
  await fs.writeFile(work.beside('rules'), '*\n')
  await fs.mkdir(work.beside('info'))
  await fs.writeFile(work.beside('info/exclude'), '*\n')
  await fs.symlink(work.beside('rules'), work.path('d/.gitignore'))
  await fs.symlink(work.beside('info'), work.path('.git/info'))
  expect((await touchAll(['a.txt', 'd/a.txt'])).changed).toEqual(['a.txt', 'd/a.txt'].map(work.path))
})

test('a repository’s index, refs, stash and objects are left as they are, byte for byte', async () => {
  await start({ 'a.txt': 'a1', '.gitignore': '*.log\n', 'x.log': 'x' })
  const env = { PATH: process.env['PATH'], HOME: work.root, GIT_CONFIG_NOSYSTEM: '1' }
  const git = (...args: string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], {
      cwd: work.root,
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'first')
  await work.write('a.txt', 'staged')
  git('add', 'a.txt')
  await work.write('a.txt', 'stashed')
  git('stash')
  await work.write('a.txt', 'a2')
  git('add', 'a.txt')
  await history.makeSnapshot('m2')
  const repository = async (): Promise<unknown> => {
    const found = Object.entries(await work.files()).filter(([name]) => name.startsWith('.git/'))
    return Object.fromEntries(found)
  }
  const before = await repository()
  const { changed, untracked } = await touchAll(['a.txt', 'b.txt', 'x.log'])
  expect([changed, untracked]).toEqual([['a.txt', 'b.txt'].map(work.path), [work.path('x.log')]])
  await history.rewind('m2')
  await history.undoRewind()
  await history.rewind('m1')
  expect(await repository()).toEqual(before)
  expect(Object.keys(before ?? {})).toContain('.git/refs/stash')
  expect(git('diff', '--cached', '--name-only')).toBe('a.txt\n')
})

test('an ignored file that a command moves to a name that is not is not taken away: it is the only copy', async () => {
  await start({ '.gitignore': '.env\n', '.env': 'secret', 'a.txt': 'a1' })
  const { changed, untracked } = await history.trackCommand('c1', async () => {
    await fs.rename(work.path('.env'), work.path('env.txt'))
    await work.write('a.txt', 'a2')
    await work.write('new.txt', 'n')
  })
  expect({ changed, untracked }).toEqual({
    changed: ['a.txt', 'new.txt'].map(work.path),
    untracked: ['.env', 'env.txt'].map(work.path),
  })
  await history.rewind('m1')
  expect([await work.read('a.txt'), await work.read('new.txt'), await work.read('env.txt')]).toEqual([
    'a1',
    null,
    'secret',
  ])
})
