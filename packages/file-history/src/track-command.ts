import { join } from 'node:path'
import { BaseCopies } from './base-copies.ts'
import type { BaseIndex } from './base-copies.ts'
import { compareStatsAndContent } from './compare.ts'
import type { Anchor, EditRecord } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { KeyedQueue } from './keyed-queue.ts'
import { ownFolder } from './track-path.ts'
import type { Tracker } from './tracker.ts'
import { walkTree } from './walk-tree.ts'
import type { WalkedFile } from './walk-tree.ts'

/** Files of a tree that are copied before a command, at most. */
export const MAX_FILES = 20_000
/** Bytes of a tree that are copied before a command, at most: 512 MiB. */
export const MAX_BASE_BYTES: number = 512 << 20

/** What a command tracker works on, and how much of the tree it copies. */
export interface CommandTrackerOptions {
  dir: string
  root: string
  tracker: Tracker
  log: EditLog
  clock: () => Date
  maxFiles: number
  maxBytes: number
  maxFileBytes: number
}

/** A tree as it was before a command. */
interface Base {
  /** Of the command. */
  id: string
  /** The newest snapshot when it began. */
  since: Anchor
  files: Map<string, WalkedFile>
  unreadable: Set<string>
  copied: BaseIndex
}

/**
 * Sees what a command does to the tree under the root, by comparing it with a copy made before. The copies stay and
 * serve the next command, which copies only what changed since. Each of several commands that overlap reports all
 * that happened between its own start and its own end, whoever did it.
 */
export class CommandTracker {
  readonly #options: CommandTrackerOptions
  readonly #copies: BaseCopies
  readonly #running = new Set<Base>()
  readonly #queue = new KeyedQueue()
  /** Commands of earlier runs that did not end: the copies made for them are still of use. */
  readonly #cutOff: ReadonlySet<string>
  #starting = 0

  constructor(options: CommandTrackerOptions) {
    this.#options = options
    this.#copies = new BaseCopies(options.dir, options.root)
    this.#cutOff = new Set(options.log.openCommands.keys())
  }

  /** The tree before. */
  async begin(messageId: string): Promise<Base> {
    this.#starting += 1
    try {
      const base = await this.#queue.run('base', () => this.#prepare())
      const { log, clock } = this.#options
      const timestamp = clock().toISOString()
      try {
        await log.append([{ type: 'command', id: base.id, messageId, snapshot: base.since, timestamp }])
      } catch (error) {
        await this.end(base)
        throw error
      }
      return base
    } finally {
      this.#starting -= 1
    }
  }

