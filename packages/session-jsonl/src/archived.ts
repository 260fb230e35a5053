import { join } from 'node:path'
import { files, isAbsent } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { isObject } from './entry.ts'
import { timeOf } from './read-head.ts'
import { requireFile } from './require-file.ts'

/** What the mark beside a session says. */
export interface ArchiveMark {
  archived: boolean
  /** When that was said, in milliseconds since the epoch, if it says so. */
  atMs?: number | undefined
  damage?: Damage
}

/**
 * Whether a session was archived, by `archived.json` among its side files. A mark that cannot be read counts as none
 * and is damage.
 *
 * Source: `docs/formats/session.md`, archived.json.
 */
export async function readArchived(sideDirectory: string): Promise<ArchiveMark> {
  const path = join(sideDirectory, ARCHIVED_FILE)
  try {
    await requireFile(path)
    const value: unknown = JSON.parse((await files.readFile(path)).toString('utf8').replace(/^\uFEFF/, ''))
    if (isObject(value) && typeof value['archived'] === 'boolean')
      return { archived: value['archived'], atMs: timeOf(value['at']) }
  } catch (error) {
    if (isAbsent(error)) return { archived: false }
  }
  const message = `${JSON.stringify(path)} does not say whether the session is archived`
  return { archived: false, damage: { kind: 'archive-mark', path, message } }
}

/** The file, among a session's side files, that says whether it is archived. */
export const ARCHIVED_FILE = 'archived.json'
