import { realpath, rm } from 'node:fs/promises'
import { memoryRoot } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'

let work: Tree | undefined
afterEach(async () => {
  await work?.remove()
  work = undefined
})

/** A Git directory as Git makes it, as far as anybody who looks for it looks. */
const git = (at: string, config = '[core]\n\tbare = false\n'): Record<string, TreeFile> => ({
  [`${at}/HEAD`]: 'ref: refs/heads/main\n',
  [`${at}/config`]: config,
  [`${at}/objects/`]: '',
  [`${at}/refs/`]: '',
})

/** What a linked worktree consists of: its `.git` file, and what the repository knows of it. */
async function addWorktree(repository: string, name: string): Promise<Tree> {
  const outer = work as Tree
  const added = await tree({
    '.git': `gitdir: ${outer.path(repository)}/worktrees/${name}\n`,
    'src/deep/': '',
  })
  const { mkdir, writeFile } = await import('node:fs/promises')
  const own = `${outer.path(repository)}/worktrees/${name}`
  await mkdir(own, { recursive: true })
  await writeFile(`${own}/HEAD`, 'ref: refs/heads/side\n')
  await writeFile(`${own}/commondir`, '../..\n')
  await writeFile(`${own}/gitdir`, `${added.path('.git')}\n`)
  return added
}

test('M06: a repository and its subfolders share its root', async () => {
  work = await tree({ ...git('repo/.git'), 'repo/src/deep/': '' })
  for (const cwd of ['repo', 'repo/src', 'repo/src/deep', 'repo/.git', 'repo/.git/refs']) {
    expect(await memoryRoot(work.path(cwd))).toBe(work.path('repo'))
  }
})

test('M06: a linked worktree and its subfolders map to the main repository, as long as the worktree is there', async () => {
  work = await tree(git('repo/.git'))
  const linked = await addWorktree('repo/.git', 'w')
  try {
    expect(await memoryRoot(linked.root)).toBe(work.path('repo'))
    expect(await memoryRoot(linked.path('src/deep'))).toBe(work.path('repo'))
  } finally {
    await linked.remove()
  }
  expect(await memoryRoot(linked.root)).toBe(linked.root)
  expect(await memoryRoot(work.path('repo'))).toBe(work.path('repo'))
})

test('M06: a submodule is a project of its own, and so are its worktrees one with it', async () => {
  work = await tree({
    ...git('repo/.git'),
    ...git(
      'repo/.git/modules/sub',
      '[core]\n\tbare = false\n\tworktree = ../../../sub\n[remote "origin"]\n\turl = /x\n',
    ),
    'repo/sub/.git': 'gitdir: ../.git/modules/sub\n',
    'repo/sub/src/': '',
  })
  expect(await memoryRoot(work.path('repo/sub/src'))).toBe(work.path('repo/sub'))
  expect(await memoryRoot(work.path('repo'))).toBe(work.path('repo'))
  const linked = await addWorktree('repo/.git/modules/sub', 'w')
  try {
    expect(await memoryRoot(linked.root)).toBe(work.path('repo/sub'))
  } finally {
    await linked.remove()
  }
})

test('M06: worktrees of a bare repository share the folder of that repository', async () => {
  work = await tree(git('store.git', '[core]\n\tbare = true\n'))
  const linked = await addWorktree('store.git', 'w')
  try {
    expect(await memoryRoot(linked.path('src'))).toBe(work.path('store.git'))
    expect(await memoryRoot(work.path('store.git'))).toBe(work.path('store.git'))
  } finally {
    await linked.remove()
  }
})

test('M06: a bare repository inside the folder of its worktrees stands for that folder', async () => {
  work = await tree({ ...git('app/.bare', '[core]\n\tbare = true\n'), 'app/.git': 'gitdir: ./.bare\n' })
  const linked = await addWorktree('app/.bare', 'w')
  try {
    expect(await memoryRoot(linked.path('src'))).toBe(work.path('app'))
    expect(await memoryRoot(work.path('app'))).toBe(work.path('app'))
    expect(await memoryRoot(work.path('app/.bare'))).toBe(work.path('app'))
  } finally {
    await linked.remove()
  }
})

test('M06: outside a repository it is the directory itself, by its real path', async () => {
  work = await tree({ 'a/b/': '', link: { link: 'a' }, 'c/.git/': '', 'd/.git': 'not what Git writes\n' })
  expect(await memoryRoot(work.path('a/b'))).toBe(work.path('a/b'))
  expect(await memoryRoot(work.path('link/b'))).toBe(work.path('a/b'))
  expect(await memoryRoot(work.path('c'))).toBe(work.path('c'))
  expect(await memoryRoot(work.path('d'))).toBe(work.path('d'))
  expect(await memoryRoot(work.path('gone/x'))).toBe(work.path('gone/x'))
})

test('an empty .git on the way hides no repository above it', async () => {
  work = await tree({ ...git('repo/.git'), 'repo/sub/.git/': '', 'repo/file': '' })
  expect(await memoryRoot(work.path('repo/sub'))).toBe(work.path('repo'))
  expect(await memoryRoot(work.path('repo/file'))).toBe(work.path('repo'))
})

test('a folder that claims to be a worktree of a repository that does not know it gets no part in its memory', async () => {
  work = await tree(git('repo/.git'))
  const known = await addWorktree('repo/.git', 'w')
  const thief = await tree({ '.git': `gitdir: ${work.path('repo/.git/worktrees/w')}\n` })
  const plain = await tree({ '.git': `gitdir: ${work.path('repo/.git')}\n` })
  try {
    expect(await memoryRoot(thief.root)).toBe(thief.root)
    expect(await memoryRoot(plain.root)).toBe(plain.root)
    await rm(`${work.path('repo/.git/worktrees/w')}/gitdir`)
    expect(await memoryRoot(known.root)).toBe(known.root)
  } finally {
    await Promise.all([known.remove(), thief.remove(), plain.remove()])
  }
})

test('a worktree that names its repository by a relative path', async () => {
  work = await tree({
    ...git('repo/.git'),
    'repo/.git/worktrees/w/HEAD': 'ref: refs/heads/side\n',
    'repo/.git/worktrees/w/commondir': '../..\n',
    'repo/.git/worktrees/w/gitdir': '../../../../w/.git\n',
    'w/.git': 'gitdir: ../repo/.git/worktrees/w\r\n',
  })
  expect(await memoryRoot(work.path('w'))).toBe(await realpath(work.path('repo')))
})
