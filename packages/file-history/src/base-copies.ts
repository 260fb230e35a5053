import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { files, isLociError, orAbsent } from '@loci/disk'
import { copyLive, removeScratch } from './backup.ts'
import { compareStatsAndContent } from './compare.ts'
import type { WalkedFile } from './walk-tree.ts'

/** A time within which two looks at one file may show equal stamps although it changed. */
const SETTLED_MS = 1000

/** The copy of a file in the base folder. */
interface BaseCopy {
  /** Name inside the base folder. */
  name: string
  stamp: string
  /** Whether an equal stamp proves that the file is as it was copied. */
  isSettled: boolean
}

/** Which files of a tree have a copy, by key. */
export type BaseIndex = Map<string, BaseCopy>

/**
 * Copies of a tree's files in the folder `base`. A copy that some command still needs is never written again nor
 * removed: a file that changed since gets another, so that each command has the bytes as of its own start.
 * Calls must not overlap.
 */
export class BaseCopies {
  readonly folder: string
  readonly #root: string
  #latest: BaseIndex = new Map()
  /** Copies of the files as they were before a command that was cut off, and whose index is lost. */
  #kept: ReadonlySet<string> | undefined

  constructor(dir: string, root: string) {
    this.folder = join(dir, 'base')
    this.#root = root
  }

  /** Copies what changed since the last call, as far as the limits go. Files that are ignored, or cannot be read, have no copy. */
  async take(
    walked: Iterable<WalkedFile>,
    inUse: readonly BaseIndex[],
    limits: { maxFiles: number; maxBytes: number; maxFileBytes: number },
    isKept: boolean,
  ): Promise<BaseIndex> {
    await files.mkdir(this.folder, 0o700)
    this.#kept ??= new Set(isKept ? (await files.readdir(this.folder)).map(({ name }) => name) : [])
    const copied: BaseIndex = new Map()
    let sizeBytes = 0
    for (const file of walked) {
      if (file.kind !== 'file' || file.isIgnored || file.sizeBytes > limits.maxFileBytes) continue
      if (copied.size >= limits.maxFiles || sizeBytes + file.sizeBytes > limits.maxBytes) continue
      sizeBytes += file.sizeBytes
      const known = this.#latest.get(file.key)
      const isKnown = known?.isSettled === true && known.stamp === file.stamp
      const name = isKnown ? known.name : await this.#copy(file, inUse)
      if (name === undefined) continue
      copied.set(file.key, { name, stamp: file.stamp, isSettled: Date.now() - file.ctimeMs > SETTLED_MS })
    }
    const former = this.#latest
    this.#latest = copied
    await this.release(former, inUse)
    return copied
  }

  /** The name of a copy of the file as it is now. */
  async #copy({ key }: WalkedFile, inUse: readonly BaseIndex[]): Promise<string | undefined> {
    const path = join(this.#root, key)
    const hash = createHash('sha256').update(key, 'utf8').digest('hex').slice(0, 32)
    for (let number = 0; ; number += 1) {
      const name = number === 0 ? hash : `${hash}.${number}`
      const copy = join(this.folder, name)
      try {
        if ((await orAbsent(files.lstat(copy))) !== undefined) {
          if ((await compareStatsAndContent(path, copy)) === 'same') return name
          if (this.#isNeeded(key, name, inUse)) continue
          await files.unlink(copy)
        }
        return (await copyLive(path, copy)) === undefined ? undefined : name
      } catch (error) {
        if (!this.#isNeeded(key, name, inUse)) await removeScratch(copy)
        if (isLociError(error, 'DISK_FULL')) throw error
        return undefined
      }
    }
  }

  #isNeeded(key: string, name: string, inUse: readonly BaseIndex[]): boolean {
    return this.#kept?.has(name) === true || inUse.some((index) => index.get(key)?.name === name)
  }

  /** Removes the copies of `index` that neither the next command nor one in `inUse` can use. */
  async release(index: BaseIndex, inUse: readonly BaseIndex[]): Promise<void> {
    for (const [key, { name }] of index) {
      if (this.#latest.get(key)?.name === name || this.#isNeeded(key, name, inUse)) continue
      await removeScratch(join(this.folder, name))
    }
  }

  /** The folder is about to be emptied. */
  forget(): void {
    this.#latest = new Map()
    this.#kept = new Set()
  }
}
