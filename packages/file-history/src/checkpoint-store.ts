import { dirname, join, resolve } from 'node:path'
import {
  acquireLease,
  cloneFile,
  fileErrno,
  files,
  isScratchName,
  leaseHolder,
  LociError,
  orAbsent,
  writeFileAtomic,
} from '@loci/disk'
import type { Damage, Lease } from '@loci/disk'
import { BACKUP_NAME, backupFileName, createBackup, removeScratch } from './backup.ts'
import {
  asideName,
  asideNumber,
  emptyIndex,
  newestBackups,
  parseIndex,
  printIndex,
} from './checkpoint-index.ts'
import type { CheckpointIndex, CheckpointPlace, StoredFile } from './checkpoint-index.ts'
import { compareStatsAndContent, isSameState, kindOf } from './compare.ts'
import type { FileState } from './compare.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { resolveTrackedPath, statOf } from './track-path.ts'

/** An index as it was read. */
export interface ReadIndex {
  index: CheckpointIndex
  damage: Damage[]
  /** Whether what is there is an index at all, or nothing. */
  isWhole: boolean
}

/** The error for a link, a directory or a device where a regular file belongs. */
export function notRegular(path: string, kind: 'link' | 'directory' | 'special'): LociError {
  const name = JSON.stringify(path)
  return kind === 'link'
    ? new LociError('PATH_LINK', `${name} is a symbolic link; name the file it leads to`, {
        details: { path },
      })
    : new LociError('PATH_INVALID', `${name} is no regular file (${kind}); name a file`, {
        details: { path },
      })
}

/** @throws {LociError} PATH_INVALID when `file` is no path of a file */
export async function resolvePlace(file: string): Promise<CheckpointPlace> {
  if (typeof file !== 'string') throw new TypeError('file must be a string')
  const { path } = await resolveTrackedPath(resolve('.'), file)
  return { file: path, folder: `${path}.backups` }
}

/** Reads an index and looks for what is wrong around it. Makes and changes nothing. @throws {LociError} DISK_IO */
export async function readIndex(place: CheckpointPlace): Promise<ReadIndex> {
  const read = await readFileOf(place)
  const folder = await statOf(place.folder)
  if (folder !== undefined && !folder.isDirectory()) {
    const message = `In the place of the backups is a ${kindOf(folder)}`
    read.damage.push({ kind: 'bad-folder', path: place.folder, message })
  }
  for (const { name } of (await orAbsent(files.readdir(dirname(place.file)))) ?? []) {
    if (asideNumber(place.file, name) === undefined) continue
    const message = 'An index that could not be read was put aside here; its backups are kept'
    read.damage.push({ kind: 'put-aside', path: join(dirname(place.file), name), message })
  }
  return read
}

async function readFileOf(place: CheckpointPlace): Promise<ReadIndex> {
  const stats = await statOf(place.file)
  if (stats === undefined) return { index: emptyIndex(), damage: [], isWhole: true }
  const kind = kindOf(stats)
  if (kind === 'file') return parseIndex(await files.readFile(place.file), place)
  const damage = { kind: 'bad-index', path: place.file, message: `In the place of the index is a ${kind}` }
  return { index: emptyIndex(), damage: [damage], isWhole: false }
}

const WAIT_MS = 60_000
const queue = new KeyedQueue()

/**
 * Runs `action` on the index, alone: calls of this process one after another, other processes are waited for.
 *
 * @param ifAbsent instead, where there is no index: no folder is made then and no lock
 * @throws {LociError} HISTORY_LOCKED with `details` of the owner; PATH_LINK, PATH_INVALID when a link or no file is in
 * the place of the index, or no directory in that of its backups; DISK_FULL, DISK_IO
 */
export async function withIndex<T>(
  options: { file: string; waitMs?: number },
  action: (store: CheckpointStore) => Promise<T>,
  ifAbsent?: () => T,
): Promise<T> {
  if (typeof options.file !== 'string') throw new TypeError('file must be a string')
  // At once, so that calls are in their order; another spelling of the path waits for the lease.
  return queue.run(resolve(options.file), async () => {
    const place = await resolvePlace(options.file)
    if (ifAbsent && (await statOf(place.file)) === undefined) return ifAbsent()
    await files.mkdir(dirname(place.file))
    const lease = await takeLease(place.file, options.waitMs ?? WAIT_MS)
    let result: T
    try {
      result = await action(await CheckpointStore.open(place))
    } catch (error) {
      await lease.release().catch(() => undefined)
      throw error
    }
    await lease.release()
    return result
  })
}

