import { join } from 'node:path'
import { files, isLociError, LociError, orAbsent, resolveInside } from '@loci/disk'
import type { FileStats } from '@loci/disk'
import { checkTopicFile, INDEX_FILE, isTopicFile } from '../file-name.ts'
import { isHiddenName, parseToolPath } from './tool-path.ts'

/** What a path of the tool leads to. */
export interface Found {
  /** Relative to the memory folder; `''` is that itself. */
  file: string
  path: string
  stats: FileStats
}

/**
 * What is there under a path of the tool; `undefined` if nothing is, or nothing that the tool knows.
 *
 * @throws {LociError} PATH_INVALID, PATH_OUTSIDE; PATH_LINK when a part of the path is a link; DISK_IO
 */
export async function findFile(dir: string, toolPath: string): Promise<Found | undefined> {
  const file = parseToolPath(toolPath)
  if (file.split('/').some(isHiddenName)) return undefined
  try {
    const path = await (file === '' ? files.realpath(dir) : resolveFile(dir, file))
    return { file, path, stats: await files.lstat(path) }
  } catch (error) {
    // Nothing can be there.
    if (isLociError(error, 'PATH_INVALID')) return undefined
    return orAbsent(Promise.reject(error))
  }
}

/**
 * The absolute path of a file below the memory folder, there or not, in errors by the path that the tool knows.
 *
 * @throws {LociError} PATH_LINK when a part of it is a link; PATH_INVALID when it leads through a file; DISK_IO
 */
export async function resolveFile(dir: string, file: string): Promise<string> {
  try {
    return await resolveInside(dir, file)
  } catch (cause) {
    if (isLociError(cause, 'PATH_LINK'))
      throw new LociError('PATH_LINK', 'Path would escape /memories directory via symlink', { cause })
    if (!isLociError(cause, 'PATH_INVALID')) throw cause
    const message = `Path /memories/${file} cannot be used: a part of it is a file, or too long a name`
    throw new LociError('PATH_INVALID', message, { cause })
  }
}

/**
 * The topic file that a path of the tool names, there or not.
 *
 * @throws {LociError} MEMORY_INVALID when it cannot be one; as {@link findFile}
 */
export function topicAt(toolPath: string): string {
  return checkFile(toolPath, parseToolPath(toolPath))
}

/**
 * The directory that a path of the tool names, if topic files can lie in it.
 *
 * @throws {LociError} MEMORY_INVALID when none can
 */
export function directoryAt(toolPath: string): string {
  const directory = parseToolPath(toolPath)
  checkFile(toolPath, `${directory}/x.md`)
  return directory
}

function checkFile(toolPath: string, file: string): string {
  if (file === INDEX_FILE) {
    throw new LociError(
      'MEMORY_INVALID',
      `${toolPath} is the index: it follows the memory files by itself; change those`,
    )
  }
  const hidden = file.split('/').find(isHiddenName)
  if (hidden !== undefined)
    throw new LociError('MEMORY_INVALID', `Path ${toolPath} cannot be used: ${hidden} is a hidden name`)
  checkTopicFile(file)
  return file
}

/** What is in a directory, at any depth, relative to the memory folder. */
export interface Contents {
  topics: string[]
  /** Each before those in it; the directory itself is the first. */
  directories: string[]
}

/** @throws {LociError} MEMORY_INVALID when something in it is no topic file */
export async function contentsOf({ file, path }: Omit<Found, 'stats'>): Promise<Contents> {
  const contents: Contents = { topics: [], directories: [file] }
  for (const entry of await files.readdir(path)) {
    const name = `${file}/${entry.name}`
    if (entry.isDirectory() && !isHiddenName(entry.name)) {
      const inside = await contentsOf({ file: name, path: join(path, entry.name) })
      contents.topics.push(...inside.topics)
      contents.directories.push(...inside.directories)
    } else if (entry.isFile() && isTopicFile(name)) contents.topics.push(name)
    else {
      throw new LociError(
        'MEMORY_INVALID',
        `Nothing was changed: /memories/${name} is no memory file, so its directory stays as it is`,
      )
    }
  }
  return contents
}
