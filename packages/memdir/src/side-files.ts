import { join } from 'node:path'
import { files, LociError, orAbsent, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import type { z } from 'zod'
import { messageOf } from './folder.ts'
import { MAX_JSON_BYTES, readRegular } from './read-regular.ts'

/** A JSON file in a dot folder of a memory folder: people's data beside the topics, never swept. */
export interface SideFile<T> {
  id: string
  path: string
  bytes: Buffer
  value: T
}

/**
 * All files of one kind, by id; what cannot be read comes as damage and stays as it is.
 *
 * @throws {LociError} PATH_LINK when their folder is a link; DISK_IO when it cannot be read
 */
export async function listSideFiles<T>(
  dir: string,
  kind: string,
  shape: z.ZodType<T>,
): Promise<{ items: SideFile<T>[]; damage: Damage[] }> {
  const items: SideFile<T>[] = []
  const damage: Damage[] = []
  const folder = await orAbsent(resolveInside(dir, kind))
  const names = folder === undefined ? [] : ((await orAbsent(files.readdir(folder))) ?? [])
  for (const { name } of names) {
    if (name.startsWith('.') || !name.endsWith('.json')) continue
    try {
      items.push(await readSideFile(dir, kind, name.slice(0, -'.json'.length), shape))
    } catch (error) {
      damage.push({ kind: 'unreadable', path: join(dir, kind, name), message: messageOf(error) })
    }
  }
  return { items, damage }
}

/** Of these files, which may hold what stood in one that nobody else could read. */
export const SIDE_FILE_MODE = 0o600

/** @throws {LociError} MEMORY_NOT_FOUND when there is none, MEMORY_INVALID when it is not what it should be */
export async function readSideFile<T>(
  dir: string,
  kind: string,
  id: string,
  shape: z.ZodType<T>,
): Promise<SideFile<T>> {
  const path = await sideFilePath(dir, kind, id)
  const bytes = (await readRegular(path, MAX_JSON_BYTES))?.bytes
  if (bytes === undefined) throw noSideFile(kind, id)
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw invalid(path, messageOf(error), error)
  }
  const parsed = shape.safeParse(json)
  if (!parsed.success) throw invalid(path, parsed.error.issues[0]?.message ?? 'not as expected', parsed.error)
  return { id, path, bytes, value: parsed.data }
}

const ID = '[\\w-]+(?:\\.[\\w-]+)*'
const WHOLE_ID = new RegExp(`^${ID}$`)
const SIDE_FILE = new RegExp(`^\\.(?:trash|proposed)/${ID}\\.json$`)

/** Whether a path relative to the memory folder is one that {@link sideFilePath} gives. */
export function isSideFile(path: string): boolean {
  return SIDE_FILE.test(path)
}

/** @throws {LociError} MEMORY_NOT_FOUND when `id` cannot be the name of one; PATH_LINK */
export async function sideFilePath(dir: string, kind: string, id: string): Promise<string> {
  if (!WHOLE_ID.test(id)) throw noSideFile(kind, id)
  return resolveInside(dir, `${kind}/${id}.json`)
}

/** What is said where there is no such entry or proposal. */
export function noSideFile(kind: string, id: string): LociError {
  const [what, list] = kind === '.trash' ? ['trash entry', 'trash'] : ['proposal', 'proposals']
  return new LociError(
    'MEMORY_NOT_FOUND',
    `There is no ${what} ${JSON.stringify(id)}: ${list} shows which there are`,
    {
      details: { id },
    },
  )
}

function invalid(path: string, why: string, cause: unknown): LociError {
  return new LociError(
    'MEMORY_INVALID',
    `${JSON.stringify(path)} cannot be read (${why}); mend or remove it by hand`,
    {
      details: { path },
      cause,
    },
  )
}
