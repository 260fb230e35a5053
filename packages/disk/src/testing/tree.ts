import * as fs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** A file of a temporary tree: its contents, or contents with permission bits, or the target of a link. */
export type TreeFile = string | Uint8Array | { text?: string | Uint8Array; mode?: number; link?: string }
/** Every file and link below the root, by path from there with `/`. Bytes that are not UTF-8 read as base64. */
export type TreeSnapshot = Record<string, { mode: number; text: string } | { link: string }>

/** A temporary directory with files in it. */
export interface Tree {
  /** Real path of the directory. */
  readonly root: string
  path(name: string): string
  read(name: string): Promise<string>
  snapshot(): Promise<TreeSnapshot>
  remove(): Promise<void>
}

/**
 * Makes a temporary directory that holds `content`; names may contain `/`, a name that ends in `/` is an empty
 * directory. Goes past the file port, so that a fault loop never counts the test's own work.
 */
export async function tree(content: Record<string, TreeFile> = {}): Promise<Tree> {
  const root = await fs.realpath(await fs.mkdtemp(join(tmpdir(), 'loci-')))
  for (const [name, file] of Object.entries(content)) await makeFile(join(root, name), name, file)
  return {
    root,
    path: (name) => join(root, name),
    read: (name) => fs.readFile(join(root, name), 'utf8'),
    snapshot: async () => {
      const entries = await snapshotOf(root, root)
      return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
    },
    remove: () => fs.rm(root, { recursive: true, force: true }),
  }
}

async function makeFile(path: string, name: string, file: TreeFile): Promise<void> {
  if (name.endsWith('/')) {
    await fs.mkdir(path, { recursive: true })
    return
  }
  await fs.mkdir(dirname(path), { recursive: true })
  const plain = typeof file === 'string' || file instanceof Uint8Array ? { text: file } : file
  if (plain.link !== undefined) {
    await fs.symlink(plain.link, path)
    return
  }
  await fs.writeFile(path, plain.text ?? '')
  if (plain.mode !== undefined) await fs.chmod(path, plain.mode)
}

async function snapshotOf(root: string, directory: string): Promise<[string, TreeSnapshot[string]][]> {
  const found: [string, TreeSnapshot[string]][] = []
  for (const entry of await fs.readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      found.push(...(await snapshotOf(root, path)))
    } else if (entry.isSymbolicLink()) {
      found.push([relative(root, path), { link: await fs.readlink(path) }])
    } else if (entry.isFile()) {
      const bytes = await fs.readFile(path)
      const { mode } = await fs.stat(path)
      const text = bytes.toString('utf8')
      const faithful = Buffer.from(text).equals(bytes)
      found.push([
        relative(root, path),
        { mode: mode & 0o7777, text: faithful ? text : `base64:${bytes.toString('base64')}` },
      ])
    }
  }
  return found
}
