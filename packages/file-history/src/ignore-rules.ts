import { join } from 'node:path'
import { files, OPEN_REGULAR } from '@loci/disk'
import ignore from 'ignore'
import type { Ignore } from 'ignore'

/** A file of rules beyond this says nothing: what it would have left out is covered. */
const MAX_RULES_BYTES = 1 << 20

/**
 * Which files of a tree are left out, by `.gitignore` files as git reads them: the last rule that fits decides, those
 * of a deeper folder come after those above, and what is below an ignored directory cannot be taken in again. Upper
 * and lower case differ. Immutable.
 */
export class IgnoreRules {
  readonly #rules: Ignore

  constructor(rules: Ignore = ignore({ ignorecase: false })) {
    this.#rules = rules
  }

  /** These rules, and then those that `text` holds for all below `folder` (its path from the root, `''` for that). */
  with(folder: string, text: string): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
    const patterns = lines.flatMap((line) => rebased(folder, line) ?? [])
    if (patterns.length === 0) return this
    return new IgnoreRules(ignore({ ignorecase: false }).add(this.#rules).add(patterns))
  }

  /** Whether the file, or directory, at `key` is left out; asked from the top down, so nothing above it is. */
  ignores(key: string, kind: 'file' | 'directory'): boolean {
    return this.#rules.ignores(kind === 'directory' ? `${key}/` : key)
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

/** The rules of the folder `root` itself that no walk meets: `.git/info/exclude`, unless a link leads there. */
export async function loadExclude(root: string): Promise<IgnoreRules> {
  const rules = new IgnoreRules()
  for (const folder of ['.git', '.git/info']) {
    const stats = await files.lstat(join(root, folder)).catch(() => undefined)
    if (stats?.isDirectory() !== true) return rules
  }
  return rules.with('', await readRules(join(root, '.git/info/exclude')))
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
