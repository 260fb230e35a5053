import { LociError } from '@loci/disk'
import type { Lease } from '@loci/disk'
import { applyOperation, sortResult } from './apply-rewind.ts'
import type { ApplyContext } from './apply-rewind.ts'
import { chooseFiles, conflictError } from './choose-files.ts'
import type { FileChange } from './describe-change.ts'
import { diffSnapshots, readFileAt } from './diff-snapshots.ts'
import type { FileHistory } from './file-history.ts'
import { Gate } from './gate.ts'
import { collectGarbage, measureUsage } from './gc.ts'
import type { HistoryUsage } from './gc.ts'
import type { HistoryParts } from './history-parts.ts'
import { findSnapshot } from './content-at.ts'
import type { HistoryView } from './content-at.ts'
import { describePlan, planFiles } from './plan-rewind.ts'
import type { RewindPlan, RewindResult } from './plan-rewind.ts'
import type { PastRewind } from './past-rewinds.ts'
import type { RecordingOptions } from './recording.ts'
import { listRewinds, pendingRewind, resolveOperation, undoOperation } from './resolve-rewind.ts'
import type { PendingRewind } from './resolve-rewind.ts'
import type { Backup, FileHistoryState, Snapshot } from './snapshot.ts'
import { trackCommand } from './track-command.ts'

/** One open history: lets each method in at the right time and hands it what it works on. */
export class OpenHistory implements FileHistory {
  readonly #parts: HistoryParts
  readonly #gate = new Gate()
  #lease: Lease | undefined
  #isClosed = false

  /** @param lease without one, only what reads is let in */
  constructor(parts: HistoryParts, lease: Lease | undefined) {
    this.#parts = parts
    this.#lease = lease
  }

  get pendingRewind(): PendingRewind | null {
    return pendingRewind(this.#options)
  }

  trackEdit(path: string, messageId: string): Promise<Backup> {
    return this.#write(messageId, () => this.#parts.edits.track(path, messageId))
  }

  recordEdit(path: string, messageId: string): Promise<void> {
    return this.#write(messageId, () => this.#parts.edits.record(path, messageId), { whilePending: true })
  }

  makeSnapshot(messageId: string): Promise<Snapshot> {
    return this.#write(messageId, () => this.#parts.snapshots.take(messageId))
  }

  snapshots(): readonly Snapshot[] {
    return this.#state().snapshots
  }

  trackCommand<T>(
    messageId: string,
    run: () => Promise<T>,
  ): Promise<{ result: T; changed: string[]; untracked: string[] }> {
    return trackCommand(this.#parts.commands, messageId, run, (action) => this.#write(messageId, action))
  }

  planRewind(messageId: string, options: { paths?: string[] } = {}): Promise<RewindPlan> {
    return this.#read(async () => {
      const isWritable = this.#lease !== undefined && this.pendingRewind === null
      if (isWritable) await this.#settleCommands()
      const view = this.#view()
      return describePlan(view, await planFiles(view, messageId, options.paths))
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
      const view = this.#view()
      const planned = await planFiles(view, messageId, options.paths ?? given?.paths)
      const { result, chosen, refused } = chooseFiles(planned, given, onConflict)
      if (refused) throw conflictError(await describePlan(view, planned), refused)
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
    return listRewinds(this.#options)
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
    return this.#read(() => measureUsage(this.#options.dir))
  }

  gc(options: { dryRun?: boolean } = {}): Promise<{ removed: string[]; freedBytes: number }> {
    const dryRun = options.dryRun ?? false
    return this.#gate.exclusive(async () => {
      if (!dryRun) this.#requireWritable()
      if (!dryRun && this.pendingRewind === null) await this.#settleCommands()
      // Before their backups go: with a higher limit the snapshots would come back without them.
      if (!dryRun) await this.#parts.recording.commits.recordOverdue()
      const isBaseInUse = this.#parts.commands.isInUse
      if (!dryRun && !isBaseInUse) await this.#parts.commands.forget()
      return collectGarbage({
        ...this.#options,
        isLedgerDamaged: this.#parts.recording.isLedgerUnsure,
        state: this.#state(),
        isBaseInUse,
        dryRun,
      })
    })
  }

  close(): Promise<void> {
    return this.#gate.exclusive(async () => {
      this.#isClosed = true
      if (this.#lease !== undefined) await this.#parts.recording.backups.close()
      await this.#lease?.release()
      this.#lease = undefined
    })
  }

  get #options(): RecordingOptions {
    return this.#parts.recording.options
  }

  #state(): FileHistoryState {
    return this.#options.cell.getState()
  }

  #view(): HistoryView {
    return { ...this.#options, state: this.#state(), quick: this.#parts.recording.backups.quickLook() }
  }

  #applying(): ApplyContext {
    return { ...this.#options, anchor: this.#parts.recording.commits.anchor }
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
      if (this.#parts.commands.hasUnsettled) await this.#settleCommands()
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
    if (this.#parts.commands.hasUnsettled) await this.#parts.commands.settle()
  }

  #requireWritable(): void {
    if (this.#lease !== undefined) return
    const message = this.#isClosed
      ? 'This file history is closed; open it again'
      : 'This file history is open for reading; open it with mode "write"'
    throw new LociError('HISTORY_LOCKED', message, { details: { dir: this.#options.dir } })
  }

  #requireResolved(): void {
    const pending = this.pendingRewind
    if (pending === null) return
    const message = `A rewind to ${pending.messageId} was interrupted; call resolveRewind with "finish" or "undo" first`
    throw new LociError('REWIND_INCOMPLETE', message, { details: { ...pending } })
  }
}
