import { join } from 'node:path'
import { files, isLociError } from '@loci/disk'
import { stampOf } from '../compare.ts'
import { commonGitDir } from '../work-tree.ts'

/** What git keeps beside the files, as far as that can be seen without running git. */
export interface GitState {
  /** The text of `HEAD`, and the commit that the branch it names is at. */
  head: string
  /** Stamp of the index, which a commit, `git add` and others write. */
  index: string
}

/** What a git directory says now. What cannot be read is as if it were not there. */
export async function readGitState(gitDir: string): Promise<GitState> {
  const head = await textOf(join(gitDir, 'HEAD'))
  const ref = /^ref: (.+?)\n*$/.exec(head)?.[1]
  const commit = ref === undefined ? '' : await commitOf(gitDir, ref)
  const index = await files.stat(join(gitDir, 'index')).then(stampOf, absent)
  return { head: `${head}${commit}`, index }
}

/** Of a worktree the branches are in the repository that it belongs to. */
async function commitOf(gitDir: string, ref: string): Promise<string> {
  const common = await commonGitDir(gitDir).catch(absent)
  const loose = await textOf(join(common, ref))
  if (loose !== '') return loose
  const packed = (await textOf(join(common, 'packed-refs'))).split('\n')
  return packed.find((line) => line.endsWith(` ${ref}`))?.replace(` ${ref}`, '\n') ?? ''
}

function textOf(path: string): Promise<string> {
  return files.readFile(path).then((bytes) => bytes.toString('utf8'), absent)
}

function absent(error: unknown): '' {
  if (!isLociError(error)) throw error
  return ''
}

/** What a command did to git's own, for people; `undefined`: nothing. Pure. */
export function gitChange(before: GitState, after: GitState): string | undefined {
  const what = [
    ...(before.head === after.head ? [] : ['HEAD moved']),
    ...(before.index === after.index ? [] : ['the index was written']),
  ]
  return what.length === 0 ? undefined : `git: ${what.join(' and ')}; no rewind takes that back, git does`
}
