import { join } from 'node:path'
import { files, orAbsent } from '@loci/disk'
import { kindOf, modeOf } from './compare.ts'

/** What a walk sees of a file without reading it. */
export interface WalkedFile {
  /** Path from the root, `/` between parts. */
  key: string
  kind: 'file' | 'link' | 'special'
  sizeBytes: number
  mode: number
  /** Inode, mtime and ctime: equal for a file that nobody touched, unless within one tick of the clock. */
  stamp: string
  ctimeMs: number
}

/**
 * Every file, link and special file below `root`, shallow directories first and `node_modules` last, so that limits
 * cut off what matters least. Links are not followed. `.git` and the folders in `skip` are left out.
 * Names that are not UTF-8, and directories that cannot be read, are listed in `unreadable`.
 */
export async function walkTree(
  root: string,
  skip: readonly string[],
): Promise<{ files: Map<string, WalkedFile>; unreadable: Set<string> }> {
  const found = new Map<string, WalkedFile>()
  const unreadable = new Set<string>()
  const later: string[] = []
  const queue = ['']
  for (let folder = queue.shift(); folder !== undefined; folder = queue.shift() ?? later.shift()) {
    let entries
    try {
      entries = (await orAbsent(files.readdir(join(root, folder)))) ?? []
    } catch {
      unreadable.add(folder)
      continue
    }
    for (const { name } of entries) {
      const key = folder === '' ? name : `${folder}/${name}`
      if (name === '.git' || skip.includes(join(root, key))) continue
      const stats = await statOf(join(root, key))
      if (stats === undefined || stats === 'unreadable') {
        // Listed but not there: it went away just now, or its name is no UTF-8 and cannot be spelled.
        if (stats !== undefined || name.includes('\uFFFD')) unreadable.add(key)
        continue
      }
      const kind = kindOf(stats)
      if (kind === 'directory') (name === 'node_modules' ? later : queue).push(key)
      else {
        found.set(key, {
          key,
          kind,
          sizeBytes: Number(stats.size),
          mode: modeOf(stats),
          stamp: `${stats.dev}:${stats.ino}:${stats.mtimeNs}:${stats.ctimeNs}`,
          ctimeMs: Number(stats.ctimeMs),
        })
      }
    }
  }
  return { files: found, unreadable }
}

async function statOf(
  path: string,
): Promise<Awaited<ReturnType<typeof files.lstat>> | undefined | 'unreadable'> {
  try {
    return await orAbsent(files.lstat(path))
  } catch {
    return 'unreadable'
  }
}
