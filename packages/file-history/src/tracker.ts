import { dirname, join } from 'node:path'
import { fileErrno, isLociError, LociError } from '@loci/disk'
import { Commits } from './commits.ts'
import { kindOf, lookAt } from './compare.ts'
import type { FileState, Look } from './compare.ts'
import type { Anchor, EditRecord } from './edit-record.ts'
import type { EditLog } from './edits.ts'
import { BackupSizes, evictOldest } from './evict-oldest.ts'
import { MoveFollower } from './follow-moves.ts'
import { settleAll } from './in-parallel.ts'
import { KeyedQueue } from './keyed-queue.ts'
import type { SnapshotLedger } from './ledger.ts'
import { lookAtTracked } from './look-at-tracked.ts'
import type { TrackedLook } from './look-at-tracked.ts'
import type { QuickLook } from './quick-look.ts'
import { addSnapshot, backupOf, identityOf, nextRecord, removeSnapshot } from './snapshot.ts'
import type { Backup, HistoryCell, Snapshot } from './snapshot.ts'
import { isInside, ownFolder, resolveTrackedPath, statOf } from './track-path.ts'
import type { TrackedPath } from './track-path.ts'
import { VersionedBackups } from './versioned-backups.ts'

/** What an open history works on. */
export interface TrackerOptions {
  dir: string
  root: string
  cell: HistoryCell
  ledger: SnapshotLedger
  log: EditLog
  clock: () => Date
  maxSnapshots: number
  maxBytes: number | undefined
  maxFileBytes: number
  /** Highest version of each file that the ledger names, evicted snapshots too. */
  versions: Map<string, number>
  /** Snapshots over the limit when the history was opened: to be recorded as evicted with the first write. */
  overdue: readonly Snapshot[]
  /** Whether the ledger has lines that could not be read: they may name backups, so none is removed. */
  isLedgerDamaged: boolean
}

/** What the commands that run know of the time before them. */
interface CommandView {
  /**
   * The copy of a file as it was before the first of the commands that run; `null`: it was absent; `undefined`: none can
   * tell.
   */
  before: (key: string) => string | null | undefined
  /** Whether a command may have found a file of that name. */
  mayHaveBeen: (key: string) => boolean
}

/** Records edits and takes snapshots. */
export class Tracker {
  readonly #options: TrackerOptions
  readonly #paths = new KeyedQueue()
  readonly #commits: Commits
  readonly #backups: VersionedBackups
  readonly #sizes: BackupSizes
  readonly #moves: MoveFollower
  #commands: CommandView = { before: () => undefined, mayHaveBeen: () => false }
  #settling: Promise<unknown> = Promise.resolve()
  #snapshotsInFlight = 0
  #hasRecordedSnapshot: boolean
  /** Snapshots that were called. */
  #calls = 0
  /** How many there were when the look at a file began with which it joined the newest snapshot. */
  readonly #lookedAt = new Map<string, number>()
  /** See {@link noteUnrecorded}; since the call of the newest snapshot. The values tell one change from a later one. */
  readonly #unrecorded = new Map<string, symbol>()

