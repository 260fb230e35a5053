import { dirname } from 'node:path'
import { filesNow, isAbsent, isLocalFileSystem } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import type { FolderNames } from './folder-names.ts'
import { pace } from './in-parallel.ts'
import type { Backup } from './snapshot.ts'
import { roundedStamp } from './stat-cache.ts'
import type { Stamp, StatCache } from './stat-cache.ts'
import { isInside, pathOfKey } from './track-path.ts'

/** A file that is proven to be as its last backup holds it. */
export interface Unchanged {
  backup: Backup
  /** Real path of its directory. */
  directory: string
  /** `null`: it is absent, as recorded. */
  stats: FileStats | null
}

type Proven<S> = { backup: Backup; directory: string; stats: S | null } | undefined

/** What is asked once for many files. */
export interface QuickLookOptions {
  root: string
  /** Of the backup folder. */
  names: FolderNames
  latest: ReadonlyMap<string, Backup>
  cache: StatCache
  /** Where the files of keys are, as far as it was worked out. */
  places: Map<string, Place | null>
}

/** Where a key says that its file is; `null`: nowhere, the key is damaged. */
export interface Place {
  path: string
  parent: string
}

/**
 * One look at many tracked files without opening any: an lstat a file and a directory, the names in the backup folder
 * once. What it cannot prove is for the slower way, which also tells what is wrong with a file.
 * For one moment: what it learned of directories is not asked again.
 */
export class QuickLook {
  readonly #options: QuickLookOptions
  readonly #nowMs = Date.now()
  readonly #directories = new Map<string, string | null>()
  readonly #local = new Map<number, boolean>()
  #names: ReadonlySet<string> | undefined

  constructor(options: QuickLookOptions) {
    this.#options = options
  }

  /** Whether {@link atOnce} may be called: else the event loop is to have its turn first. */
  get hasTime(): boolean {
    return pace.turn === undefined
  }

  /** Lets the event loop have its turn; whether there is time then is to be asked again. */
  async letTurn(): Promise<void> {
    await pace.turn
  }

  /** The backup that a file is proven to be as, without waiting. */
  atOnce(key: string): Backup | undefined {
    return this.#prove(key, filesNow.lstatRounded)?.backup
  }

  /** As {@link atOnce}, when there is time for it, and with all that was seen. */
  async inTime(key: string): Promise<Unchanged | undefined> {
    while (!this.hasTime) await this.letTurn()
    const found = this.#prove(key, exactly)
    return found && { ...found, stats: found.stats && found.stats.exact }
  }

  #prove<S extends Stamp>(key: string, look: (path: string) => S): Proven<S> {
    const { latest, cache, places } = this.#options
    const backup = latest.get(key)
    if (backup === undefined) return undefined
    const { backupFileName: name } = backup
    if (name !== null && !cache.knows(key, name)) return undefined
    const place = places.has(key) ? places.get(key) : this.#place(key)
    if (!place) return undefined
    const { path, parent } = place
    const directory = this.#realDirectory(parent)
    if (directory === null || directory !== (backup.realParentDir ?? directory)) return undefined
    const stats = statsOf(path, look)
    if (stats === undefined) return undefined
    if (stats === null || name === null) return stats === name ? { backup, directory, stats } : undefined
    const isProven = cache.proves(key, name, stats, this.#nowMs)
    const isGood = isProven && this.#isLocal(stats.dev, path) && this.holdsBackup(name)
    return isGood ? { backup, directory, stats } : undefined
  }

  #place(key: string): Place | null {
    const { path, problem } = pathOfKey(this.#options.root, key)
    const place = problem === undefined ? { path, parent: dirname(path) } : null
    this.#options.places.set(key, place)
    return place
  }

  /** Whether a backup of this name is in the folder. */
  holdsBackup(name: string): boolean {
    this.#names ??= this.#options.names.look()
    return this.#names.has(name)
  }

  #realDirectory(path: string): string | null {
    const known = this.#directories.get(path)
    if (known !== undefined) return known
    const directory = this.#isPlain(path) ? path : (orNothing(() => filesNow.realpath(path)) ?? null)
    this.#directories.set(path, directory)
    return directory
  }

  /** Whether it is a directory of the root and no link, in one that is: its real path asks for every part again. */
  #isPlain(path: string): boolean {
    const { root } = this.#options
    if (path === root || !isInside(root, path)) return false
    const above = dirname(path)
    return (
      this.#realDirectory(above) === above && statsOf(path, filesNow.lstatRounded)?.isDirectory() === true
    )
  }

  /** Asked of the file itself: another file system may be mounted over one file of a directory. */
  #isLocal(device: number, path: string): boolean {
    const known = this.#local.get(device)
    if (known !== undefined) return known
    const type = orNothing(() => filesNow.statfs(path).type)
    const isLocal = type !== undefined && isLocalFileSystem(type)
    this.#local.set(device, isLocal)
    return isLocal
  }
}

function exactly(path: string): Stamp & { exact: FileStats } {
  const exact = filesNow.lstat(path)
  return { ...roundedStamp(exact), exact }
}

/** `null`: absent; `undefined`: it cannot be looked at. */
function statsOf<S>(path: string, look: (path: string) => S): S | null | undefined {
  pace.spend(1)
  try {
    return look(path)
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
