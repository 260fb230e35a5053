import { cpSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { setFaultHook } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory, FileHistoryOptions } from '@loci/file-history'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

/** Bytes (as Latin-1), mode or target of every file below a folder. Directories are not in it. */
export type Files = Record<string, string>

/** Past the port and without waiting: a fault loop looks thousands of times. */
export function filesBelow(root: string): Files {
  const found = new Map<string, string>()
  for (const entry of readdirSync(root, { withFileTypes: true, recursive: true })) {
    const path = `${entry.parentPath}/${entry.name}`
    const name = relative(root, path)
    if (entry.isSymbolicLink()) found.set(name, `link to ${readlinkSync(path)}`)
    else if (entry.isFile()) {
      const mode = (lstatSync(path).mode & 0o7777).toString(8)
      found.set(name, `${mode} ${readFileSync(path, 'latin1')}`)
    }
  }
  return Object.fromEntries(found)
}

/** A project with a history of three turns and an undone rewind, to be put back as it was, over and over. */
export interface FaultScene {
  work: Project
  /** The project's files at the first snapshot, and at the end. */
  first: Files
  now: Files
  /** The project's files as they are. */
  look(): Files
  /** Puts project and history back as they were. */
  reset(): void
  /** With one time for all, so that what two runs record is the same. */
  open(options?: Partial<FileHistoryOptions>): Promise<FileHistory>
  dispose(): Promise<void>
}

export async function faultScene(): Promise<FaultScene> {
  const work = await project({
    'a.txt': 'a1',
    'b.sh': { text: 'b1', mode: 0o755 },
    'd/c.txt': 'c1',
    'mine.txt': { text: new Uint8Array([0, 255, 13, 10]), mode: 0o600 },
  })
  const clock = (): Date => new Date('2026-01-01T00:00:00.000Z')
  const open: FaultScene['open'] = (options) => work.open({ clock, ...options })
  const look = (): Files => filesBelow(work.root)
  const history = await open()
  const first = look()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await edit(work, history, 'b.sh', 'b2')
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', 'a3')
  await edit(work, history, 'd/c.txt', null)
  await edit(work, history, 'd/new.txt', 'n3')
  await history.makeSnapshot('m3')
  await edit(work, history, 'b.sh', 'b3')
  await history.rewind('m2')
  await history.undoRewind()
  await history.close()
  const now = look()
  const places = [work.root, work.dir]
  for (const place of places) cpSync(place, `${place}-saved`, { recursive: true })
  const reset = (): void => {
    for (const place of places) {
      rmSync(place, { recursive: true, force: true })
      cpSync(`${place}-saved`, place, { recursive: true })
    }
  }
  return { work, first, now, look, reset, open, dispose: () => work.dispose() }
}

/**
 * What can be seen of a history: what every snapshot has of each file where that differs from the disk, what a rewind
 * would make of it, and that the bytes are there.
 */
export async function observe(history: FileHistory): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {}
  for (const { messageId, trackedFileBackups } of history.snapshots()) {
    const { changes, conflicts, skipped } = await history.planRewind(messageId)
    seen[messageId] = { changes, conflicts, skipped, keys: Object.keys(trackedFileBackups).toSorted() }
  }
  return seen
}

/** What the failure of an append, or a kill, may leave of a line, and what a snapshot says that it could not read. */
const HARMLESS = new Set(['torn-line', 'bad-line', 'unseen-file'])

/** The damage of a history that no fault explains. */
export async function damageOf({ dir, root }: { dir: string; root: string }): Promise<string[]> {
  const damage = await verifyFileHistory({ dir, root })
  return damage
    .filter(({ kind }) => !HARMLESS.has(kind))
    .map(({ kind, path, message }) => `${kind} ${path} ${message}`)
}

/** How an operation fails: with an errno, or, where it writes, after a beginning of it. */
export type FaultWay = 'ENOSPC' | 'EIO' | 'EACCES' | 'EROFS' | 'EMFILE' | 'torn'

/** Which operation of a call fails, and how: once, or from then on. */
export interface Fault {
  nth: number
  way: FaultWay
  lasts: boolean
}

/** Runs `call` with a fault. Resolves to the error, if it came to one, and to whether there were so many operations. */
export async function withFault(
  { nth, way, lasts }: Fault,
  call: () => Promise<unknown>,
): Promise<{ error: unknown; isTripped: boolean; operation: string }> {
  let count = 0
  let isCut = false
  let operation = ''
  setFaultHook((name, path) => {
    if (isCut && name === 'write') return injected('ENOSPC')
    count += 1
    if (count < nth || (count > nth && !lasts)) return undefined
    if (count === nth) operation = `${name} ${path}`
    if (way !== 'torn') return injected(way)
    isCut = name === 'write'
    return isCut ? { shortWriteBytes: 1 } : injected('EIO')
  })
  const error = await failure(call()).finally(() => setFaultHook(undefined))
  return { error, isTripped: count >= nth, operation }
}

function injected(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`injected ${code}`), { code })
}
