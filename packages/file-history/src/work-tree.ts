import { dirname, join, resolve } from 'node:path'
import { fileErrno, files, orAbsent } from '@loci/disk'
import type { FileStats } from '@loci/disk'

/** A git work tree. */
export interface WorkTree {
  root: string
  /** Absent where `.git` names a directory that is not there, such as a worktree mounted without its repository. */
  gitDir?: string
}

/** The nearest directory upwards with a `.git`: a directory, or a file that names one (a worktree, a submodule). */
export async function findWorkTree(start: string): Promise<WorkTree | undefined> {
  for (let root = start; ; root = dirname(root)) {
    const path = join(root, '.git')
    const stats = await look(path)
    if (stats?.isFile() === true) {
      const named = /^gitdir: (.+?)\r?\n*$/.exec((await files.readFile(path)).toString('utf8'))?.[1]
      const gitDir = named === undefined ? undefined : resolve(root, named)
      return gitDir !== undefined && (await isGitDirectory(gitDir)) ? { root, gitDir } : { root }
    }
    if (stats?.isDirectory() === true && (await isGitDirectory(path))) return { root, gitDir: path }
    if (root === dirname(root)) return undefined
  }
}

async function isGitDirectory(path: string): Promise<boolean> {
  return (await look(join(path, 'HEAD'))) !== undefined
}

/** What is there, as far as it can be seen: above the start there may be directories that are closed to us. */
async function look(path: string): Promise<FileStats | undefined> {
  try {
    return await orAbsent(files.stat(path))
  } catch (error) {
    if (fileErrno(error) === 'EACCES' || fileErrno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** The git directory of the repository itself, where that of a worktree keeps only what is its own. */
export async function commonGitDir(gitDir: string): Promise<string> {
  const named = await orAbsent(files.readFile(join(gitDir, 'commondir')))
  return named === undefined ? gitDir : resolve(gitDir, named.toString('utf8').trim())
}
