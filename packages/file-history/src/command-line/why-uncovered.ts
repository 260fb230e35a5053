import { join, relative } from 'node:path'
import { isLociError } from '@loci/disk'
import { kindOf } from '../compare.ts'
import { loadRulesAbove, parentsOf, readRules } from '../ignore-rules.ts'
import { MAX_FILES } from '../track-command.ts'
import { ownFolder, statOf } from '../track-path.ts'
import { walkTree } from '../walk-tree.ts'
import type { Place } from './place.ts'

/** Why a run did not cover what it changed at `path`, as far as that can be seen afterwards. For people. */
export async function whyUncovered(root: string, path: string): Promise<string> {
  const kind = await kindAt(path)
  if (path.includes('\uFFFD')) return 'its name is not UTF-8'
  if (kind === 'link') return 'it is a symbolic link'
  if (kind === 'special') return 'it is no regular file'
  if (await isIgnored(root, relative(root, path), kind === 'directory' ? 'directory' : 'file')) {
    const what = kind === 'directory' ? 'its files' : 'it'
    return `ignored by git’s rules; file-history snapshot PATH covers ${what}`
  }
  if (kind === 'directory') return 'a directory is in its place'
  return 'it or its copy could not be read, or it was over a limit: --max-files, --max-bytes'
}

async function kindAt(path: string): Promise<ReturnType<typeof kindOf> | 'absent'> {
  try {
    const stats = await statOf(path)
    return stats === undefined ? 'absent' : kindOf(stats)
  } catch (error) {
    if (isLociError(error)) return 'absent'
    throw error
  }
}

async function isIgnored(root: string, key: string, kind: 'file' | 'directory'): Promise<boolean> {
  let rules = await loadRulesAbove(root)
  for (const folder of ['', ...parentsOf(key)]) {
    if (folder !== '' && rules.ignores(folder, 'directory')) return true
    rules = rules.with(folder, await readRules(join(root, folder, '.gitignore')))
  }
  return rules.ignores(key, kind)
}

/** The ignored folders, as they are now, of which a command's changes are not seen: they are beyond the limit. */
export async function foldersBeyond({ dir, root }: Place, maxFiles: number = MAX_FILES): Promise<string[]> {
  const skip = [ownFolder(dir, root)]
  const walk = await walkTree(root, { skip, always: new Set(), maxIgnored: maxFiles })
  return Array.from(walk.files.values()).flatMap(({ kind, key }) =>
    kind === 'directory' ? [join(root, key)] : [],
  )
}
