import { settleAll } from './in-parallel.ts'
import { BackupSizes, evictOldest } from './evict-oldest.ts'
import type { FileState } from './compare.ts'
import type { Anchor, EditRecord } from './edit-record.ts'
import { MoveFollower } from './follow-moves.ts'
import { lookAtTracked } from './look-at-tracked.ts'
import type { TrackedLook } from './look-at-tracked.ts'
import type { Recording } from './recording.ts'
import { requireFile } from './require-file.ts'
import { addSnapshot, backupOf, nextRecord, removeSnapshot } from './snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import type { TrackedPath } from './track-path.ts'

/** Takes snapshots, and knows what they do not know. */
export class SnapshotTaker {
  readonly #recording: Recording
  readonly #sizes: BackupSizes
  readonly #moves: MoveFollower
  #settling: Promise<unknown> = Promise.resolve()
  #inFlight = 0
  #hasRecorded: boolean
  #calls = 0
  /** How many snapshots were called when the look at a file began with which it joined the newest. */
  readonly #lookedAt = new Map<string, number>()
  /** See {@link noteUnrecorded}; since the call of the newest snapshot. The values tell one change from a later one. */
  readonly #unrecorded = new Map<string, symbol>()

  constructor(recording: Recording) {
    this.#recording = recording
    const { dir, root, log, cell } = recording.options
    this.#hasRecorded = cell.getState().snapshots.length > 0
    this.#sizes = new BackupSizes(dir)
    this.#moves = new MoveFollower({
      dir,
      root,
      log,
      backups: recording.backups,
      paths: recording.paths,
      state: () => cell.getState(),
      mayHaveBeen: (key) => this.#unrecorded.has(key) || recording.commands.mayHaveBeen(key),
      join: (key, backup, messageId, { messageId: id, timestamp }) =>
        recording.commits.join(key, backup, messageId, { messageId: id, timestamp }),
    })
  }

  /** How many snapshots were called. */
  get calls(): number {
    return this.#calls
  }

  /** A file is about to join the newest snapshot, as a look found it that began when so many had been called. */
  noteLook(key: string, calls: number): void {
    this.#lookedAt.set(key, calls)
  }

  /** Whether the newest snapshot is in the ledger, and nothing changed without a record since it was called. */
  get isUpToDate(): boolean {
    return this.#hasRecorded && this.#unrecorded.size === 0
  }

  /** Whether one is being made. */
  get isBusy(): boolean {
    return this.#inFlight > 0
  }

  /** Waits until none is being made: what is written from then on is in none that was called. */
  async settled(): Promise<void> {
    while (this.isBusy) await this.#settling
  }

  /** Whether a file changed without a record since the newest snapshot was called. */
  isUnrecorded(key: string): boolean {
    return this.#unrecorded.has(key)
  }

  /**
   * These files changed, and what they were before that is not recorded: no snapshot that is older than now knows, and
   * what is recorded of them from now on is not their first state.
   */
  noteUnrecorded(keys: Iterable<string>): void {
    const { versions } = this.#recording.options
    for (const key of keys) {
      this.#unrecorded.set(key, Symbol(key))
      if (!versions.has(key)) versions.set(key, 1)
    }
  }

  /** Makes sure that some snapshot is in the ledger; a first one gets this id. */
  async ensureFirst(messageId: string): Promise<void> {
    while (!this.#hasRecorded) {
      if (this.#inFlight === 0) await this.take(messageId)
      else await this.#settling
    }
  }

  /** @param asked a file to look at, tracked or not */
  async take(messageId: string, asked?: TrackedPath): Promise<Snapshot> {
    const { cell, log } = this.#recording.options
    // Phase 1, in the same moment as the call: what is tracked, and a place in the queue of each of those files,
    // so that an edit announced from now on waits until its file has been looked at.
    let captured = cell.getState()
    cell.setState((previous) => (captured = previous))
    const { sequence } = log
    const calls = (this.#calls += 1)
    const unrecorded = new Map(this.#unrecorded)
    const earlier = this.#settling
    this.#inFlight += 1
    // Phase 2: all files, holding nothing.
    const work = settleAll([
      ...this.#lookAtOthers(captured.trackedFiles, asked),
      lookAtTracked(captured.trackedFiles, {
        paths: this.#recording.paths,
        backups: this.#recording.backups,
      }),
    ]).then((looks) => looks.flat())
    // Phase 3, in the order of the calls.
    const result = earlier
      .then(() => work)
      .then((looks) => this.#commitSnapshot(messageId, looks, { sequence, unrecorded, calls }))
    work.catch(() => undefined)
    this.#settling = result.then(
      () => (this.#inFlight -= 1),
      () => (this.#inFlight -= 1),
    )
    return result
  }

  /**
   * Looks at files that are not tracked yet: at one that is asked for, and at those of which the first record is being
   * made, once it is.
   */
  #lookAtOthers(tracked: ReadonlySet<string>, asked: TrackedPath | undefined): Promise<TrackedLook[]>[] {
    const { cell } = this.#recording.options
    const joining = [...this.#recording.paths.busyKeys].filter(
      (key) => !tracked.has(key) && key !== asked?.key,
    )
    const looks = joining.map((key) =>
      this.#recording.paths.run(key, async () => {
        if (!cell.getState().trackedFiles.has(key)) return []
        const { sequence } = this.#recording.backups
        return [{ key, sequence, ...(await this.#recording.backups.backUpTracked(key)) }]
      }),
    )
    if (asked === undefined || tracked.has(asked.key)) return looks
    const { key, path } = asked
    const look = this.#recording.paths.run(key, async () => {
      const { sequence } = this.#recording.backups
      await requireFile(path)
      return [{ key, sequence, backup: await this.#recording.backups.backUp(asked) }]
    })
    return [look, ...looks]
  }

  /**
   * A first record is what a file was at every snapshot before it. Nobody knows that where the newest does not hold the
   * file: then what was found is recorded anew.
   */
  async #renewFirst(looks: readonly TrackedLook[]): Promise<TrackedLook[]> {
    const { backups, paths, options } = this.#recording
    const newest = options.cell.getState().snapshots.at(-1)
    const result: TrackedLook[] = []
    for (const look of looks) {
      const { key, backup } = look
      const isFirst = backup.version === 1 || options.log.isFirst(backup.backupFileName)
      const isRenewed = isFirst && backupOf(newest, key) === undefined
      result.push(
        isRenewed ? { ...look, backup: await paths.run(key, () => backups.renew(key, backup)) } : look,
      )
    }
    return result
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
    const { cell, log } = this.#recording.options
    const former = this.#recording.commits.anchor
    const newest = cell.getState().snapshots.at(-1)
    const looks = await this.#renewFirst([
      ...tracked,
      ...(await this.#moves.follow(messageId, newest, tracked, () => this.#recording.commits.now())),
    ])
    const stray = log.strayEvents(cell.getState())
    const timestamp = this.#recording.commits.timeOfSnapshot(messageId)
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
    await this.#recording.commits.commit(
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
    this.#hasRecorded = true
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
      ...newer.map((event) => eventRecord(event, this.#recording.commits.anchor, of)),
    ]
    // Without these lines the files show as conflicts: no reason to take a recorded snapshot back.
    if (lines.length > 0) await log.append(lines).catch(() => undefined)
    const isLedgerDamaged = this.#recording.isLedgerUnsure
    await evictOldest({ ...this.#recording.options, isLedgerDamaged, sizes: this.#sizes })
    return snapshot
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
