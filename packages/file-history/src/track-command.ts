import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { files, isLociError, orAbsent } from '@loci/disk'
import { copyLive, removeScratch } from './backup.ts'
import { compareStatsAndContent } from './compare.ts'
import type { Tracker } from './tracker.ts'
import { walkTree } from './walk-tree.ts'
import type { WalkedFile } from './walk-tree.ts'

/** Files of a tree that are copied before a command, at most. */
export const MAX_FILES = 20_000
/** Bytes of a tree that are copied before a command, at most: 512 MiB. */
export const MAX_BASE_BYTES: number = 512 << 20

/** A time within which two looks at one file may show equal stamps although it changed. */
const SETTLED_MS = 1000

/** What a command tracker works on, and how much of the tree it copies. */
export interface CommandTrackerOptions {
  dir: string
  root: string
  tracker: Tracker
  maxFiles: number
  maxBytes: number
  maxFileBytes: number
}

/** A tree as it was before a command. */
interface Base {
  files: Map<string, WalkedFile>
  unreadable: Set<string>
  /** Files whose bytes are in the base folder. */
  copied: Map<string, { stamp: string; isSettled: boolean }>
}

/**
 * Sees what a command does to the tree under the root, by comparing it with a copy made before. The copy stays and
 * serves the next command, which copies only what changed since. Commands that overlap share one copy, and so each
 * reports what any of them did.
 */
export class CommandTracker {
  readonly #options: CommandTrackerOptions
  #running = 0
  #base: Promise<Base> | undefined
  #copied: Base['copied'] = new Map()

  constructor(options: CommandTrackerOptions) {
    this.#options = options
  }

  /** The tree before, shared with the commands that run already. */
  async begin(): Promise<Base> {
    this.#running += 1
    try {
      if (this.#running === 1 || this.#base === undefined) this.#base = this.#prepare()
      return await this.#base
    } catch (error) {
      this.end()
      throw error
    }
  }

  end(): void {
    this.#running -= 1
    if (this.#running === 0) this.#base = undefined
  }

  async #prepare(): Promise<Base> {
    const { dir, root, maxFiles, maxBytes, maxFileBytes } = this.#options
    const folder = join(dir, 'base')
    await files.mkdir(folder, 0o700)
    const walked = await walkTree(root, [dir])
    const copied: Base['copied'] = new Map()
    let sizeBytes = 0
    for (const file of walked.files.values()) {
      if (file.kind !== 'file' || file.sizeBytes > maxFileBytes) continue
      sizeBytes += file.sizeBytes
      if (copied.size >= maxFiles || sizeBytes > maxBytes) {
        sizeBytes -= file.sizeBytes
        continue
      }
      const known = this.#copied.get(file.key)
      const isKnown = known?.isSettled === true && known.stamp === file.stamp
      if (isKnown || (await this.#copy(file))) {
        copied.set(file.key, { stamp: file.stamp, isSettled: Date.now() - file.ctimeMs > SETTLED_MS })
      }
    }
    this.#copied = copied
    return { ...walked, copied }
  }

  /** Whether the base folder holds the file as it is now. A file that cannot be read is not covered. */
  async #copy({ key }: WalkedFile): Promise<boolean> {
    const path = join(this.#options.root, key)
    const base = this.#basePath(key)
    if ((await orAbsent(files.lstat(base))) !== undefined) {
      if ((await compareStatsAndContent(path, base)) === 'same') return true
      await files.unlink(base)
    }
    try {
      return (await copyLive(path, base)) !== undefined
    } catch (error) {
      await removeScratch(base)
      if (isLociError(error, 'DISK_FULL')) throw error
      return false
    }
  }

  #basePath(key: string): string {
    const hash = createHash('sha256').update(key, 'utf8').digest('hex').slice(0, 32)
    return join(this.#options.dir, 'base', hash)
  }

  /** What differs from `base` now. Covered changes are recorded for `messageId`; the others are named. Absolute paths. */
  async cover(base: Base, messageId: string): Promise<{ changed: string[]; untracked: string[] }> {
    const { dir, root, tracker } = this.#options
    const now = await walkTree(root, [dir])
    const changed: string[] = []
    const untracked = new Set<string>([...now.unreadable].filter((key) => !base.unreadable.has(key)))
    for (const key of new Set([...base.files.keys(), ...now.files.keys()])) {
      const before = base.files.get(key)
      const after = now.files.get(key)
      if (!(await this.#isChanged(base, before, after))) continue
      const isCovered = before === undefined ? after?.kind === 'file' : base.copied.has(key)
      if (isCovered && (after === undefined || after.kind === 'file')) changed.push(key)
      else untracked.add(key)
    }
    for (const key of changed) {
      const hadBytes = base.copied.has(key)
      await tracker.trackChanged(key, hadBytes ? this.#basePath(key) : null, messageId)
    }
    await tracker.recordStates(changed, messageId)
    const absolute = (key: string): string => join(root, key)
    return { changed: changed.map(absolute).toSorted(), untracked: [...untracked].map(absolute).toSorted() }
  }

  async #isChanged(
    base: Base,
    before: WalkedFile | undefined,
    after: WalkedFile | undefined,
  ): Promise<boolean> {
    if (before === undefined || after === undefined) return before !== after
    if (before.kind !== after.kind) return true
    const copy = base.copied.get(after.key)
    if (before.stamp === after.stamp && (copy === undefined || copy.isSettled)) return false
    if (copy === undefined || after.kind !== 'file') return before.stamp !== after.stamp
    const path = join(this.#options.root, after.key)
    return (await compareStatsAndContent(path, this.#basePath(after.key))) === 'changed'
  }
}

/**
 * Runs a command and covers what it does to the tree, whether it succeeds or not.
 *
 * @throws what `run` threw, after its edits are covered; both errors in an AggregateError if covering failed too
 */
export async function trackCommand<T>(
  commands: CommandTracker,
  messageId: string,
  run: () => Promise<T>,
  during: <R>(action: () => Promise<R>) => Promise<R>,
): Promise<{ result: T; changed: string[]; untracked: string[] }> {
  const base = await during(() => commands.begin())
  try {
    const outcome = await run().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    const covered = await during(() => commands.cover(base, messageId)).catch((error: unknown) => {
      if ('error' in outcome)
        throw new AggregateError([outcome.error, error], 'The command failed, and so did recording it')
      throw error
    })
    if ('error' in outcome) throw outcome.error
    return { ...outcome, ...covered }
  } finally {
    commands.end()
  }
}
