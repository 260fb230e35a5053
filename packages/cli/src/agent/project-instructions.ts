import { dirname, join, relative, resolve } from 'node:path'
import { OPEN_REGULAR, errorMessage, files, isLociError, orAbsent } from '@loci/disk'
import { MAX_FILE_BYTES, MAX_INSTRUCTION_BYTES, importsIn, shownText } from './instructions-text.ts'
import type { InstructionSection } from './instructions-text.ts'
import { followLinks, isInside, nameOf } from './tools/file-target.ts'

const NAMES = ['CLAUDE.md', 'AGENTS.md']
/** How far imports are followed, and how many files there are at most. */
const MAX_DEPTH = 4
const MAX_FILES = 40

interface Place {
  /** The project, a real path. */
  root: string
  /** The config home, a real path. */
  configDir: string
  /** What `~/` means in the user's own file. */
  userHome: string | undefined
  /** Whether rules keep a file from the agent. */
  isDenied: (path: string) => boolean
}

/**
 * What the user and the project ask of agents, general before special: `CLAUDE.md` of the config home, then `CLAUDE.md` and `AGENTS.md` of each
 * directory from the top of the git repository down to the project, each followed by the files that it names with `@`. The same bytes for
 * the same files. A file of the project that leads out of the repository is not read; that, and whatever else was not
 * passed on, is said in its place.
 *
 * @throws {LociError} DISK_IO when the way to the project cannot be looked at
 */
export async function readInstructions(place: Place): Promise<InstructionSection[]> {
  const top = await topOf(place.root)
  const reader = new InstructionReader(place)
  await reader.add({ path: join(place.configDir, 'CLAUDE.md'), within: undefined, depth: 0 })
  for (const directory of waysDown(top, place.root))
    for (const name of NAMES) await reader.add({ path: join(directory, name), within: top, depth: 0 })
  return reader.sections
}

interface Wanted {
  path: string
  /** Where it must be; `undefined`: anywhere, because the user says so. */
  within: string | undefined
  depth: number
}

class InstructionReader {
  readonly #place: Place
  readonly #seen = new Set<string>()
  readonly sections: InstructionSection[] = []
  #bytes = 0

  constructor(place: Place) {
    this.#place = place
  }

  async add(wanted: Wanted): Promise<void> {
    const { path, within, depth } = wanted
    const name = this.#nameOf(path)
    try {
      // What is not there is no mention of a file, but of something else.
      if ((await orAbsent(files.lstat(path))) === undefined) return
      const real = await followLinks(path)
      if (this.#seen.has(real)) return
      this.#seen.add(real)
      if (within !== undefined && !isInside(within, real))
        return this.#note(name, 'leads out of the repository')
      if (this.sections.length >= MAX_FILES) return
      const stats = await files.lstat(real)
      if (stats.isDirectory() && depth > 0) return
      if (!stats.isFile()) return this.#note(name, 'is no regular file')
      if (this.#place.isDenied(real)) return this.#note(name, 'is kept from the agent by a rule')
      if (this.#bytes >= MAX_INSTRUCTION_BYTES)
        return this.#note(name, `comes after ${MAX_INSTRUCTION_BYTES} bytes of others`)
      const { bytes, sizeBytes } = await readBeginning(real)
      if (depth > 0 && sizeBytes > MAX_FILE_BYTES)
        return this.#note(name, `has ${sizeBytes} bytes, and only up to ${MAX_FILE_BYTES} are imported`)
      const text = shownText(bytes, sizeBytes)
      if (text === undefined) return this.#note(name, 'is no UTF-8 text')
      this.#bytes += bytes.length
      if (text.trim() !== '') this.sections.push({ name, text })
      for (const word of depth < MAX_DEPTH ? importsIn(text) : []) {
        const imported = this.#pathOf(word, real, within)
        if (imported !== undefined) await this.add({ path: imported, within, depth: depth + 1 })
      }
    } catch (error) {
      if (!isLociError(error)) throw error
      this.#note(name, `cannot be read: ${errorMessage(error)}`)
    }
  }

  #note(name: string, why: string): void {
    if (this.sections.length < MAX_FILES) this.sections.push({ name, text: `[not read: it ${why}]` })
  }

  #pathOf(word: string, from: string, within: string | undefined): string | undefined {
    if (!word.startsWith('~/')) return resolve(dirname(from), word)
    const { userHome } = this.#place
    // A repository has no say about the user's home.
    return within === undefined && userHome !== undefined ? join(userHome, word.slice(2)) : undefined
  }

  #nameOf(path: string): string {
    const { root, configDir } = this.#place
    if (dirname(path) === configDir) return `the user's ${relative(configDir, path)}`
    return isInside(root, path)
      ? nameOf(root, path)
      : isInside(dirname(path), root)
        ? relative(root, path)
        : path
  }
}

/** The directory that holds `.git`, at `root` or above; without one, `root`. */
async function topOf(root: string): Promise<string> {
  for (let directory = root; ; directory = dirname(directory)) {
    if ((await orAbsent(files.lstat(join(directory, '.git')))) !== undefined) return directory
    if (dirname(directory) === directory) return root
  }
}

function waysDown(top: string, root: string): string[] {
  const directories = [root]
  while (directories[0] !== undefined && directories[0] !== top) directories.unshift(dirname(directories[0]))
  return directories
}

/** As much of a file as is passed on. Never waits, whatever has been put in its place. */
async function readBeginning(path: string): Promise<{ bytes: Buffer; sizeBytes: number }> {
  const file = await files.open(path, OPEN_REGULAR)
  try {
    const { size } = await file.stat()
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1)
    const length = await file.readFull(buffer, 0)
    return { bytes: buffer.subarray(0, length), sizeBytes: Math.max(Number(size), length) }
  } finally {
    await file.close()
  }
}
