import { join } from 'node:path'
import { errorMessage, files, orAbsent } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { kindOf, modeOf, stampOf } from './compare.ts'

/** What a walk sees of a file without reading it. */
export interface WalkedFile {
  /** Path from the root, `/` between parts. */
  key: string
  /** `unspellable`: everything whose name, not being UTF-8, reads as this key. */
  kind: 'file' | 'link' | 'special' | 'unspellable'
  sizeBytes: number
  mode: number
  /** Inode, mtime and ctime: equal for a file that nobody touched, unless within one tick of the clock. */
  stamp: string
  ctimeMs: number
}

/**
 * Every file, link and special file below `root`, shallow directories first and `node_modules` last, so that limits
 * cut off what matters least. Links are not followed. `.git` and the folders in `skip` are left out.
 * What cannot be looked at (a directory that cannot be listed, a name in one that cannot be entered) is in
 * `unreadable`: of that, and of all below it, nobody knows whether it is there.
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
      if (stats === 'unreadable') {
        unreadable.add(key)
        continue
      }
      if (stats === undefined) {
        // Listed but not there: it went away just now, or its name is no UTF-8 and cannot be spelled.
        if (name.includes('\uFFFD')) found.set(key, await lookUnspellable(join(root, folder), key))
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
          stamp: stampOf(stats),
          ctimeMs: Number(stats.ctimeMs),
        })
      }
    }
  }
  return { files: found, unreadable }
}

async function lookUnspellable(folder: string, key: string): Promise<WalkedFile> {
  const stamps = await files.statUndecodable(folder).then(
    (stats) => [...stats].map(([name, each]) => `${name} ${stampOf(each)}`),
    // Gone, or not to be looked at: seen as another state, so that it is named.
    (error: unknown) => [errorMessage(error)],
  )
  return { key, kind: 'unspellable', sizeBytes: 0, mode: 0, stamp: stamps.join('\n'), ctimeMs: 0 }
}

async function statOf(path: string): Promise<FileStats | undefined | 'unreadable'> {
  try {
    return await orAbsent(files.lstat(path))
  } catch {
    return 'unreadable'
  }
}
