import { join } from 'node:path'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { files, isAbsent, orAbsent, resolveInside } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { checkTopicFile, INDEX_FILE, isTopicFile } from './file-name.ts'
import type { StoredTopic } from './memory.ts'
import { readRegular } from './read-regular.ts'
import { HEAD_BYTES, readHead } from './topic-head.ts'
import type { TopicHead } from './topic-head.ts'

/** A memory folder and who works in it. */
export interface Folder {
  dir: string
  sessionId: string | undefined
  messageId: string | undefined
  clock: () => Date
  createId: () => string
}

/** What a folder holds. */
export interface FolderScan {
  /** In the order of their names, whatever the order of the directory. */
  topics: StoredTopic[]
  damage: Damage[]
}

/** How many files are read at once: more gain nothing and could use up the file descriptors. */
const READS_AT_ONCE = 32

/**
 * The bytes of the index; `undefined` if there is none.
 *
 * @throws {LociError} PATH_LINK, MEMORY_INVALID when it is no regular file; DISK_IO
 */
export async function readIndex(dir: string): Promise<Buffer | undefined> {
  return (await readRegular(join(dir, INDEX_FILE)))?.bytes
}

/**
 * The topic file `file`; `undefined` if it is not there.
 *
 * @throws {LociError} MEMORY_INVALID when the name or what has it cannot be a topic file; PATH_LINK, DISK_IO
 */
export async function readTopic(dir: string, file: string): Promise<StoredTopic | undefined> {
  checkTopicFile(file)
  const path = await orAbsent(resolveInside(dir, file))
  return path === undefined ? undefined : readTopicAt(file, path)
}

/** {@link readTopic} of a file whose contained path is known. */
export async function readTopicAt(file: string, path: string): Promise<StoredTopic | undefined> {
  const read = await readRegular(path)
  return read && { file, path, ...read }
}

/**
 * All topic files, those in subfolders too. A subfolder with its own index, such as `team`, is a memory folder
 * for itself. One file that cannot be read keeps no other from being listed.
 */
export async function scanFolder(dir: string): Promise<FolderScan> {
  const damage: Damage[] = []
  const found = await findTopics(dir, '', damage)
  const topics: StoredTopic[] = []
  for (let start = 0; start < found.length; start += READS_AT_ONCE) {
    const batch = found.slice(start, start + READS_AT_ONCE).map((file) => readListed(dir, file, damage))
    for (const topic of await Promise.all(batch)) if (topic) topics.push(topic)
  }
  return { topics, damage }
}

/** As {@link scanFolder}, of each topic file no more than its head: a folder of thousands is gone through at once. */
export async function scanHeads(dir: string): Promise<{ heads: TopicHead[]; damage: Damage[] }> {
  const damage: Damage[] = []
  const heads: TopicHead[] = []
  const buffer = Buffer.alloc(HEAD_BYTES)
  for (const [index, file] of (await findTopics(dir, '', damage)).entries()) {
    if (index % READS_AT_ONCE === READS_AT_ONCE - 1) await letOthersRun()
    const path = join(dir, file)
    try {
      heads.push(readHead(file, path, buffer))
    } catch (error) {
      // It may have been removed since the directory was read.
      if (!isAbsent(error)) damage.push({ kind: 'unreadable', path, message: messageOf(error) })
    }
  }
  return { heads, damage }
}

async function findTopics(dir: string, below: string, damage: Damage[]): Promise<string[]> {
  const entries = (await orAbsent(files.readdir(join(dir, below)))) ?? []
  if (below !== '' && entries.some(({ name }) => name === INDEX_FILE)) return []
  const found: string[] = []
  for (const entry of entries) {
    const file = below + entry.name
    const path = join(dir, file)
    if (entry.isDirectory() && !entry.name.startsWith('.')) {
      try {
        found.push(...(await findTopics(dir, `${file}/`, damage)))
      } catch (error) {
        damage.push({ kind: 'unreadable', path, message: messageOf(error) })
      }
    } else if (isTopicFile(file)) {
      if (entry.isFile()) found.push(file)
      else
        damage.push({ kind: 'not-a-file', path, message: 'A link or special file is not read as a memory' })
    }
  }
  return found
}

async function readListed(dir: string, file: string, damage: Damage[]): Promise<StoredTopic | undefined> {
  const path = join(dir, file)
  try {
    // It may have been removed since the directory was read.
    return await readTopicAt(file, path)
  } catch (error) {
    damage.push({ kind: 'unreadable', path, message: messageOf(error) })
    return undefined
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
