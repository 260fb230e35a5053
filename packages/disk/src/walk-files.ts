import { join } from 'node:path'
import { files, orAbsent } from './file-operations.ts'
import type { FileStats } from './file-operations.ts'

/** Something below a directory that is none itself: a file, a link, a FIFO. */
export interface WalkedFile {
  path: string
  name: string
  stats: FileStats
}

/**
 * Everything below `directory` but directories themselves; nothing where there is none. Follows no link and opens no
 * file. Holds the names of one directory and its parents at a time.
 *
 * @param options.onUnreadable told of each directory or file that cannot be looked at; the rest still comes
 */
export async function* walkFiles(
  directory: string,
  options: { onUnreadable: (path: string, error: unknown) => void },
): AsyncGenerator<WalkedFile> {
  const look = async <T>(path: string, action: Promise<T>): Promise<T | undefined> => {
    try {
      return await orAbsent(action)
    } catch (error) {
      options.onUnreadable(path, error)
      return undefined
    }
  }
  const waiting = [directory]
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    for (const entry of (await look(current, files.readdir(current))) ?? []) {
      const path = join(current, entry.name)
      if (entry.isDirectory()) {
        waiting.push(path)
        continue
      }
      const stats = await look(path, files.lstat(path))
      if (stats !== undefined) yield { path, name: entry.name, stats }
    }
  }
}