  constructor(options: TrackerOptions) {
    this.#options = options
    this.#commits = new Commits(options)
    const { snapshots } = options.cell.getState()
    this.#hasRecordedSnapshot = snapshots.length > 0
    this.#backups = new VersionedBackups(options, snapshots)
    this.#sizes = new BackupSizes(options.dir)
    const { dir, root, log, cell } = options
    this.#moves = new MoveFollower({
      dir,
      root,
      log,
      backups: this.#backups,
      paths: this.#paths,
      state: () => cell.getState(),
      mayHaveBeen: (key) => this.#unrecorded.has(key) || this.#commands.mayHaveBeen(key),
      join: (key, backup, messageId, { messageId: id, timestamp }) =>
        this.#commits.join(key, backup, messageId, { messageId: id, timestamp }),
    })
  }

  async trackEdit(path: string, messageId: string): Promise<Backup> {
    const target = await resolveTrackedPath(this.#options.root, path)
    this.#refuseOwn(target.path)
    for (;;) {
      await this.#ensureSnapshot(messageId, target)
      const backup = await this.#paths.run(target.key, () => this.#track(target, messageId))
      if (backup === undefined) continue
      // A snapshot that was called meanwhile looks at the file before its caller may write it.
      await this.#paths.run(target.key, () => Promise.resolve())
      return backup
    }
  }

  /** @returns `undefined` where the newest snapshot is too old to be joined, so that one has to be made */
  async #track(target: TrackedPath, messageId: string): Promise<Backup | undefined> {
    const { cell, log, versions } = this.#options
    await lookForEdit(target.path)
    const known = backupOf(cell.getState().snapshots.at(-1), target.key)
    if (known === undefined && versions.has(target.key)) return undefined
    const backup = known ?? (await this.#trackFirst(target, messageId))
    if (backup && !log.isAboutToEdit(target.key, this.anchor)) {
      const timestamp = this.#commits.now()
      await log.append([
        { type: 'track', messageId, trackingPath: target.key, snapshot: this.anchor, timestamp },
      ])
    }
    return backup
  }

  /** @returns `undefined` where it changed without a record, so that the newest snapshot may not have had it so */
  async #trackFirst(target: TrackedPath, messageId: string): Promise<Backup | undefined> {
    const { key } = target
    const [calls, early] = [this.#calls, this.#commands.before(key)]
    const joined = await this.#backups.keepingFirst(key, async () => {
      const made = await this.#backups.backUp(target)
      // Asked again after the look: a command may have begun meanwhile, and changed it before that.
      const now = this.#commands.before(key)
      const before = now === undefined ? early : now
      if (before !== undefined && !(await this.#backups.isCopyOf(made, before))) return undefined
      if (this.#unrecorded.has(key)) return undefined
      this.#lookedAt.set(key, calls)
      await this.#commits.join(key, made, messageId)
      return made
    })
    if (joined === undefined) this.noteUnrecorded([key])
    return joined
  }

  /** From now on the commands that run are asked what files were before them. */
  watchCommands(commands: CommandView): void {
    this.#commands = commands
  }

  /**
   * A file changed by a command joins the snapshot that was the newest when the command began, with the bytes it had
   * then, unless it is in it. Of a snapshot made while the command ran nobody knows what it held.
   *
   * @param before the copy of it; `null`: it was absent
   * @param since the newest snapshot at the beginning
   * @returns whether it could be recorded: not if its copy is gone or cannot be read, or that snapshot is gone
   */
  async trackChanged(key: string, before: string | null, messageId: string, since: Anchor): Promise<boolean> {
    const { root, cell } = this.#options
    if (since === null && cell.getState().snapshots.length === 0) await this.#ensureFirst(messageId)
    else if (since !== null && !this.#commits.isTarget(since)) return false
    const recorded = await this.#paths.run(key, async () => {
      const { snapshots } = cell.getState()
      const target = since && snapshots.findLast((snapshot) => identityOf(snapshot) === identityOf(since))
      if (backupOf(target ?? snapshots.at(-1), key) !== undefined) return true
      if (since === null && snapshots.length > 1) return false
      const joined = since ?? this.anchor ?? undefined
      const path = join(root, key)
      const file = { key, path, parent: dirname(path) }
      // An edit while the command ran has recorded a later state.
      const order = backupOf(snapshots.at(-1), key) === undefined ? 'next' : 'first'
      return this.#backups.keepingFirst(key, async () => {
        const backup =
          before === null
            ? await this.#backups.recordAbsence(file, order)
            : await unlessUnreadable(this.#backups.recordCopy(file, before, order))
        // It may have been evicted meanwhile.
        if (backup === undefined || (joined && !this.#commits.isTarget(joined))) return undefined
        await this.#commits.join(key, backup, messageId, joined)
        return true
      })
    })
    return recorded === true
  }

  /**
   * The snapshot that what a command changes will join: the newest, which holds every file that is tracked when the
   * command begins, and since which nothing changed without a record. Otherwise a file's state before the command would
   * pass for that of the snapshot.
   */
  async anchorOfCommand(messageId: string): Promise<Anchor> {
    for (;;) {
      const { snapshots, trackedFiles } = this.#options.cell.getState()
      const newest = snapshots.at(-1)
      const isWhole = [...trackedFiles].every((key) => backupOf(newest, key) !== undefined)
      if (newest && isWhole && this.#hasRecordedSnapshot && this.#unrecorded.size === 0) return this.anchor
      await this.makeSnapshot(messageId)
    }
  }

  /**
   * These files changed, and what they were before that is not recorded: no snapshot that is older than now knows, and
   * what is recorded of them from now on is not their first state.
   */
  noteUnrecorded(keys: Iterable<string>): void {
    const { versions } = this.#options
    for (const key of keys) {
      this.#unrecorded.set(key, Symbol(key))
      if (!versions.has(key)) versions.set(key, 1)
    }
  }

  async recordEdit(path: string, messageId: string): Promise<void> {
    const target = await resolveTrackedPath(this.#options.root, path)
    this.#refuseOwn(target.path)
    await this.#paths.run(target.key, async () => {
      await lookForEdit(target.path)
      await this.#noteState(target.key, await lookAt(target.path), messageId)
    })
  }

  /** Keys of every file that some snapshot holds. */
  get trackedKeys(): ReadonlySet<string> {
    return this.#options.cell.getState().trackedFiles
  }

  /** In which state the agent left these files nobody can tell. */
  async noteTouched(keys: readonly string[], messageId: string): Promise<void> {
    const [snapshot, timestamp] = [this.anchor, this.#commits.now()]
    const records = keys.map((trackingPath): EditRecord => ({
      type: 'track',
      messageId,
      trackingPath,
      snapshot,
      timestamp,
    }))
    if (records.length > 0) await this.#options.log.append(records)
  }

  /** Notes in which state a command left a file; `false`: it cannot be read. */
  recordState(key: string, messageId: string): Promise<boolean> {
    const path = join(this.#options.root, key)
    return this.#paths.run(key, async () => {
      const look = await unlessUnreadable(lookBelow(path))
      if (look === undefined) return false
      await this.#noteState(key, look, messageId)
      return look.kind === 'file' || look.kind === 'absent'
    })
  }

  async #noteState(key: string, look: Look, messageId: string): Promise<void> {
    // Something else has taken its place just now: no state in which anybody left the file.
    if (look.kind !== 'file' && look.kind !== 'absent') return
    const state = look.kind === 'file' ? look.state : null
    const place = look.kind === 'file' && look.links === 1 ? { inode: look.inode } : {}
    const timestamp = this.#commits.now()
    await this.#options.log.append([
      { type: 'edit', messageId, trackingPath: key, state, ...place, snapshot: this.anchor, timestamp },
    ])
  }

  /**
   * Makes sure that some snapshot is in the ledger for an edit to join; one that is made gets the id of the edit.
   * A file that was recorded before, or changed without a record, and is not in the newest must not join that: it would
   * pass for its state then. So one is made that looks at it.
   */
  async #ensureSnapshot(messageId: string, target: TrackedPath): Promise<void> {
    const { cell, versions } = this.#options
    const isInNewest = backupOf(cell.getState().snapshots.at(-1), target.key) !== undefined
    if (versions.has(target.key) && !isInNewest) await this.makeSnapshot(messageId, target)
    await this.#ensureFirst(messageId)
  }

  async #ensureFirst(messageId: string): Promise<void> {
    while (!this.#hasRecordedSnapshot) {
      if (this.#snapshotsInFlight === 0) await this.makeSnapshot(messageId)
      else await this.#settling
    }
  }

  /** @param asked a file to look at, tracked or not */
  async makeSnapshot(messageId: string, asked?: TrackedPath): Promise<Snapshot> {
    const { cell, log } = this.#options
    // Phase 1, in the same moment as the call: what is tracked, and a place in the queue of each of those files,
    // so that an edit announced from now on waits until its file has been looked at.
    let captured = cell.getState()
    cell.setState((previous) => (captured = previous))
    const { sequence } = log
    const calls = (this.#calls += 1)
    const unrecorded = new Map(this.#unrecorded)
    const earlier = this.#settling
    this.#snapshotsInFlight += 1
    // Phase 2: all files, holding nothing.
    const work = settleAll([
      ...this.#lookAtOthers(captured.trackedFiles, asked),
      lookAtTracked(captured.trackedFiles, { paths: this.#paths, backups: this.#backups }),
    ]).then((looks) => looks.flat())
    // Phase 3, in the order of the calls.
    const result = earlier
      .then(() => work)
      .then((looks) => this.#commitSnapshot(messageId, looks, { sequence, unrecorded, calls }))
    work.catch(() => undefined)
    this.#settling = result.then(
      () => (this.#snapshotsInFlight -= 1),
      () => (this.#snapshotsInFlight -= 1),
    )
    return result
  }

  /**
   * Looks at files that are not tracked yet: at one that is asked for, and at those of which the first record is being
   * made, once it is.
   */
  #lookAtOthers(tracked: ReadonlySet<string>, asked: TrackedPath | undefined): Promise<TrackedLook[]>[] {
    const { cell } = this.#options
    const joining = [...this.#paths.busyKeys].filter((key) => !tracked.has(key) && key !== asked?.key)
    const looks = joining.map((key) =>
      this.#paths.run(key, async () => {
        if (!cell.getState().trackedFiles.has(key)) return []
        const { sequence } = this.#backups
        return [{ key, sequence, ...(await this.#backups.backUpTracked(key)) }]
      }),
    )
    if (asked === undefined || tracked.has(asked.key)) return looks
    const { key, path } = asked
    const look = this.#paths.run(key, async () => {
      const { sequence } = this.#backups
      await lookForEdit(path)
      // Its last record may be a first one, of a snapshot that is gone: what it was since then nobody knows.
      if (!cell.getState().trackedFiles.has(key)) this.#backups.forget(key)
      return [{ key, sequence, backup: await this.#backups.backUp(asked) }]
    })
    return [look, ...looks]
  }

  async #commitSnapshot(
    messageId: string,
    tracked: readonly TrackedLook[],
    {
      sequence,
      unrecorded,
      calls,
    }: { sequence: number; unrecorded: ReadonlyMap<string, symbol>; calls: number },
  ): Promise<Snapshot> {
    const { cell, log } = this.#options
    const former = this.anchor
    const newest = cell.getState().snapshots.at(-1)
    const looks = [
      ...tracked,
      ...(await this.#moves.follow(messageId, newest, tracked, () => this.#commits.now())),
    ]
    const stray = log.strayEvents(cell.getState())
    const timestamp = this.#commits.timeOfSnapshot(messageId)
    // Before the snapshot is there, so that it never claims unsaid to have seen them.
    const unseen = looks.flatMap(({ key: trackingPath, unseen: reason }): EditRecord[] =>
      reason === undefined
        ? []
        : [
            {
              type: 'unseen',
              messageId,
              trackingPath,
              reason,
              snapshot: { messageId, timestamp },
              timestamp,
            },
          ],
    )
    if (unseen.length > 0) await log.append(unseen)
    let snapshot: Snapshot = { messageId, trackedFileBackups: {}, timestamp }
    await this.#commits.commit(
      (previous) => {
        // What joined the newest snapshot meanwhile is inherited from it, as far as it was looked at after the call.
        const isInherited = (key: string): boolean => (this.#lookedAt.get(key) ?? 0) >= calls
        const trackedFileBackups = nextRecord(previous.snapshots.at(-1), looks, isInherited)
        snapshot = { messageId, trackedFileBackups, timestamp }
        return addSnapshot(previous, snapshot)
      },
      (previous) => removeSnapshot(previous, snapshot),
      () => ({ type: 'file-history-snapshot', messageId, snapshot, isSnapshotUpdate: false }),
    )
    this.#hasRecordedSnapshot = true
    for (const [key, change] of unrecorded)
      if (this.#unrecorded.get(key) === change) this.#unrecorded.delete(key)
    // Edits since the look are newer than this snapshot, although they were recorded before it. And those of a
    // parent's future are older than it, although they name a snapshot that is not here.
    const lookedAt = new Map(looks.map((look) => [look.key, look.sequence]))
    const newer = log.eventsSince((key) => lookedAt.get(key) ?? sequence)
    const older = stray.filter(({ key }) => !newer.some((event) => event.key === key))
    const of = { messageId, timestamp }
    const lines = [
      ...older.map((event) => eventRecord(event, former, of)),
      ...newer.map((event) => eventRecord(event, this.anchor, of)),
    ]
    // Without these lines the files show as conflicts: no reason to take a recorded snapshot back.
    if (lines.length > 0) await log.append(lines).catch(() => undefined)
    await evictOldest({ ...this.#options, sizes: this.#sizes })
    return snapshot
  }

  /** Records that the snapshots over the limit at opening are evicted, once. */
  recordOverdue(): Promise<void> {
    return this.#commits.recordOverdue()
  }

  /** The newest snapshot. */
  get anchor(): Anchor {
    return this.#commits.anchor
  }

  #refuseOwn(path: string): void {
    const { dir, root } = this.#options
    if (!isInside(ownFolder(dir, root), path)) return
    const message = `${JSON.stringify(path)} belongs to the file history itself, or to the config home around it; edit it untracked`
    throw new LociError('PATH_INVALID', message, { details: { path } })
  }

  /** A look at the tracked files without opening any. */
  quickLook(): QuickLook {
    return this.#backups.quickLook()
  }

  /** Keeps what makes the next opening faster. */
  close(): Promise<void> {
    return this.#backups.close()
  }
}

/** What is known of a file's owner, said again with another newest snapshot. */
function eventRecord(
  event: { key: string; state: FileState | null | 'unknown' },
  snapshot: Anchor,
  of: { messageId: string; timestamp: string },
): EditRecord {
  const { key: trackingPath, state } = event
  const { messageId, timestamp } = of
  return state === 'unknown'
    ? { type: 'track', messageId, trackingPath, snapshot, timestamp }
    : { type: 'edit', messageId, trackingPath, state, snapshot, timestamp }
}

/** What is read for one file; `undefined` where just that cannot be had. A full disk concerns everything. */
async function unlessUnreadable<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action
  } catch (error) {
    if (isLociError(error, 'DISK_IO') || isLociError(error, 'BACKUP_MISSING')) return undefined
    throw error
  }
}

/**
 * As {@link lookAt}, for a file that a walk has seen before. ENOTDIR is absence here: a command made a file of its
 * directory, and so the file that was in it is certainly gone. Elsewhere ENOTDIR may be a mistaken path.
 */
async function lookBelow(path: string): Promise<Look> {
  try {
    return await lookAt(path)
  } catch (error) {
    if (fileErrno(error) === 'ENOTDIR') return { kind: 'absent' }
    throw error
  }
}

/** A file that is to be edited: absent or regular. */
async function lookForEdit(path: string): Promise<void> {
  const stats = await statOf(path)
  if (stats === undefined || stats.isFile()) return
  const kind = kindOf(stats)
  const name = JSON.stringify(path)
  if (kind === 'link') {
    throw new LociError('PATH_LINK', `${name} is a symbolic link; track the file it leads to`, {
      details: { path },
    })
  }
  throw new LociError('PATH_INVALID', `${name} is a ${kind}, not a regular file; only files are tracked`, {
    details: { path },
  })
}