  async #prepare(): Promise<Base> {
    const { root, dir, log } = this.#options
    const since = this.#options.tracker.anchor
    const walked = await walkTree(root, [ownFolder(dir, root)])
    const isCutOff = this.#cutOff.size > 0
    const copied = await this.#copies.take(walked.files.values(), this.#inUse(), this.#options, isCutOff)
    const base = { id: log.nextCommandId(), since, ...walked, copied }
    this.#running.add(base)
    return base
  }

  async end(base: Base): Promise<void> {
    this.#running.delete(base)
    await this.#queue.run('base', () => this.#copies.release(base.copied, this.#inUse()))
  }

  #inUse(): BaseIndex[] {
    return Array.from(this.#running, ({ copied }) => copied)
  }

  /** Whether a command needs the copies of the tree. */
  get isInUse(): boolean {
    return this.#starting > 0 || this.#running.size > 0
  }

  /** The folder of the copies is about to be emptied: of commands that were cut off nothing can be told any more. */
  async forget(): Promise<void> {
    const { log, clock } = this.#options
    const timestamp = clock().toISOString()
    const ends = [...log.openCommands.keys()].map((id): EditRecord => ({
      type: 'command-end',
      id,
      timestamp,
    }))
    if (ends.length > 0) await log.append(ends)
    this.#copies.forget()
  }

  /** What differs from `base` now. Covered changes are recorded for `messageId`; the others are named. Absolute paths. */
  async cover(base: Base, messageId: string): Promise<{ changed: string[]; untracked: string[] }> {
    const { dir, root, tracker, log, clock } = this.#options
    const now = await walkTree(root, [ownFolder(dir, root)])
    const changed: string[] = []
    // What could not be seen before or after may have been changed, or be gone.
    const untracked = new Set<string>(
      [...now.unreadable, ...base.unreadable].filter(
        (key) => now.unreadable.has(key) !== base.unreadable.has(key),
      ),
    )
    for (const key of new Set([...base.files.keys(), ...now.files.keys()])) {
      const before = base.files.get(key)
      const after = now.files.get(key)
      // That a file was not seen says that it was absent only where everything was seen.
      const isGuess =
        (before === undefined && isHidden(key, base.unreadable)) ||
        (after === undefined && isHidden(key, now.unreadable))
      if (isGuess) untracked.add(key)
      else if (await this.#isChanged(base, before, after)) {
        const isCovered = before === undefined ? after?.kind === 'file' : base.copied.has(key)
        if (isCovered && (after === undefined || after.kind === 'file')) changed.push(key)
        else untracked.add(key)
      }
    }
    const recorded: string[] = []
    for (const key of changed) {
      const copy = base.copied.get(key)
      const source = copy ? join(this.#copies.folder, copy.name) : null
      const isRecorded = await tracker.trackChanged(key, source, messageId, base.since)
      if (isRecorded && (await tracker.recordState(key, messageId))) recorded.push(key)
      else untracked.add(key)
    }
    // A line that is missing only has verify name a command that was covered.
    const end: EditRecord = { type: 'command-end', id: base.id, timestamp: clock().toISOString() }
    await log.append([end]).catch(() => undefined)
    const absolute = (key: string): string => join(root, key)
    return { changed: recorded.map(absolute).toSorted(), untracked: [...untracked].map(absolute).toSorted() }
  }

  async #isChanged(
    base: Base,
    before: WalkedFile | undefined,
    after: WalkedFile | undefined,
  ): Promise<boolean> {
    if (before === undefined || after === undefined) return before !== after
    if (before.kind !== after.kind) return true
    const copy = base.copied.get(after.key)
    if (before.stamp === after.stamp && (copy === undefined || copy.isSettled)) return false
    if (copy === undefined || after.kind !== 'file') return before.stamp !== after.stamp
    const path = join(this.#options.root, after.key)
    return compareStatsAndContent(path, join(this.#copies.folder, copy.name)).then(
      (result) => result === 'changed',
      // One of the two cannot be read: that it is the same cannot be said.
      () => true,
    )
  }
}

/** Whether `key` is, or lies below, something that could not be looked at. */
function isHidden(key: string, unreadable: ReadonlySet<string>): boolean {
  if (unreadable.has('') || unreadable.has(key)) return true
  for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
    if (unreadable.has(key.slice(0, slash))) return true
  }
  return false
}

/**
 * Runs a command and covers what it does to the tree, whether it succeeds or not.
 *
 * @throws what `run` threw, after its edits are covered; both errors in an AggregateError if covering failed too
 */
export async function trackCommand<T>(
  commands: CommandTracker,
  messageId: string,
  run: () => Promise<T>,
  during: <R>(action: () => Promise<R>) => Promise<R>,
): Promise<{ result: T; changed: string[]; untracked: string[] }> {
  const base = await during(() => commands.begin(messageId))
  try {
    const outcome = await run().then(
      (result) => ({ result }),
      (error: unknown) => ({ error }),
    )
    const covered = await during(() => commands.cover(base, messageId)).catch((error: unknown) => {
      if ('error' in outcome)
        throw new AggregateError([outcome.error, error], 'The command failed, and so did recording it')
      throw error
    })
    if ('error' in outcome) throw outcome.error
    return { ...outcome, ...covered }
  } finally {
    await commands.end(base)
  }
}
