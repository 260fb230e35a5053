import { dirname, join } from 'node:path'
import { errorMessage, files, filesNow, isAbsent } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { kindOf, modeOf, stampOf } from './compare.ts'
import { loadRulesAbove, parentsOf, readRules } from './ignore-rules.ts'
import type { IgnoreRules } from './ignore-rules.ts'
import { inParallel, pace } from './in-parallel.ts'
import { realDirectory } from './track-path.ts'

/** What a walk sees of a file without reading it. */
export interface WalkedFile {
  /** Path from the root, `/` between parts. */
  key: string
  /**
   * `unspellable`: everything whose name, not being UTF-8, reads as this key. `directory`: an ignored one of which
   * only itself was looked at.
   */
  kind: 'file' | 'link' | 'special' | 'unspellable' | 'directory'
  sizeBytes: number
  mode: number
  /** Inode, mtime and ctime: equal for a file that nobody touched, unless within one tick of the clock. */
  stamp: string
  ctimeMs: number
  /** By a `.gitignore` or git's `info/exclude`. */
  isIgnored: boolean
}

/** How a walk goes. */
export interface WalkOptions {
  /** Absolute paths that are left out with all below them. */
  skip: readonly string[]
  /** Keys of files that count as not ignored, whatever the rules say. */
  always: ReadonlySet<string>
  /** Entries of ignored directories that are looked at, at most. */
  maxIgnored: number
}

/** What a walk saw. */
export interface Walk {
  files: Map<string, WalkedFile>
  /**
   * What cannot be looked at (a directory that cannot be listed, a name in one that cannot be entered): of that, and
   * of all below it, nobody knows whether it is there.
   */
  unreadable: Set<string>
}

/** A directory to be walked. */
interface Folder {
  key: string
  /** `undefined`: it is ignored, and so is all below it. */
  rules: IgnoreRules | undefined
}

/**
 * Every file, link and special file below `root`, shallow directories first, then `node_modules`, then what is
 * ignored, so that limits cut off what matters least. Links are not followed, and no rules are read through one.
 * `.git` is left out. An ignored directory with more entries than are left to look at is seen as a whole.
 */
export async function walkTree(root: string, options: WalkOptions): Promise<Walk> {
  const walk = new TreeWalk(root, options)
  await walk.run()
  return { files: walk.files, unreadable: walk.unreadable }
}

class TreeWalk implements Walk {
  readonly files = new Map<string, WalkedFile>()
  readonly unreadable = new Set<string>()
  readonly #root: string
  readonly #options: WalkOptions
  readonly #soon: Folder[] = []
  readonly #later: Folder[] = []
  readonly #ignored: Folder[] = []
  #ignoredLeft: number

  constructor(root: string, options: WalkOptions) {
    this.#root = root
    this.#options = options
    this.#ignoredLeft = options.maxIgnored
  }

