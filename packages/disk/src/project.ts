import { join } from 'node:path'
import { writeFileAtomic } from './atomic-write.ts'
import { LociError } from './error.ts'
import { files, orAbsent } from './file-operations.ts'

const MAX_SLUG_LENGTH = 200
const OWNER_FILE = '.project.json'
/** A transcript's head in which its `cwd` is looked for. */
const HEAD_BYTES = 65_536

/**
 * The name of a project's folder: every UTF-16 unit of the absolute path other than A–Z, a–z, 0–9 becomes `-`;
 * beyond 200 units the name is cut there and `-` and a hash of the whole path are added. Composed and decomposed
 * spellings give one name. Different paths can share a name: see {@link resolveProjectDir}.
 *
 * Source: `docs/formats/project-folder.md`.
 */
export function projectSlug(absolutePath: string): string {
  const path = absolutePath.normalize('NFC')
  const slug = path.replaceAll(/[^A-Za-z0-9]/g, '-')
  return slug.length <= MAX_SLUG_LENGTH ? slug : `${slug.slice(0, MAX_SLUG_LENGTH)}-${pathHash(path)}`
}

function pathHash(path: string): string {
  let hash = 0
  for (let index = 0; index < path.length; index += 1) {
    hash = (Math.imul(hash, 31) + path.charCodeAt(index)) | 0
  }
  return Math.abs(hash).toString(36)
}

/**
 * The folder that belongs to the project at `root`, below `projectsDir`. It is the plain slug unless another path
 * owns that folder; then `<slug>-<hash>`. The owner is the `root` in the folder's `.project.json`; without that file
 * the `cwd` of its oldest session; without sessions the folder is free.
 *
 * @param options.root the project's directory; resolved through links, or taken as it is if it does not exist
 * @param options.create make the folder (0755) and record its owner. Without it nothing is written, and the path
 * returned may not exist yet.
 * @throws {LociError} PATH_INVALID when `.project.json` is damaged; DISK_FULL, DISK_IO
 */
export async function resolveProjectDir(options: {
  projectsDir: string
  root: string
  create?: boolean
}): Promise<string> {
  const root = (await orAbsent(files.realpath(options.root))) ?? options.root
  for (const name of candidateNames(root)) {
    const directory = join(options.projectsDir, name)
    const owner = await ownerOf(directory)
    if (owner !== undefined && owner !== root) continue
    if (options.create !== true || owner === root) return directory
    await files.mkdir(directory, 0o755)
    await writeFileAtomic(join(directory, OWNER_FILE), `${JSON.stringify({ root })}\n`, { ifAbsent: true })
    // Another process may have claimed the folder in the meantime; what stands there now decides.
    if ((await recordedOwner(directory)) === root) return directory
  }
  const message = `Every folder for ${JSON.stringify(root)} belongs to another project; see their .project.json`
  throw new LociError('PATH_INVALID', message, { details: { root } })
}

function* candidateNames(root: string): Generator<string> {
  const slug = projectSlug(root)
  yield slug
  const withHash = `${slug.slice(0, MAX_SLUG_LENGTH)}-${pathHash(root.normalize('NFC'))}`
  if (withHash !== slug) yield withHash
  for (let n = 2; n < 100; n += 1) yield `${withHash}-${n}`
}

async function ownerOf(directory: string): Promise<string | undefined> {
  return (await recordedOwner(directory)) ?? (await cwdOfOldestSession(directory))
}

async function recordedOwner(directory: string): Promise<string | undefined> {
  const path = join(directory, OWNER_FILE)
  const bytes = await orAbsent(files.readFile(path))
  if (bytes === undefined) return undefined
  const record = parseObject(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  if (typeof record?.['root'] === 'string') return record['root']
  throw new LociError(
    'PATH_INVALID',
    `${JSON.stringify(path)} does not say whose folder it is; write {"root": "/path/of/the/project"} into it`,
    { details: { path } },
  )
}

async function cwdOfOldestSession(directory: string): Promise<string | undefined> {
  const entries = (await orAbsent(files.readdir(directory))) ?? []
  let oldest: { cwd: string; timestamp: string } | undefined
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.jsonl')) continue
    const origin = await originOf(join(directory, entry.name))
    if (origin && (oldest === undefined || origin.timestamp < oldest.timestamp)) oldest = origin
  }
  return oldest?.cwd
}

/** The first `cwd` in a transcript's head, with the timestamp of its line. */
async function originOf(path: string): Promise<{ cwd: string; timestamp: string } | undefined> {
  const file = await orAbsent(files.open(path, 'r'))
  if (file === undefined) return undefined
  const buffer = Buffer.alloc(HEAD_BYTES)
  let length: number
  try {
    length = await file.readFull(buffer, 0)
  } finally {
    await file.close()
  }
  for (const line of buffer.toString('utf8', 0, length).split('\n')) {
    const record = parseObject(line)
    if (typeof record?.['cwd'] !== 'string') continue
    const { cwd, timestamp } = record
    return { cwd, timestamp: typeof timestamp === 'string' ? timestamp : '' }
  }
  return undefined
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
