import { basename, dirname, resolve } from 'node:path'
import { LociError, files, orAbsent } from '@loci/disk'
import type { ReadAccess } from '../permissions.ts'
import { followLinks, nameOf } from './file-target.ts'

/** Where a search begins: a directory, or one file in it. */
export interface SearchPlace {
  /** A real path. */
  path: string
  /** What permission is asked for. */
  access: ReadAccess
  name: string
  directory: string
  /** Name of the one file. */
  file?: string
  /** @throws {LociError} PATH_CHANGED when the path leads elsewhere by now */
  confirm(): Promise<void>
}

/** @throws {LociError} PATH_INVALID when nothing is there, or nothing that can be searched; PATH_LINK; DISK_IO */
export async function searchPlace(root: string, given: string): Promise<SearchPlace> {
  if (/^~(?:\/|$)/.test(given)) throw invalid(given, 'begins with "~"; give an absolute path')
  const asked = resolve(root, given)
  const path = await followLinks(asked)
  const stats = await orAbsent(files.lstat(path))
  const name = nameOf(root, path)
  if (stats === undefined) throw invalid(path, 'does not exist')
  if (!stats.isDirectory() && !stats.isFile()) throw invalid(path, 'is neither a directory nor a file')
  return {
    path,
    access: { kind: 'read', path, asked },
    name,
    ...(stats.isDirectory() ? { directory: path } : { directory: dirname(path), file: basename(path) }),
    async confirm() {
      const now = await followLinks(asked)
      if (now === path) return
      throw new LociError('PATH_CHANGED', `${name} leads to ${JSON.stringify(now)} now. Nothing was done`, {
        details: { path },
      })
    },
  }
}

function invalid(path: string, what: string): LociError {
  return new LociError('PATH_INVALID', `${JSON.stringify(path)} ${what}`, { details: { path } })
}
