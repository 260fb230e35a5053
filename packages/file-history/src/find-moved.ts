import { dirname, join } from 'node:path'
import { filesNow } from '@loci/disk'
import { isSameState, lookAt } from './compare.ts'
import type { FileState } from './compare.ts'
import { pace } from './in-parallel.ts'
import type { Move } from './renames.ts'
import { isInside, ownFolder, pathOfKey, realDirectory } from './track-path.ts'

/** Names that are looked at for a moved file, at most. */
const MAX_NAMES = 10_000

/** A tracked file as it was last seen. */
export interface Seen {
  /** `device:inode`. */
  inode: string
  state: FileState
}

/**
 * Where files went that are gone, when somebody moved them: the same inode with the same bytes and bits. They are looked
 * for where that is cheap: among the names in the folders above them and in those of `tracked`, and, where a folder went
 * as well, below the folders beside it. A name that is tracked, a link, hard-linked, or one of two that could be meant
 * is left alone.
 *
 * @param gone keys of the files, all of them absent now
 */
export async function findMoved(
  options: { dir: string; root: string; tracked: ReadonlySet<string> },
  gone: ReadonlyMap<string, Seen>,
): Promise<Move[]> {
  const { dir, root, tracked } = options
  const pathOf = (key: string): string => pathOfKey(root, key).path
  const search = new InodeSearch(gone)
  const folders = new Set<string>()
  for (const path of Array.from(gone.keys(), pathOf)) {
    const { folder, below } = lastFolderOf(root, path)
    if (below !== '') await search.lookIn(folder, below)
    for (let above = dirname(path); isInside(root, above); above = dirname(above)) folders.add(above)
  }
  for (const key of tracked) folders.add(dirname(pathOf(key)))
  for (const folder of folders) await search.lookIn(folder)
  const moves: Move[] = []
  for (const [from, paths] of search.found) {
    const [path, ...others] = paths
    const seen = gone.get(from)
    if (path === undefined || others.length > 0 || seen === undefined) continue
    const to = path.slice(root.length + 1)
    const isOurs = isInside(root, path) && !isInside(ownFolder(dir, root), path)
    if (!isOurs || tracked.has(to) || to.split('/').includes('.git')) continue
    if (await isStill(path, seen)) moves.push({ from, to })
  }
  return moves
}

/** Looks for files by their inodes. */
class InodeSearch {
  /** Paths at which the file of a key may be. */
  readonly found = new Map<string, Set<string>>()
  readonly #keys = new Map<string, string | undefined>()
  readonly #looked = new Set<string>()

  constructor(wanted: ReadonlyMap<string, Seen>) {
    // An inode that two of them had says nothing.
    for (const [key, { inode }] of wanted) this.#keys.set(inode, this.#keys.has(inode) ? undefined : key)
  }

  /** Looks at each name in `folder`, or at what is `below` each of them. */
  async lookIn(folder: string, below = ''): Promise<void> {
    if (this.#looked.size >= MAX_NAMES) return
    for (const name of orNothing(() => filesNow.names(folder)) ?? []) this.#look(join(folder, name, below))
    while (pace.turn !== undefined) await pace.turn
  }

  #look(path: string): void {
    if (this.#looked.has(path) || this.#looked.size >= MAX_NAMES) return
    this.#looked.add(path)
    pace.spend(1)
    const stats = orNothing(() => filesNow.lstat(path))
    const key = this.#keys.get(`${stats?.dev}:${stats?.ino}`)
    if (key === undefined || stats?.isFile() !== true) return
    this.found.set(key, (this.found.get(key) ?? new Set()).add(path))
  }
}

/** The deepest folder above `path` that is there, and the rest of the path below the folder that went; `''`: none did. */
function lastFolderOf(root: string, path: string): { folder: string; below: string } {
  let folder = dirname(path)
  let went = ''
  while (folder !== root && isInside(root, folder)) {
    const isThere = orNothing(() => filesNow.lstat(folder)) !== undefined
    if (isThere) break
    went = folder
    folder = dirname(folder)
  }
  return { folder, below: went === '' ? '' : path.slice(went.length + 1) }
}

/** Whether the file, reached through no link, is what was seen. */
async function isStill(path: string, { inode, state }: Seen): Promise<boolean> {
  try {
    if ((await realDirectory(dirname(path))) !== dirname(path)) return false
    const look = await lookAt(path)
    return look.kind === 'file' && look.inode === inode && look.links === 1 && isSameState(look.state, state)
  } catch {
    return false
  }
}

function orNothing<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