  async run(): Promise<void> {
    this.#soon.push({ key: '', rules: await loadRulesAbove(this.#root) })
    for (let folder = this.#next(); folder !== undefined; folder = this.#next())
      await this.#walkFolder(folder)
    const unseen = [...this.#options.always].filter((key) => !this.files.has(key) && !key.startsWith('/'))
    await inParallel(unseen, (key) => this.#lookApart(key))
  }

  #next(): Folder | undefined {
    return this.#soon.shift() ?? this.#later.shift() ?? this.#ignored.shift()
  }

  async #walkFolder({ key: folder, rules: above }: Folder): Promise<void> {
    const path = join(this.#root, folder)
    if (above === undefined && this.#ignoredLeft <= 0) return this.#seeAsWhole(folder)
    const names = namesIn(path)
    if (names === 'unreadable') {
      this.unreadable.add(folder)
      return
    }
    if (above === undefined && names.length > this.#ignoredLeft) return this.#seeAsWhole(folder)
    if (above === undefined) this.#ignoredLeft -= names.length
    const entries = []
    for (const name of names) {
      if (name === '.git' || this.#options.skip.includes(join(path, name))) continue
      while (pace.turn !== undefined) await pace.turn
      entries.push({ name, stats: statOf(join(path, name)) })
    }
    const hasRules = entries.some(({ name, stats }) => name === '.gitignore' && typeof stats === 'object')
    const rules = hasRules ? above?.with(folder, await readRules(join(path, '.gitignore'))) : above
    for (const { name, stats } of entries) {
      const key = folder === '' ? name : `${folder}/${name}`
      if (stats === 'unreadable') this.unreadable.add(key)
      // Listed but not there: it went away just now, or its name is no UTF-8 and cannot be spelled.
      else if (stats !== undefined) this.#see(key, stats, rules)
      // So is one that reads as the name of another file: neither is covered then.
      const isOdd =
        name.includes('\uFFFD') && (stats === undefined || names.indexOf(name) < names.lastIndexOf(name))
      if (isOdd) this.files.set(key, await lookUnspellable(path, key, this.files.get(key)?.stamp))
    }
  }

  #see(key: string, stats: FileStats, rules: IgnoreRules | undefined): void {
    const kind = kindOf(stats)
    if (kind === 'directory') {
      if (rules === undefined || rules.ignores(key, 'directory'))
        this.#ignored.push({ key, rules: undefined })
      else if (key === 'node_modules' || key.endsWith('/node_modules')) this.#later.push({ key, rules })
      else this.#soon.push({ key, rules })
      return
    }
    const isIgnored = !this.#options.always.has(key) && (rules === undefined || rules.ignores(key, 'file'))
    this.files.set(key, walkedFile(key, kind, stats, isIgnored))
  }

  #seeAsWhole(key: string): void {
    const stats = statOf(join(this.#root, key))
    if (stats === 'unreadable') this.unreadable.add(key)
    else if (stats !== undefined) this.files.set(key, walkedFile(key, 'directory', stats, true))
  }

  /** A file that must be looked at although its directory was not walked, unless a link leads there. */
  async #lookApart(key: string): Promise<void> {
    const isBelowWhole = parentsOf(key).some((parent) => this.files.get(parent)?.kind === 'directory')
    if (!isBelowWhole) return
    const path = join(this.#root, key)
    const place = await realDirectory(dirname(path)).catch(() => undefined)
    if (place !== dirname(path)) return
    const stats = statOf(path)
    if (stats === 'unreadable') this.unreadable.add(key)
    else if (stats !== undefined && !stats.isDirectory()) {
      this.files.set(key, walkedFile(key, kindOf(stats), stats, false))
    }
  }
}

function walkedFile(key: string, kind: WalkedFile['kind'], stats: FileStats, isIgnored: boolean): WalkedFile {
  return {
    key,
    kind,
    sizeBytes: Number(stats.size),
    mode: modeOf(stats),
    stamp: stampOf(stats),
    ctimeMs: Number(stats.ctimeMs),
    isIgnored,
  }
}

async function lookUnspellable(folder: string, key: string, twin = ''): Promise<WalkedFile> {
  const stamps = await files.statUndecodable(folder).then(
    (stats) => [...stats].map(([name, each]) => `${name} ${stampOf(each)}`),
    // Gone, or not to be looked at: seen as another state, so that it is named.
    (error: unknown) => [errorMessage(error)],
  )
  const stamp = [twin, ...stamps].join('\n')
  return { key, kind: 'unspellable', sizeBytes: 0, mode: 0, stamp, ctimeMs: 0, isIgnored: false }
}

function statOf(path: string): FileStats | undefined | 'unreadable' {
  pace.spend(1)
  return seen(() => filesNow.lstat(path))
}

/** Sorted, so that nothing depends on the order a file system gives; none in a directory that is not there. */
function namesIn(path: string): string[] | 'unreadable' {
  pace.spend(1)
  const names = seen(() => filesNow.names(path)) ?? []
  return names === 'unreadable' ? names : names.toSorted()
}

/** Without waiting: a tree has thousands of files. `undefined`: not there. */
function seen<T>(look: () => T): T | undefined | 'unreadable' {
  try {
    return look()
  } catch (error) {
    return isAbsent(error) ? undefined : 'unreadable'
  }
}
