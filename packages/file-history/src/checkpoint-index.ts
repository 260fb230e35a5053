import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { errorMessage } from '@loci/disk'
import type { Damage } from '@loci/disk'
import { backupNameProblem } from './backup.ts'
import type { FileState } from './compare.ts'
import { isJsonObject } from './json-lines.ts'
import type { NamedFile } from './plan-rewind.ts'
import { MAX_SNAPSHOTS } from './snapshot.ts'
import { isInside } from './track-path.ts'

/** Where an index is, and its backups. Absolute; the directory is a real path. */
export interface CheckpointPlace {
  file: string
  /** `<file>.backups` */
  folder: string
}

/** One file of a checkpoint. */
export interface StoredFile {
  filePath: string
  /** Inside the folder; `null`: the file did not exist. */
  name: string | null
  /** What the backup held when it was made; absent in an index that somebody else wrote. */
  state?: FileState
}

/** A checkpoint as far as it makes sense. */
export interface StoredCheckpoint {
  messageId: string
  timestamp: string
  files: StoredFile[]
  /** Its files of which the record makes no sense: they cannot be brought back. */
  lost: NamedFile[]
  /** Made by a rewind, of what it was about to overwrite. */
  isOfRewind: boolean
}

/** An index: each record as it was found, with what it says. One that makes no sense stays where it is. */
export interface CheckpointIndex {
  records: readonly { raw: unknown; checkpoint: StoredCheckpoint | undefined }[]
  /** Fields beside `checkpoints`: whoever wrote them has use for them. */
  rest: Readonly<Record<string, unknown>>
}

/** The index before anything happened. */
export function emptyIndex(): CheckpointIndex {
  return { records: [], rest: {} }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads an index. Of a record that makes no sense, and of a path that leads out of the folder or to the index itself,
 * the damage tells; nothing is made of it.
 *
 * @returns `isWhole: false` where the bytes are no index at all: it is empty then
 */
export function parseIndex(
  bytes: Uint8Array,
  place: CheckpointPlace,
): { index: CheckpointIndex; damage: Damage[]; isWhole: boolean } {
  const broken = (message: string) => ({
    index: emptyIndex(),
    damage: [{ kind: 'bad-index', path: place.file, message }],
    isWhole: false,
  })
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes))
  } catch (error) {
    return broken(`The index cannot be read: ${errorMessage(error)}`)
  }
  if (!isJsonObject(value) || !Array.isArray(value['checkpoints'])) {
    return broken('The index has no list of checkpoints')
  }
  const { checkpoints: found, ...rest } = value
  const damage: Damage[] = []
  const records = (found as unknown[]).map((raw, number) => {
    const checkpoint = parseCheckpoint(raw, place)
    const say = (message: string) => damage.push({ kind: 'bad-record', path: place.file, message })
    if (checkpoint === undefined) say(`Checkpoint ${number + 1} lacks a field or has one of another type`)
    for (const { path, reason } of checkpoint?.lost ?? []) {
      say(`${JSON.stringify(path)} in checkpoint ${number + 1}: ${reason}`)
    }
    return { raw, checkpoint }
  })
  return { index: { records, rest }, damage, isWhole: true }
}

function parseCheckpoint(raw: unknown, place: CheckpointPlace): StoredCheckpoint | undefined {
  if (!isJsonObject(raw)) return undefined
  const { messageId, timestamp, files, rewoundTo } = raw
  if (typeof messageId !== 'string' || typeof timestamp !== 'string' || !Array.isArray(files))
    return undefined
  const checkpoint: StoredCheckpoint = {
    messageId,
    timestamp,
    files: [],
    lost: [],
    isOfRewind: typeof rewoundTo === 'string',
  }
  const seen = new Set<string>()
  for (const foreign of files as unknown[]) {
    const file = parseFile(foreign, place)
    const path = 'reason' in file ? file.path : file.filePath
    if ('reason' in file) checkpoint.lost.push(file)
    else if (seen.has(path)) checkpoint.lost.push({ path, reason: 'it is named twice; the first counts' })
    else checkpoint.files.push(file)
    seen.add(path)
  }
  return checkpoint
}

