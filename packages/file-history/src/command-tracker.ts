import { join } from 'node:path'
import { BaseCopies } from './base-copies.ts'
import type { BaseIndex } from './base-copies.ts'
import { readBaseIndex, removeBaseIndex, writeBaseIndex } from './base-index.ts'
import type { Base } from './base-index.ts'
import { findCommandMoves } from './command-moves.ts'
import { compareStatsAndContent } from './compare.ts'
import { isSameAnchor } from './edit-record.ts'
import type { EditRecord } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { CommandView } from './recording.ts'
import type { ChangeTracker } from './track-changes.ts'
import { ownFolder } from './track-path.ts'
import { findChanges, isKnownBefore } from './tree-changes.ts'
import type { TreeChanges } from './tree-changes.ts'
import { walkTree } from './walk-tree.ts'
import type { Walk, WalkedFile } from './walk-tree.ts'

/** What a command tracker works on, and how much of the tree it copies. */
export interface CommandTrackerOptions {
  dir: string
  root: string
  changes: ChangeTracker
  log: EditLog
  clock: () => Date
  maxFiles: number
  maxBytes: number
  maxFileBytes: number
}

/**
 * Sees what a command does to the tree under the root, by comparing it with a copy made before. The copies stay and
 * serve the next command, which copies only what changed since. Each of several commands that overlap reports all
 * that happened between its own start and its own end, whoever did it.
 */
export class CommandTracker implements CommandView {
  readonly #options: CommandTrackerOptions
  readonly #copies: BaseCopies
  readonly #running = new Set<Base>()
  readonly #queue = new KeyedQueue()
  /** Commands of earlier runs that did not end, of which it is not known yet what they changed. */
  readonly #unsettled: Set<string>
  /** Commands of this run of which that is so too, by id. */
  readonly #postponed = new Map<string, Base>()
  /** Such whose index is lost: the copies made for them stay until `gc`. */
  readonly #lost = new Set<string>()
  #starting = 0

  constructor(options: CommandTrackerOptions) {
    this.#options = options
    this.#copies = new BaseCopies(options.dir, options.root)
    this.#unsettled = new Set(options.log.openCommands.keys())
  }

  /** Whether one of the commands may have found a file of that name. */
  mayHaveBeen(key: string): boolean {
    return this.#open().some((base) => base.files.has(key) || !isKnownBefore(base, key))
  }

  /** See `CommandView`. */
  before(key: string): string | null | undefined {
    const [base] = this.#open()
    return base && isKnownBefore(base, key) ? this.#copyOf(base, key) : undefined
  }

  /** The commands of this run of which it is not recorded yet what they changed, the oldest first. */
  #open(): Base[] {
    return [...this.#postponed.values(), ...this.#running]
  }

  /** The tree before, which is also that of every snapshot that was called before this resolves. */
  async begin(messageId: string): Promise<Base> {
    this.#starting += 1
    try {
      const base = await this.#queue.run('base', () => this.#prepare(messageId))
      const { dir, log, clock, changes } = this.#options
      const timestamp = clock().toISOString()
      try {
        await writeBaseIndex(dir, base)
        await log.append([{ type: 'command', id: base.id, messageId, snapshot: base.since, timestamp }])
      } catch (error) {
        await this.end(base)
        throw error
      }
      await changes.settled()
      return base
    } finally {
      this.#starting -= 1
    }
  }

