import { join, relative, sep } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { errorMessage, fileErrno, files, filesNow } from '@loci/disk'
import { IgnoreRules, loadRulesAbove, readRules } from '@loci/file-history/ignore'
import { isInside } from './file-target.ts'

/** A file that a walk found. */
interface WalkedFile {
  /** From where the walk began, `/` between parts. */
  key: string
  path: string
  sizeBytes: number
  mtimeMs: number
  isLink: boolean
}

export interface FileWalk {
  /** Newest first; of the same time by key. */
  files: WalkedFile[]
  /** What was not seen, a sentence each. */
  problems: string[]
}

/** Entries of directories that are looked at. */
const MAX_ENTRIES = 200_000

interface Folder {
  key: string
  rules: IgnoreRules
}

/**
 * The files and links below `directory`, a real path, that `fits` takes by their key. What `.gitignore` files and git's
 * `info/exclude` leave out, and `.git`, is not looked at, unless it is `directory` itself that they leave out. No link is
 * followed.
 *
 * @throws {LociError} DISK_IO when `directory` itself cannot be listed; what `signal` says when it is aborted
 */
export async function walkFiles(options: {
  directory: string
  /** The project, where rules count even without git. */
  root: string
  fits: (key: string) => boolean
  /** Files that are not to be told of, by path. */
  isWithheld: (path: string) => boolean
  signal: AbortSignal
}): Promise<FileWalk> {
  const { directory, root, fits, isWithheld, signal } = options
  const soon: Folder[] = [{ key: '', rules: await rulesFor(root, directory) }]
  // Last, so that the limit cuts off what matters least.
  const later: Folder[] = []
  const found: WalkedFile[] = []
  const problems: string[] = []
  let looked = 0
  for (let folder = soon.shift(); folder !== undefined; folder = soon.shift() ?? later.shift()) {
    signal.throwIfAborted()
    const { key: above } = folder
    const path = join(directory, above)
    const entries = await files.readdir(path).catch((error: unknown) => {
      if (above === '') throw error
      if (!GONE.has(fileErrno(error) ?? '')) problems.push(errorMessage(error))
      return []
    })
    looked += entries.length
    if (looked > MAX_ENTRIES) {
      problems.push(`Only ${MAX_ENTRIES} entries were looked at; give a path that holds less`)
      break
    }
    const hasRules = entries.some((entry) => entry.name === '.gitignore' && entry.isFile())
    const rules = hasRules
      ? folder.rules.with(above, await readRules(join(path, '.gitignore')))
      : folder.rules
    for (const entry of entries) {
      const key = above === '' ? entry.name : `${above}/${entry.name}`
      if (entry.name === '.git') continue
      if (entry.isDirectory()) {
        if (!rules.ignores(key, 'directory'))
          (entry.name === 'node_modules' ? later : soon).push({ key, rules })
      } else if ((entry.isFile() || entry.isSymbolicLink()) && fits(key) && !rules.ignores(key, 'file')) {
        const file = lookAt(join(path, entry.name), key)
        if (file !== undefined) found.push(file)
      }
    }
    if (entries.length > 1000) await nextTurn()
  }
  const open = found.filter((file) => !isWithheld(file.path))
  const withheld = found.length - open.length
  if (withheld > 0) problems.push(`${withheld} left out by permission rules`)
  return { files: open.toSorted(newestFirst), problems }
}

const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

function newestFirst(a: WalkedFile, b: WalkedFile): number {
  return b.mtimeMs - a.mtimeMs || (a.key < b.key ? -1 : 1)
}

/** `undefined`: it is gone, became something else, or has a name that no string spells. */
function lookAt(path: string, key: string): WalkedFile | undefined {
  try {
    const stats = filesNow.lstatRounded(path)
    if (!stats.isFile() && !stats.isSymbolicLink()) return undefined
    return { key, path, sizeBytes: stats.size, mtimeMs: stats.mtimeMs, isLink: stats.isSymbolicLink() }
  } catch (error) {
    if (fileErrno(error) === undefined) throw error
    return undefined
  }
}

/** The rules of the project for a directory in it; elsewhere those of the git work tree that it is in. */
async function rulesFor(root: string, directory: string): Promise<IgnoreRules> {
  if (!isInside(root, directory)) return loadRulesAbove(directory)
  let rules = await loadRulesAbove(root)
  const inside = relative(root, directory).split(sep).join('/')
  if (inside === '') return rules
  const names = inside.split('/')
  for (const count of names.keys()) {
    const folder = names.slice(0, count).join('/')
    rules = rules.with(folder, await readRules(join(root, folder, '.gitignore')))
    if (rules.ignores(names.slice(0, count + 1).join('/'), 'directory')) return new IgnoreRules()
  }
  return rules.from(inside)
}
