import { join, relative, sep } from 'node:path'
import { files, OPEN_REGULAR } from '@loci/disk'
import ignore from 'ignore'
import type { Ignore } from 'ignore'
import { commonGitDir, findWorkTree } from './work-tree.ts'
import type { WorkTree } from './work-tree.ts'

/** A file of rules beyond this says nothing: what it would have left out is covered. */
const MAX_RULES_BYTES = 1 << 20

/**
 * Which files of a tree are left out, by `.gitignore` files as git reads them: the last rule that fits decides, those
 * of a deeper folder come after those above, and what is below an ignored directory cannot be taken in again. Upper
 * and lower case differ. Immutable.
 */
export class IgnoreRules {
  readonly #rules: Ignore
  /** From the folder that the rules are said from to the one that keys are from; ends with `/` unless empty. */
  readonly #prefix: string

  constructor(rules: Ignore = ignore({ ignorecase: false }), prefix = '') {
    this.#rules = rules
    this.#prefix = prefix
  }

  /** These rules, and then those that `text` holds for all below `folder` (its key, `''` for where keys are from). */
  with(folder: string, text: string): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
    const place = `${this.#prefix}${folder}`.replace(/\/$/, '')
    const patterns = lines.flatMap((line) => rebased(place, line) ?? [])
    if (patterns.length === 0) return this
    return new IgnoreRules(ignore({ ignorecase: false }).add(this.#rules).add(patterns), this.#prefix)
  }

  /** Whether the file, or directory, at `key` is left out; asked from the top down, so nothing above it is. */
  ignores(key: string, kind: 'file' | 'directory'): boolean {
    return this.#rules.ignores(`${this.#prefix}${key}${kind === 'directory' ? '/' : ''}`)
  }

  /** The same rules for keys that are from `folder`. */
  from(folder: string): IgnoreRules {
    return new IgnoreRules(this.#rules, `${this.#prefix}${folder}/`)
  }
}

/** A rule for all below `folder`, said from the root; `undefined` for a line that is none. */
function rebased(folder: string, line: string): string | undefined {
  const pattern = line.replace(/(?<!\\) +$/, '')
  if (pattern === '' || pattern.startsWith('#')) return undefined
  const isNegative = pattern.startsWith('!')
  const body = isNegative ? pattern.slice(1) : pattern
  // A slash before the last character ties a rule to its folder.
  const isTied = /\/./.test(body)
  const rest = body.replace(/^\//, '')
  if (rest === '' || rest === '/') return undefined
  const prefix = folder === '' ? '' : `/${folder.replaceAll(/[\\*?[\]!#]/g, String.raw`\$&`)}`
  return `${isNegative ? '!' : ''}${prefix}${isTied ? '/' : '/**/'}${rest}`
}

/**
 * The rules for all below `root` that no walk from there meets: of its git work tree `info/exclude`, and the `.gitignore`
 * files of the folders above it. None where those would leave out `root` itself: it was chosen nevertheless.
 */
export async function loadRulesAbove(root: string): Promise<IgnoreRules> {
  const tree = await findWorkTree(root).catch(() => undefined)
  if (tree === undefined) return new IgnoreRules()
  let rules = new IgnoreRules().with('', await readExclude(tree))
  const inside = relative(tree.root, root).split(sep).join('/')
  if (inside === '') return rules
  for (const folder of ['', ...parentsOf(inside)]) {
    rules = rules.with(folder, await readRules(join(tree.root, folder, '.gitignore')))
  }
  return rules.ignores(inside, 'directory') ? new IgnoreRules() : rules.from(inside)
}

/** The text of `info/exclude`; empty where a link leads there. */
async function readExclude({ gitDir }: WorkTree): Promise<string> {
  if (gitDir === undefined) return ''
  const info = join(await commonGitDir(gitDir).catch(() => gitDir), 'info')
  const stats = await files.lstat(info).catch(() => undefined)
  return stats?.isDirectory() === true ? readRules(join(info, 'exclude')) : ''
}

/** The directories that `key` is below, the root apart, outermost first. */
export function parentsOf(key: string): string[] {
  const parents: string[] = []
  for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
    parents.push(key.slice(0, slash))
  }
  return parents
}

/** The text of a file of rules; empty where it cannot be read, is a link, no file, or too long. */
export async function readRules(path: string): Promise<string> {
  try {
    const file = await files.open(path, OPEN_REGULAR)
    try {
      const stats = await file.stat()
      if (!stats.isFile() || stats.size > MAX_RULES_BYTES) return ''
      const buffer = Buffer.alloc(Number(stats.size))
      return buffer.subarray(0, await file.readFull(buffer, 0)).toString('utf8')
    } finally {
      await file.close()
    }
  } catch {
    return ''
  }
}
