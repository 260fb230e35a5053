import { filesNow, isLocalFileSystem } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { isSettled, isUntouched } from './read-small.ts'

const NONE: ReadonlySet<string> = new Set()

/**
 * The names in a folder, read again only when the folder's own stats say that one came or went: its ctime moves with
 * every entry. Where that is not certain (it moved within the last second, or the file system is not local) they are
 * read each time.
 */
export class FolderNames {
  readonly #path: string
  #known: { stats: FileStats; names: ReadonlySet<string> } | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** As they are now; none where the folder cannot be read. */
  look(): ReadonlySet<string> {
    try {
      const nowMs = Date.now()
      const stats = filesNow.lstat(this.#path)
      if (this.#known && isUntouched(this.#known.stats, stats)) return this.#known.names
      const names = new Set(filesNow.names(this.#path))
      const isCertain = isSettled(stats, nowMs) && isLocalFileSystem(filesNow.statfs(this.#path).type)
      this.#known = isCertain ? { stats, names } : undefined
      return names
    } catch {
      return NONE
    }
  }
}