async function takeLease(file: string, waitMs: number): Promise<Lease> {
  try {
    return await acquireLease(file, { waitMs })
  } catch (error) {
    const holder = leaseHolder(error)
    if (holder === undefined) throw error
    const { who, ...details } = holder
    const advice = details.decidable
      ? 'wait for it'
      : 'see that it is gone, then call unlockFileHistory with this path'
    const message = `The checkpoints ${JSON.stringify(file)} are in use by ${who}; ${advice}`
    throw new LociError('HISTORY_LOCKED', message, { details, cause: error })
  }
}

/** An index under its lease, with its backups. */
export class CheckpointStore {
  readonly place: CheckpointPlace
  readonly index: CheckpointIndex
  readonly damage: readonly Damage[]
  readonly #isWhole: boolean
  /** Highest version of each path's hash. */
  readonly #versions = new Map<string, number>()
  readonly #newest: Map<string, StoredFile>
  readonly #hasFolder: boolean

  private constructor(place: CheckpointPlace, { index, damage, isWhole }: ReadIndex, names: string[] | null) {
    this.place = place
    this.index = index
    this.damage = damage
    this.#isWhole = isWhole
    this.#newest = newestBackups(index)
    this.#hasFolder = names !== null
    for (const name of (names ?? []).filter((one) => BACKUP_NAME.test(one))) {
      const [hash = '', version] = name.split('@v')
      this.#versions.set(hash, Math.max(this.#versions.get(hash) ?? 0, Number(version)))
    }
  }

  static async open(place: CheckpointPlace): Promise<CheckpointStore> {
    const { file, folder } = place
    const stats = await statOf(file)
    const kind = stats && kindOf(stats)
    if (kind !== undefined && kind !== 'file') throw notRegular(file, kind)
    const folderStats = await statOf(folder)
    if (folderStats?.isSymbolicLink() === true) throw notRegular(folder, 'link')
    if (folderStats?.isDirectory() === false) {
      const message = `${JSON.stringify(folder)} is no directory; move it away: the backups belong there`
      throw new LociError('PATH_INVALID', message, { details: { path: folder } })
    }
    const read = await readIndex(place)
    const names = folderStats && (await files.readdir(folder)).map(({ name }) => name)
    // Nobody else is making a backup now, so that a crash left these.
    for (const name of names?.filter(isScratchName) ?? []) await removeScratch(join(folder, name))
    return new CheckpointStore(place, read, names ?? null)
  }

  /**
   * A new backup of the regular file `path`; `name: null` if it is not there. A name of its own even if nothing
   * changed: an equal backup of the same file then shares its inode.
   */
  async backUp(path: string): Promise<StoredFile> {
    const { folder } = this.place
    const stats = await statOf(path)
    if (stats === undefined) return { filePath: path, name: null }
    const kind = kindOf(stats)
    if (kind !== 'file') throw notRegular(path, kind)
    if (!this.#hasFolder) await files.mkdir(folder)
    const made = await createBackup({
      dir: folder,
      path,
      trackedPath: path,
      fromVersion: this.#nextVersion(path),
      twin: (state) => this.#twin(path, state),
    })
    if (made === undefined) return { filePath: path, name: null }
    return { filePath: path, name: made.name, state: made.state }
  }

  #twin(path: string, state: FileState): string | undefined {
    const newest = this.#newest.get(path)
    return isSameState(newest?.state ?? null, state) ? (newest?.name ?? undefined) : undefined
  }

  #nextVersion(path: string): number {
    const [hash = ''] = backupFileName(path, 1).split('@')
    const version = (this.#versions.get(hash) ?? 0) + 1
    this.#versions.set(hash, version)
    return version
  }

  /** Takes backups back that nothing came to name. */
  async discard(made: readonly StoredFile[]): Promise<void> {
    for (const { name } of made) if (name !== null) await removeScratch(join(this.place.folder, name))
  }

  /** Replaces the index in one step. One that could not be read keeps its bytes under another name. */
  async write(next: { index: CheckpointIndex; unused: readonly string[] }): Promise<void> {
    const { file, folder } = this.place
    if (!this.#isWhole) await putAside(file)
    await writeFileAtomic(file, printIndex(next.index))
    // What cannot be read may be a record that names them.
    if (this.damage.length > 0) return
    for (const name of next.unused) await removeScratch(join(folder, name))
  }
}

async function putAside(file: string): Promise<void> {
  for (let number = 1; ; number += 1) {
    const aside = asideName(file, number)
    try {
      await cloneFile(file, aside, { link: true })
      return
    } catch (error) {
      if (fileErrno(error) !== 'EEXIST') throw error
    }
    // A crash may have come between this and the new index.
    if ((await compareStatsAndContent(file, aside)) === 'same') return
  }
}
