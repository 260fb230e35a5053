import { LociError } from '@loci/disk'
import type { Lease } from '@loci/disk'
import { applyOperation, sortResult } from './apply-rewind.ts'
import type { ApplyContext } from './apply-rewind.ts'
import { chooseFiles } from './choose-files.ts'
import type { FileChange } from './describe-change.ts'
import { diffSnapshots, readFileAt } from './diff-snapshots.ts'
import { EditLog } from './edits.ts'
import type { FileHistory, FileHistoryOptions } from './file-history.ts'
import { Gate } from './gate.ts'
import { collectGarbage, measureUsage } from './gc.ts'
import type { HistoryUsage } from './gc.ts'
import { defaultLedgerPath, fileLedger } from './ledger.ts'
import { loadHistory, readSnapshots } from './load-history.ts'
import { findSnapshot } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import { makePlan } from './plan-rewind.ts'
import type { RewindPlan, RewindResult } from './plan-rewind.ts'
import type { PastRewind } from './past-rewinds.ts'
import { listRewinds, pendingRewind, resolveOperation, undoOperation } from './resolve-rewind.ts'
import type { PendingRewind } from './resolve-rewind.ts'
import { emptyFileHistoryState } from './snapshot.ts'
import type { Backup, FileHistoryState, HistoryCell, Snapshot } from './snapshot.ts'
import { CommandTracker, MAX_BASE_BYTES, MAX_FILES, trackCommand } from './track-command.ts'
import { Tracker } from './tracker.ts'

function ownCell(): HistoryCell {
  let state = emptyFileHistoryState()
  return {
    getState: () => state,
    setState: (updater) => {
      state = updater(state)
    },
  }
}

/** One open history: lets each method in at the right time and hands it what it works on. */
export class OpenHistory implements FileHistory {
  readonly #dir: string
  readonly #root: string
  readonly #cell: HistoryCell
  readonly #log: EditLog
  readonly #clock: () => Date
  readonly #tracker: Tracker
  readonly #commands: CommandTracker
  readonly #isLedgerDamaged: boolean
  readonly #gate = new Gate()
  #lease: Lease | undefined
  #isClosed = false

  private constructor(parts: {
    dir: string
    root: string
    cell: HistoryCell
    log: EditLog
    clock: () => Date
    tracker: Tracker
    commands: CommandTracker
    isLedgerDamaged: boolean
    lease: Lease | undefined
  }) {
    this.#dir = parts.dir
    this.#root = parts.root
    this.#cell = parts.cell
    this.#log = parts.log
    this.#clock = parts.clock
    this.#tracker = parts.tracker
    this.#commands = parts.commands
    this.#isLedgerDamaged = parts.isLedgerDamaged
    this.#lease = parts.lease
  }

  static async load(
    options: FileHistoryOptions,
    maxSnapshots: number,
    lease: Lease | undefined,
  ): Promise<OpenHistory> {
    const { dir, root, clock = () => new Date(), maxBytes, maxFileBytes = Infinity } = options
    const log = await EditLog.open(dir)
    const read = await readSnapshots(dir, options.ledger)
    const { state, versions, overdue } = loadHistory(read.records, log, maxSnapshots)
    log.noteGone(overdue)
    const cell = options.state ?? ownCell()
    cell.setState(() => state)
    const isLedgerDamaged = read.damage.length > 0
    // What is recorded from now on of a file whose record is lost is not its first.
    for (const key of log.lostKeys(state, isLedgerDamaged)) if (!versions.has(key)) versions.set(key, 1)
    const tracker = new Tracker({
      dir,
      root,
      cell,
      ledger: options.ledger ?? fileLedger(defaultLedgerPath(dir)),
      log,
      clock,
      maxSnapshots,
      maxBytes,
      maxFileBytes,
      versions,
      overdue,
      isLedgerDamaged,
    })
    const commands = new CommandTracker({
      dir,
      root,
      tracker,
      log,
      clock,
      maxFiles: options.maxFiles ?? MAX_FILES,
      maxBytes: maxBytes ?? MAX_BASE_BYTES,
      maxFileBytes,
    })
    return new OpenHistory({ dir, root, cell, log, clock, tracker, commands, isLedgerDamaged, lease })
  }

