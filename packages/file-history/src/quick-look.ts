import { basename, dirname, join } from 'node:path'
import { filesNow, isAbsent, isLocalFileSystem } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { pace } from './in-parallel.ts'
import type { Backup } from './snapshot.ts'
import type { StatCache } from './stat-cache.ts'
import { pathOfKey } from './track-path.ts'

/** A file that is proven to be as its last backup holds it. */
export interface Unchanged {
  backup: Backup
  /** By the real path of its directory. */
  realPath: string
  /** `null`: it is absent, as recorded. */
  stats: FileStats | null
}

/** What is asked once for many files. */
export interface QuickLookOptions {
  dir: string
  root: string
  latest: ReadonlyMap<string, Backup>
  cache: StatCache
}

/**
 * One look at many tracked files without opening any: an lstat a file, a realpath a directory, the names in the
 * backup folder once. What it cannot prove is for the slower way, which also tells what is wrong with a file.
 * For one moment: what it learned of directories is not asked again.
 */
export class QuickLook {
  readonly #options: QuickLookOptions
  readonly #nowMs = Date.now()
  readonly #directories = new Map<string, string | undefined>()
  readonly #local = new Map<bigint, boolean>()
  #names: ReadonlySet<string> | undefined

  constructor(options: QuickLookOptions) {
    this.#options = options
  }

  /** Whether {@link atOnce} may be called: else the event loop is to have its turn first. */
  get hasTime(): boolean {
    return pace.turn === undefined
  }

  /** As {@link atOnce}, when there is time for it. */
  async inTime(key: string): Promise<Unchanged | undefined> {
    if (!this.hasTime) await pace.ready()
    return this.atOnce(key)
  }

  /** What is proven of a file, without waiting. */
  atOnce(key: string): Unchanged | undefined {
    const { root, latest, cache } = this.#options
    const backup = latest.get(key)
    if (backup === undefined) return undefined
    const { backupFileName: name } = backup
    if (name !== null && !cache.knows(key, name)) return undefined
    const { path, problem } = pathOfKey(root, key)
    if (problem !== undefined) return undefined
    const parent = dirname(path)
    const directory = this.#realDirectory(parent)
    if (directory === undefined || directory !== (backup.realParentDir ?? directory)) return undefined
    const stats = lstatOf(path)
    if (stats === undefined) return undefined
    const found = { backup, realPath: join(directory, basename(path)), stats }
    if (stats === null || name === null) return stats === name ? found : undefined
    const isProven = stats.isFile() && cache.proves(key, name, stats, this.#nowMs)
    return isProven && this.#isLocal(stats.dev, directory) && this.holdsBackup(name) ? found : undefined
  }

  /** Whether a backup of this name is in the folder. */
  holdsBackup(name: string): boolean {
    this.#names ??= new Set(orNothing(() => filesNow.names(this.#options.dir)))
    return this.#names.has(name)
  }

  #realDirectory(path: string): string | undefined {
    if (!this.#directories.has(path)) {
      this.#directories.set(
        path,
        orNothing(() => filesNow.realpath(path)),
      )
    }
    return this.#directories.get(path)
  }

  #isLocal(device: bigint, directory: string): boolean {
    const known = this.#local.get(device)
    if (known !== undefined) return known
    const type = orNothing(() => filesNow.statfs(directory).type)
    const isLocal = type !== undefined && isLocalFileSystem(type)
    this.#local.set(device, isLocal)
    return isLocal
  }
}

/** `null`: absent; `undefined`: it cannot be looked at. */
function lstatOf(path: string): FileStats | null | undefined {
  pace.spend(1)
  try {
    return filesNow.lstat(path)
  } catch (error) {
    return isAbsent(error) ? null : undefined
  }
}

function orNothing<T>(action: () => T): T | undefined {
  try {
    return action()
  } catch {
    return undefined
  }
}
