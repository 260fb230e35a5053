import { basename, dirname, join, resolve } from 'node:path'
import { fileErrno, files, isLociError, orAbsent } from '@loci/disk'
import { readRegular } from './read-regular.ts'

/**
 * The directory that keys a project's memory: the root of the main repository that `cwd` lies in, so that
 * subfolders and linked worktrees share one memory and it outlives each worktree. A submodule is a repository
 * of its own; worktrees of a bare repository share the folder that holds it as `.bare` or the like (where a
 * `.git` file points to it), else the bare repository's own folder. Outside a repository: `cwd`.
 * All as real paths. Reads Git's files itself: no Git is needed, and no environment variable is heeded.
 *
 * A `.git` file that points to another repository is followed only if that repository knows the worktree: a
 * folder unpacked from somewhere cannot borrow another project's memory.
 *
 * @throws {LociError} DISK_IO when a directory on the way cannot be read
 */
export async function memoryRoot(cwd: string): Promise<string> {
  const start = (await orAbsent(files.realpath(cwd))) ?? resolve(cwd)
  for (let directory = start; ; directory = dirname(directory)) {
    const root = await rootAt(directory)
    if (root !== undefined) return root
    if (dirname(directory) === directory) return start
  }
}

/** The main root if `directory` is the top of a working tree or a bare repository. */
async function rootAt(directory: string): Promise<string | undefined> {
  const git = await gitDirOf(join(directory, '.git'))
  if (git === undefined) return (await isGitDir(directory)) ? mainRoot(directory) : undefined
  const common = await commonDirOf(git, join(directory, '.git'))
  // Without a common directory it is a submodule, or a repository that keeps its Git directory elsewhere.
  return common === undefined ? directory : mainRoot(common)
}

/** The Git directory that a `.git` directory or file stands for; `undefined` if there is none that is one. */
async function gitDirOf(dotGit: string): Promise<string | undefined> {
  const stats = await lookAt(files.stat(dotGit))
  if (stats === undefined) return undefined
  const target = stats.isDirectory()
    ? dotGit
    : /^gitdir: (.+?)[\r\n]*$/.exec((await readText(dotGit)) ?? '')?.[1]
  if (target === undefined) return undefined
  const real = await lookAt(files.realpath(resolve(dirname(dotGit), target)))
  return real !== undefined && (await lookAt(files.stat(join(real, 'HEAD')))) !== undefined ? real : undefined
}

/** The Git directory shared by all worktrees, if `git` belongs to a linked one that it knows by `dotGit`. */
async function commonDirOf(git: string, dotGit: string): Promise<string | undefined> {
  const pointer = await readText(join(git, 'commondir'))
  if (pointer === undefined) return undefined
  const known = await readText(join(git, 'gitdir'))
  if (known === undefined) return undefined
  const worktree = await lookAt(files.realpath(resolve(git, known.trim())))
  if (worktree !== (await files.realpath(dotGit))) return undefined
  const common = await lookAt(files.realpath(resolve(git, pointer.trim())))
  return common !== undefined && (await isGitDir(common)) ? common : undefined
}

/** The root of the main working tree of a Git directory; of a bare one, the directory itself. */
async function mainRoot(git: string): Promise<string> {
  const parent = dirname(git)
  if ((await gitDirOf(join(parent, '.git'))) === git) return parent
  const config = await readText(join(git, 'config'))
  // A submodule's Git directory names its working tree here.
  const worktree = /^[ \t]*worktree[ \t]*=[ \t]*"?(.+?)"?[ \t\r]*$/m.exec(config ?? '')?.[1]
  if (worktree === undefined || basename(git) === '.git') return git
  const root = await lookAt(files.realpath(resolve(git, worktree)))
  return root !== undefined && (await gitDirOf(join(root, '.git'))) === git ? root : git
}

async function isGitDir(directory: string): Promise<boolean> {
  for (const name of ['HEAD', 'objects', 'refs']) {
    if ((await lookAt(files.stat(join(directory, name)))) === undefined) return false
  }
  return true
}

/** The text of a file of Git's, links followed as Git does; `undefined` if it is not there or no regular file. */
async function readText(path: string): Promise<string | undefined> {
  const real = await lookAt(files.realpath(path))
  if (real === undefined) return undefined
  try {
    return (await readRegular(real))?.bytes.toString('utf8')
  } catch (error) {
    if (isLociError(error, 'MEMORY_INVALID')) return undefined
    throw error
  }
}

/** What is looked for, or `undefined` if it is not there; a path through a file or a loop leads nowhere. */
async function lookAt<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR'].includes(fileErrno(error) ?? '')) return undefined
    throw error
  }
}