  get pendingRewind(): PendingRewind | null {
    return pendingRewind({ log: this.#log })
  }

  trackEdit(path: string, messageId: string): Promise<Backup> {
    return this.#write(messageId, () => this.#tracker.trackEdit(path, messageId))
  }

  recordEdit(path: string, messageId: string): Promise<void> {
    return this.#write(messageId, () => this.#tracker.recordEdit(path, messageId), { whilePending: true })
  }

  makeSnapshot(messageId: string): Promise<Snapshot> {
    return this.#write(messageId, () => this.#tracker.makeSnapshot(messageId))
  }

  snapshots(): readonly Snapshot[] {
    return this.#cell.getState().snapshots
  }

  trackCommand<T>(
    messageId: string,
    run: () => Promise<T>,
  ): Promise<{ result: T; changed: string[]; untracked: string[] }> {
    return trackCommand(this.#commands, messageId, run, (action) => this.#write(messageId, action))
  }

  planRewind(messageId: string, options: { paths?: string[] } = {}): Promise<RewindPlan> {
    return this.#read(async () => {
      const isWritable = this.#lease !== undefined && this.pendingRewind === null
      if (isWritable) await this.#settleCommands()
      return (await makePlan(this.#view(), messageId, options.paths)).plan
    })
  }

  rewind(
    target: string | RewindPlan,
    options: { onConflict?: 'stop' | 'skip' | 'overwrite'; paths?: string[]; signal?: AbortSignal } = {},
  ): Promise<RewindResult> {
    const { onConflict = 'stop', signal } = options
    if (onConflict !== 'stop' && onConflict !== 'skip' && onConflict !== 'overwrite') {
      return Promise.reject(new TypeError('onConflict must be stop, skip or overwrite'))
    }
    return this.#change(async () => {
      const given = typeof target === 'string' ? undefined : target
      const messageId = typeof target === 'string' ? target : target.messageId
      const detailed = await makePlan(this.#view(), messageId, options.paths ?? given?.paths)
      const { result, chosen } = chooseFiles(detailed, given, onConflict)
      signal?.throwIfAborted()
      const applied = await applyOperation(this.#applying(), 'rewind', messageId, chosen)
      return sortResult({
        ...applied,
        unchanged: [...result.unchanged, ...applied.unchanged],
        skipped: [...result.skipped, ...applied.skipped],
        conflicts: [...result.conflicts, ...applied.conflicts],
      })
    })
  }

  rewinds(): readonly PastRewind[] {
    return listRewinds({ log: this.#log })
  }

  undoRewind(options: { onConflict?: 'skip' | 'overwrite'; id?: string } = {}): Promise<RewindResult> {
    const { onConflict = 'skip', id } = options
    if (onConflict !== 'skip' && onConflict !== 'overwrite') {
      return Promise.reject(new TypeError('onConflict must be skip or overwrite'))
    }
    return this.#change(() => undoOperation(this.#applying(), onConflict, id))
  }

  resolveRewind(how: 'finish' | 'undo'): Promise<RewindResult> {
    if (how !== 'finish' && how !== 'undo') return Promise.reject(new TypeError('how must be finish or undo'))
    return this.#gate.exclusive(async () => {
      this.#requireWritable()
      return resolveOperation(this.#applying(), how)
    })
  }

  diff(fromId: string, toId?: string, options: { patch?: boolean } = {}): Promise<FileChange[]> {
    return this.#read(() => diffSnapshots(this.#view(), fromId, toId, options.patch ?? false))
  }

  readFileAt(messageId: string, path: string): Promise<Uint8Array | null> {
    return this.#read(async () => readFileAt(this.#view(), findSnapshot(this.#state(), messageId), path))
  }

  usage(): Promise<HistoryUsage> {
    return this.#read(() => measureUsage(this.#dir))
  }

  gc(options: { dryRun?: boolean } = {}): Promise<{ removed: string[]; freedBytes: number }> {
    const dryRun = options.dryRun ?? false
    return this.#gate.exclusive(async () => {
      if (!dryRun) this.#requireWritable()
      if (!dryRun && this.pendingRewind === null) await this.#settleCommands()
      // Before their backups go: with a higher limit the snapshots would come back without them.
      if (!dryRun) await this.#tracker.recordOverdue()
      const isBaseInUse = this.#commands.isInUse
      if (!dryRun && !isBaseInUse) await this.#commands.forget()
      return collectGarbage({
        dir: this.#dir,
        state: this.#state(),
        log: this.#log,
        isLedgerDamaged: this.#isLedgerDamaged,
        isBaseInUse,
        dryRun,
      })
    })
  }

  close(): Promise<void> {
    return this.#gate.exclusive(async () => {
      this.#isClosed = true
      if (this.#lease !== undefined) await this.#tracker.close()
      await this.#lease?.release()
      this.#lease = undefined
    })
  }

  #state(): FileHistoryState {
    return this.#cell.getState()
  }

  #view(): HistoryView {
    return {
      dir: this.#dir,
      root: this.#root,
      state: this.#state(),
      log: this.#log,
      isLedgerDamaged: this.#isLedgerDamaged,
      quick: this.#tracker.quickLook(),
    }
  }

  #applying(): ApplyContext {
    const newest = this.#state().snapshots.at(-1)
    const anchor = newest ? { messageId: newest.messageId, timestamp: newest.timestamp } : null
    return { dir: this.#dir, log: this.#log, anchor, clock: this.#clock }
  }

  #read<T>(action: () => Promise<T>): Promise<T> {
    return this.#gate.shared(action)
  }

  #write<T>(
    messageId: string,
    action: () => Promise<T>,
    options: { whilePending?: boolean } = {},
  ): Promise<T> {
    if (typeof messageId !== 'string') return Promise.reject(new TypeError('messageId must be a string'))
    return this.#gate.shared(async () => {
      this.#requireWritable()
      if (options.whilePending === true) return action()
      this.#requireResolved()
      if (this.#commands.hasUnsettled) await this.#settleCommands()
      return action()
    })
  }

  #change<T>(action: () => Promise<T>): Promise<T> {
    return this.#gate.exclusive(async () => {
      this.#requireWritable()
      this.#requireResolved()
      await this.#settleCommands()
      return action()
    })
  }

  /** What commands of an earlier run changed before they were cut off, and others since, comes in first. */
  async #settleCommands(): Promise<void> {
    if (this.#commands.hasUnsettled) await this.#commands.settle()
  }

  #requireWritable(): void {
    if (this.#lease !== undefined) return
    const message = this.#isClosed
      ? 'This file history is closed; open it again'
      : 'This file history is open for reading; open it with mode "write"'
    throw new LociError('HISTORY_LOCKED', message, { details: { dir: this.#dir } })
  }

  #requireResolved(): void {
    const pending = this.pendingRewind
    if (pending === null) return
    const message = `A rewind to ${pending.messageId} was interrupted; call resolveRewind with "finish" or "undo" first`
    throw new LociError('REWIND_INCOMPLETE', message, { details: { ...pending } })
  }
}