function parseFile(raw: unknown, place: CheckpointPlace): StoredFile | NamedFile {
  if (!isJsonObject(raw)) return { path: JSON.stringify(raw), reason: 'it is no record of a file' }
  const { filePath, backupPath } = raw
  if (typeof filePath !== 'string') return { path: JSON.stringify(raw), reason: 'its path is no text' }
  const lost = (reason: string): NamedFile => ({ path: filePath, reason })
  if (!isAbsolute(filePath) || filePath.includes('\0') || resolve(filePath) !== filePath) {
    return lost('its recorded path is not the whole path of a file')
  }
  if (isOwnFile(place, filePath)) return lost('it belongs to the checkpoints themselves')
  if (backupPath === null) return { filePath, name: null }
  if (typeof backupPath !== 'string') return lost('its record names no backup')
  const name = isAbsolute(backupPath) ? basename(backupPath) : backupPath
  if (isAbsolute(backupPath) && backupPath !== join(place.folder, name)) {
    return lost(`its record names ${JSON.stringify(backupPath)}, which is not in ${place.folder}`)
  }
  const backup = { backupFileName: name, version: 1, backupTime: '' }
  const problem = backupNameProblem(backup, filePath)
  if (problem !== undefined) return lost(problem)
  const { sha256, sizeBytes, mode } = raw
  const isNoted = typeof sha256 === 'string' && typeof sizeBytes === 'number' && typeof mode === 'number'
  return isNoted ? { filePath, name, state: { sha256, sizeBytes, mode } } : { filePath, name }
}

/** Whether `path` is the index, its lock, one put aside, or among the backups: nothing to make checkpoints of. */
export function isOwnFile({ file, folder }: CheckpointPlace, path: string): boolean {
  if (path === file || isInside(folder, path)) return true
  if (dirname(path) !== dirname(file)) return false
  const name = basename(path)
  return name.startsWith(`.${basename(file)}.`) || asideNumber(file, name) !== undefined
}

/** The name under which a broken index is put aside. */
export function asideName(file: string, number: number): string {
  return `${file}.damaged-${number}`
}

/** The number of an index that was put aside; `undefined` for any other name. */
export function asideNumber(file: string, name: string): number | undefined {
  const prefix = `${basename(file)}.damaged-`
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : ''
  return /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : undefined
}

/** The last checkpoint with this id. */
export function findCheckpoint(index: CheckpointIndex, messageId: string): StoredCheckpoint | undefined {
  return index.records.findLast(({ checkpoint }) => checkpoint?.messageId === messageId)?.checkpoint
}

/** The newest recorded backup of each file. */
export function newestBackups(index: CheckpointIndex): Map<string, StoredFile> {
  return new Map(
    index.records.flatMap(({ checkpoint }) => checkpoint?.files ?? []).map((file) => [file.filePath, file]),
  )
}

const OF_REWIND = 'before-rewind-'

/** The id for what the next rewind is about to overwrite. No checkpoint has it. */
export function nextRewindId(index: CheckpointIndex): string {
  let highest = 0
  for (const { checkpoint } of index.records) {
    const digits = checkpoint?.messageId.startsWith(OF_REWIND)
      ? checkpoint.messageId.slice(OF_REWIND.length)
      : ''
    if (/^[1-9]\d{0,14}$/.test(digits)) highest = Math.max(highest, Number(digits))
  }
  return `${OF_REWIND}${highest + 1}`
}

/**
 * The index with one checkpoint more. Of {@link MAX_SNAPSHOTS} the oldest makes room, of those that rewinds made
 * likewise, apart from the others: a rewind must not cost the checkpoint that it goes to.
 *
 * @returns `unused`: backups that were named by what made room, and are named by nothing now
 */
export function addCheckpoint(
  index: CheckpointIndex,
  added: { messageId: string; timestamp: string; files: readonly StoredFile[]; rewoundTo?: string },
): { index: CheckpointIndex; unused: string[] } {
  const { messageId, timestamp, files, rewoundTo } = added
  const isOfRewind = rewoundTo !== undefined
  const raw = {
    messageId,
    timestamp,
    ...(isOfRewind ? { rewoundTo } : {}),
    files: files.map(({ filePath, name, state }) => ({ filePath, backupPath: name, ...state })),
  }
  const checkpoint = { messageId, timestamp, files: [...files], lost: [], isOfRewind }
  const whole = [...index.records, { raw, checkpoint }]
  const alike = whole.filter((record) => record.checkpoint?.isOfRewind === isOfRewind)
  const gone = new Set(alike.slice(0, Math.max(0, alike.length - MAX_SNAPSHOTS)))
  const records = whole.filter((record) => !gone.has(record))
  const needed = new Set(records.flatMap(namesOf))
  const unused = [...new Set([...gone].flatMap(namesOf))].filter((name) => !needed.has(name))
  return { index: { ...index, records }, unused }
}

function namesOf({ checkpoint }: CheckpointIndex['records'][number]): string[] {
  return (checkpoint?.files ?? []).flatMap(({ name }) => (name === null ? [] : [name]))
}

/** The index as text. Records are as they were found, those that make no sense too. */
export function printIndex({ records, rest }: CheckpointIndex): string {
  return `${JSON.stringify({ ...rest, checkpoints: records.map(({ raw }) => raw) }, null, 1)}\n`
}