  async #prepare(messageId: string): Promise<Base> {
    const { log, changes } = this.#options
    const since = await changes.anchor(messageId)
    const known = new Set(changes.knownKeys)
    const walked = await this.#walk([])
    const isKept = this.#lost.size > 0
    const copied = await this.#copies.take(walked.files.values(), this.#inUse(), this.#options, isKept)
    const base = { id: log.nextCommandId(), since, ...walked, copied, known }
    this.#running.add(base)
    return base
  }

  /** The tree now. Files that are tracked, or in `always`, are looked at although they are ignored. */
  #walk(always: Iterable<string>): Promise<Walk> {
    const { root, dir, changes, maxFiles } = this.#options
    return walkTree(root, {
      skip: [ownFolder(dir, root)],
      always: new Set([...changes.trackedKeys, ...always]),
      maxIgnored: maxFiles,
    })
  }

  async end(base: Base): Promise<void> {
    this.#running.delete(base)
    await removeBaseIndex(this.#options.dir, base.id)
    await this.#queue.run('base', () => this.#copies.release(base.copied, this.#inUse()))
  }

  /** What a command changed could not be recorded: the next call tries again, as after one that was cut off. */
  postpone(base: Base): void {
    this.#running.delete(base)
    this.#postponed.set(base.id, base)
    this.#unsettled.add(base.id)
  }

  #inUse(): BaseIndex[] {
    return this.#open().map(({ copied }) => copied)
  }

  /** Whether a command needs the copies of the tree, one that was cut off too. */
  get isInUse(): boolean {
    return this.#starting > 0 || this.#running.size > 0 || this.hasUnsettled
  }

  /** Whether {@link settle} has something to do. */
  get hasUnsettled(): boolean {
    return this.#unsettled.size > 0
  }

  /**
   * Covers what changed since the commands began that were cut off with their process: by them, or by others after
   * that, nobody can tell. So the states before are recorded, and none as the one in which the agent left a file.
   * What an index that is missing or damaged leaves unknown stays as it is.
   *
   * @throws {LociError} DISK_FULL, DISK_IO: the next call goes on
   */
  settle(): Promise<void> {
    return this.#queue.run('settle', async () => {
      const { dir, log } = this.#options
      for (const id of this.#unsettled) {
        const command = log.openCommands.get(id)
        const since = command?.snapshot
        const base = since === undefined ? undefined : await readBaseIndex(dir, id, since)
        if (base === undefined) this.#lost.add(id)
        else await this.#coverCutOff(base, command?.messageId ?? '')
        this.#unsettled.delete(id)
        const postponed = this.#postponed.get(id)
        this.#postponed.delete(id)
        if (postponed) await this.#copies.release(postponed.copied, this.#inUse())
      }
    })
  }

  async #coverCutOff(base: Base, messageId: string): Promise<void> {
    const { changes, dir } = this.#options
    const now = await this.#walk(base.copied.keys())
    const { covered, uncovered } = await this.#changesSince(base, now)
    const touched: string[] = []
    for (const key of covered) {
      const isRecorded = await changes.track(key, this.#copyOf(base, key), messageId, base)
      if (isRecorded) touched.push(key)
      else uncovered.add(key)
    }
    await changes.noteTouched(touched, messageId)
    await this.#noteEnd(base, [...uncovered])
    await removeBaseIndex(dir, base.id)
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
    this.#lost.clear()
    this.#copies.forget()
  }

  /** What differs from `base` now. Covered changes are recorded for `messageId`; the others are named. Absolute paths. */
  async cover(base: Base, messageId: string): Promise<{ changed: string[]; untracked: string[] }> {
    const { root, changes } = this.#options
    const now = await this.#walk(base.copied.keys())
    const { covered, uncovered } = await this.#changesSince(base, now)
    const changed: string[] = []
    for (const key of covered) {
      const isRecorded = await changes.track(key, this.#firstCopyOf(base, key), messageId, base)
      if (isRecorded && (await changes.recordState(key, messageId))) changed.push(key)
      else uncovered.add(key)
    }
    changes.noteUnrecorded(
      [...uncovered].filter((key) => mayBeTracked(base.files.get(key) ?? now.files.get(key))),
    )
    // Nor is a move that is not named a reason to fail.
    await this.#noteMoves(base, now, { changed, messageId }).catch(() => undefined)
    // A line that is missing only has verify name a command that was covered.
    await this.#noteEnd(base, []).catch(() => undefined)
    const absolute = (key: string): string => join(root, key)
    return { changed: changed.map(absolute).toSorted(), untracked: [...uncovered].map(absolute).toSorted() }
  }

  #changesSince(base: Base, now: Walk): Promise<TreeChanges> {
    return findChanges(base, now, (before, after) => this.#isChanged(base, before, after))
  }

  async #noteMoves(
    base: Base,
    now: Walk,
    { changed, messageId }: { changed: readonly string[]; messageId: string },
  ): Promise<void> {
    const { root, log, clock } = this.#options
    const pathBefore = (key: string): string => this.#copyOf(base, key) ?? join(root, key)
    const moves = await findCommandMoves(changed, { root, base, now, pathBefore })
    const timestamp = clock().toISOString()
    await log.noteMoves(moves, { messageId, snapshot: base.since, timestamp })
  }

  /** The copy of a file as it was before the first of the commands that run since the same snapshot. */
  #firstCopyOf(base: Base, key: string): string | null {
    const first = [...this.#running].find(
      (one) => isSameAnchor(one.since, base.since) && isKnownBefore(one, key),
    )
    return this.#copyOf(first ?? base, key)
  }

  /** The copy of a file as it was before; `null`: it was absent. */
  #copyOf(base: Base, key: string): string | null {
    const copy = base.copied.get(key)
    return copy ? join(this.#copies.folder, copy.name) : null
  }

  async #noteEnd({ id }: Base, uncovered: readonly string[]): Promise<void> {
    const { log, clock } = this.#options
    const of = uncovered.length > 0 ? { uncovered: uncovered.toSorted() } : {}
    await log.append([{ type: 'command-end', id, ...of, timestamp: clock().toISOString() }])
  }

  async #isChanged(base: Base, before: WalkedFile, after: WalkedFile): Promise<boolean> {
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

/** Whether an edit, or the next command, may take a file into the history. */
function mayBeTracked(file: WalkedFile | undefined): boolean {
  return file === undefined || (file.kind === 'file' && !file.isIgnored)
}
