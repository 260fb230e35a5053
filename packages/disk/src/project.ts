import { join } from 'node:path'
import { writeFileAtomic } from './atomic-write.ts'
import { LociError } from './error.ts'
import { files, orAbsent } from './file-operations.ts'

const MAX_SLUG_LENGTH = 200
const OWNER_FILE = '.project.json'
/** A transcript's head in which its `cwd` is looked for; the longer one where a long prompt stands before it. */
const HEAD_BYTES = 65_536
const LONG_HEAD_BYTES = 1024 * 1024

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
 * the `cwd` of its oldest session; without sessions the folder is free. One whose sessions do not tell is nobody's to
 * take.
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
  if (typeof options.projectsDir !== 'string' || typeof options.root !== 'string') {
    throw new TypeError('projectsDir and root must be paths')
  }
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

/** `null`: somebody's, but nothing tells whose. `undefined`: nobody's. */
async function ownerOf(directory: string): Promise<string | null | undefined> {
  return (await recordedOwner(directory)) ?? (await cwdOfOldestSession(directory))
}

/**
 * The project that a folder's `.project.json` names; `undefined` without that file.
 *
 * @throws {LociError} PATH_INVALID when it does not say, or is no file; DISK_IO
 */
export async function recordedOwner(directory: string): Promise<string | undefined> {
  const path = join(directory, OWNER_FILE)
  const stats = await orAbsent(files.stat(path))
  if (stats === undefined) return undefined
  // Anything else could be waited on for ever.
  const bytes = stats.isFile() ? await orAbsent(files.readFile(path)) : Buffer.alloc(0)
  if (bytes === undefined) return undefined
  const record = parseObject(bytes.toString('utf8').replace(/^\uFEFF/, ''))
  if (typeof record?.['root'] === 'string') return record['root']
  throw new LociError(
    'PATH_INVALID',
    `${JSON.stringify(path)} does not say whose folder it is; write {"root": "/path/of/the/project"} into it`,
    { details: { path } },
  )
}

/** The `cwd` of the oldest session; `null` when there are conversations and none tells; `undefined` without any. */
async function cwdOfOldestSession(directory: string): Promise<string | null | undefined> {
  const entries = (await orAbsent(files.readdir(directory))) ?? []
  let oldest: Origin | undefined
  let isUntold = false
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.jsonl')) continue
    const origin = await originOf(join(directory, entry.name))
    if (origin === 'untold') isUntold = true
    else if (origin && (oldest === undefined || origin.timestamp < oldest.timestamp)) oldest = origin
  }
  return oldest?.cwd ?? (isUntold ? null : undefined)
}

interface Origin {
  cwd: string
  timestamp: string
}

/** Where a transcript's conversation began, by its head; `'untold'` where it has one and does not say. */
async function originOf(path: string): Promise<Origin | 'untold' | undefined> {
  const file = await orAbsent(files.open(path, 'r'))
  if (file === undefined) return undefined
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    const length = await file.readFull(head, 0)
    const origin = originIn(head.toString('utf8', 0, length))
    if (origin !== undefined || length < HEAD_BYTES) return origin
    // A prompt longer than that stands before its directory.
    const longHead = Buffer.alloc(LONG_HEAD_BYTES)
    return originIn(longHead.toString('utf8', 0, await file.readFull(longHead, 0))) ?? 'untold'
  } finally {
    await file.close()
  }
}

function originIn(text: string): Origin | 'untold' | undefined {
  for (const line of text.split('\n')) {
    const cwd = fieldOf(line, 'cwd')
    if (cwd !== undefined) return { cwd, timestamp: fieldOf(line, 'timestamp') ?? '' }
  }
  return /"type":"(?:user|assistant)"/.test(text) ? 'untold' : undefined
}

/** A field of a line. In one that is damaged or cut it is looked for as text: inside a string its quotes are escaped. */
function fieldOf(line: string, field: 'cwd' | 'timestamp'): string | undefined {
  const record = parseObject(line)
  if (record !== undefined) return typeof record[field] === 'string' ? record[field] : undefined
  const found = new RegExp(`(?<!\\\\)"${field}":("(?:[^"\\\\]|\\\\.)*")`).exec(line)?.[1]
  const value: unknown = found === undefined ? undefined : parseObject(`{"value":${found}}`)?.['value']
  return typeof value === 'string' ? value : undefined
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
