import { join } from 'node:path'
import type { Damage } from '@loci/disk'
import { Batches } from './batches.ts'
import { isSameState } from './compare.ts'
import type { FileState } from './compare.ts'
import { isSameAnchor, parseEditRecord } from './edit-record.ts'
import type { Anchor, EditRecord, Operation } from './edit-record.ts'
import { Journal } from './journal.ts'
import type { JournalledOperation } from './journal.ts'
import { appendJsonLines, readJsonLines } from './json-lines.ts'
import type { Seen } from './find-moved.ts'
import type { Move } from './renames.ts'
import { backupOf, identityOf } from './snapshot.ts'
import type { Backup, FileHistoryState } from './snapshot.ts'

/** The last that is known of a file's owner: the state the agent left, or that it was about to edit. */
interface LastEvent {
  state: FileState | null | 'unknown'
  /** The newest snapshot then. */
  anchor: Anchor
  /** Of that snapshot. */
  identity: string | null
  /** Rises with every event. */
  sequence: number
}

type CommandRecord = Extract<EditRecord, { type: 'command' }>

/**
 * `edits.jsonl`: what is known beyond the snapshots. Which bytes each backup was made with, in which state the agent
 * left each file, which snapshots were evicted, and the journal of rewinds. Losing it costs undo, conflicts and the
 * detection of damaged backups, never a snapshot.
 */
export class EditLog {
  readonly path: string
  readonly damage: Damage[] = []
  readonly #notes = new Map<string, { state: FileState; isFirst: boolean }>()
  readonly #names = new Map<string, string>()
  readonly #events = new Map<string, LastEvent>()
  readonly #evicted = new Map<string, number>()
  /** Identities of snapshots that were here: an id may be that of a kept one as well. */
  readonly #gone = new Set<string>()
  readonly #unseenIn = new Set<string>()
  readonly #unseen: Extract<EditRecord, { type: 'unseen' }>[] = []
  readonly #journal = new Journal()
  readonly #openCommands = new Map<string, CommandRecord>()
  readonly #places = new Map<string, Seen>()
  readonly #moves = new Map<string, Move>()
  readonly #uncovered: { command: CommandRecord; keys: readonly string[] }[] = []
  /** The snapshots of the state that was last asked about. */
  #here: { history?: FileHistoryState; identities: ReadonlySet<string> } = { identities: new Set() }
  #commandsSeen = 0
  #sequence = 0
  /** Is written before all else. */
  #owed: readonly EditRecord[] = []
  readonly #writes = new Batches<EditRecord>((records) => this.#write(records))

  private constructor(path: string) {
    this.path = path
  }

  /** Reads the log of the backup folder `dir`. Makes nothing. */
  static async open(dir: string): Promise<EditLog> {
    const log = new EditLog(editLogPath(dir))
    await log.#load()
    return log
  }

  async #load(): Promise<void> {
    const { lines, damage } = await readJsonLines(this.path)
    this.damage.push(...damage)
    for (const { value, line, offset } of lines) {
      const record = parseEditRecord(value)
      if (record) this.#apply(record)
      else {
        const message = `Line ${line} is no record of edits`
        this.damage.push({ kind: 'bad-record', path: this.path, line, offset, message })
      }
    }
  }

  /**
   * Appends records, in the order of the calls; what they say counts once they are written. Calls that come while
   * others are being written are written together.
   */
  append(records: readonly EditRecord[]): Promise<void> {
    return this.#writes.add(records)
  }

  async #write(records: readonly EditRecord[]): Promise<void> {
    const owed = this.#owed
    await appendJsonLines(this.path, [...owed, ...records])
    this.#owed = this.#owed.slice(owed.length)
    for (const record of records) this.#apply(record)
  }

  /**
   * Says of an operation whose record may have reached the file, although the append failed, that it touched nothing.
   * Where that cannot be written now, it is written before all else that is.
   */
  disown({ id, timestamp }: Operation): Promise<void> {
    this.#owed = [...this.#owed, { type: 'rewind-end', id, outcome: 'undone', timestamp }]
    return this.append([])
  }

  /** Whether the file may hold an operation of which {@link disown} could not yet say so. */
  get owes(): boolean {
    return this.#owed.length > 0
  }

  #apply(record: EditRecord): void {
    switch (record.type) {
      case 'backup': {
        const { name, sha256, sizeBytes, mode, first } = record
        this.#notes.set(name, { state: { sha256, sizeBytes, mode }, isFirst: first })
        this.#names.set(contentKey({ sha256, sizeBytes, mode }), name)
        return
      }
      case 'track':
        return this.#see(record.trackingPath, 'unknown', record.snapshot)
      case 'edit':
        this.#notePlace(record)
        return this.#see(record.trackingPath, record.state, record.snapshot)
      case 'unseen':
        this.#unseen.push(record)
        if (record.snapshot) this.#unseenIn.add(unseenKey(record.snapshot, record.trackingPath))
        return
      case 'rename': {
        const { from, to } = record
        this.#moves.set(JSON.stringify([from, to]), { from, to })
        return
      }
      case 'evicted':
        for (const identity of record.snapshots.map(identityOf)) {
          this.#gone.add(identity)
          this.#evicted.set(identity, (this.#evicted.get(identity) ?? 0) + 1)
        }
        return
      case 'command':
        this.#commandsSeen = Math.max(this.#commandsSeen, Number(/^c(\d{1,15})$/.exec(record.id)?.[1] ?? 0))
        this.#openCommands.set(record.id, record)
        return
      case 'command-end': {
        const command = this.#openCommands.get(record.id)
        this.#openCommands.delete(record.id)
        if (command && record.uncovered) this.#uncovered.push({ command, keys: record.uncovered })
        return
      }
      case 'rewind':
      case 'rewind-file':
      case 'rewind-end': {
        const mark = this.#journal.apply(record)
        if (mark) this.#see(mark.key, mark.state, mark.operation.snapshot)
      }
    }
  }

  #see(key: string, state: LastEvent['state'], anchor: Anchor): void {
    this.#sequence += 1
    const identity = anchor && identityOf(anchor)
    this.#events.set(key, { state, anchor, identity, sequence: this.#sequence })
  }

  /** The bytes and bits that the backup `name` was made with. */
  noted(name: string | null): FileState | undefined {
    return name === null ? undefined : this.#notes.get(name)?.state
  }

  /** Whether the backup `name` is the first of its file, whatever its version. */
  isFirst(name: string | null): boolean {
    return name !== null && this.#notes.get(name)?.isFirst === true
  }

  /** A backup made with these bytes and bits. */
  twinOf(state: FileState): string | undefined {
    return this.#names.get(contentKey(state))
  }

  /** How many snapshots of each identity were evicted, the oldest first: in a foreign ledger both may repeat. */
  get evicted(): ReadonlyMap<string, number> {
    return this.#evicted
  }

  /** Files that snapshots hold as they were before, because they could not be read. */
  get unseen(): readonly Extract<EditRecord, { type: 'unseen' }>[] {
    return this.#unseen
  }

  #notePlace({ trackingPath: key, state, inode }: Extract<EditRecord, { type: 'edit' }>): void {
    if (state !== null && inode !== undefined) this.#places.set(key, { inode, state })
    // The same said again is no news of the file.
    else if (!isSameState(this.#places.get(key)?.state ?? null, state)) this.#places.delete(key)
  }

  /** Which inode the file was, and with which bytes, when the agent left it. */
  placeOf(key: string): Seen | undefined {
    return this.#places.get(key)
  }

  /** Keys of files that were moved, each pair once. */
  get moves(): readonly Move[] {
    return [...this.#moves.values()]
  }

  /** Notes that files were moved, as far as it is not known; `snapshot`: the newest before. */
  async noteMoves(
    moves: readonly Move[],
    of: { messageId: string; snapshot: Anchor; timestamp: string },
  ): Promise<void> {
    const news = moves.filter(({ from, to }) => !this.#moves.has(JSON.stringify([from, to])))
    if (news.length > 0) await this.append(news.map((move) => ({ type: 'rename', ...move, ...of })))
  }

  /** Commands by id that began and did not end: they run, or were cut off. */
  get openCommands(): ReadonlyMap<string, CommandRecord> {
    return this.#openCommands
  }

  /** Keys that changed since a command began that was cut off, and of which the state before is not known. */
  get uncovered(): readonly { command: CommandRecord; keys: readonly string[] }[] {
    return this.#uncovered
  }

  /** A name for the next command. */
  nextCommandId(): string {
    this.#commandsSeen += 1
    return `c${this.#commandsSeen}`
  }

  /** These snapshots were here, though no record says yet that they are evicted. */
  noteGone(snapshots: readonly { messageId: string; timestamp: string }[]): void {
    for (const snapshot of snapshots) this.#gone.add(identityOf(snapshot))
  }

  /** Whether the newest snapshot at an event is here, or was. */
  #isKnown({ anchor, identity }: LastEvent, history: FileHistoryState): boolean {
    if (anchor === null || identity === null) return true
    // Asked for every file of one state, with as many snapshots: they are named once.
    if (this.#here.history !== history) {
      this.#here = { history, identities: new Set(history.snapshots.map(identityOf)) }
    }
    return (
      this.#here.identities.has(identity) ||
      this.#gone.has(identity) ||
      history.evictedIds.has(anchor.messageId)
    )
  }

  /** Number of the last event; see {@link eventsSince}. */
  get sequence(): number {
    return this.#sequence
  }

  /** Files that were edited, or were about to be, after the event with the number that is given for each. */
  eventsSince(sequenceOf: (key: string) => number): { key: string; state: LastEvent['state'] }[] {
    return this.#eventsThat((key, event) => event.sequence > sequenceOf(key))
  }

  /** Files whose last event belongs to a snapshot that is not here: in a fork, one of the parent's future. */
  strayEvents(history: FileHistoryState): { key: string; state: LastEvent['state'] }[] {
    return this.#eventsThat((_, event) => !this.#isKnown(event, history))
  }

  #eventsThat(
    isWanted: (key: string, event: LastEvent) => boolean,
  ): { key: string; state: LastEvent['state'] }[] {
    const found: { key: string; state: LastEvent['state'] }[] = []
    for (const [key, event] of this.#events) if (isWanted(key, event)) found.push({ key, state: event.state })
    return found
  }

  /**
   * Files whose edits were noted although no snapshot holds them: the record of their state before is lost. Where
   * nothing is damaged, an event that names an unknown snapshot is one of a parent's future, in a fork.
   */
  lostKeys(history: FileHistoryState, isLedgerDamaged: boolean): string[] {
    return this.#eventsThat(
      (key, event) => !history.trackedFiles.has(key) && (isLedgerDamaged || this.#isKnown(event, history)),
    ).map(({ key }) => key)
  }

  /** Whether the last event of `key` says that the agent is about to edit it, since the newest snapshot. */
  isAboutToEdit(key: string, newest: Anchor): boolean {
    const event = this.#events.get(key)
    return event?.state === 'unknown' && isSameAnchor(event.anchor, newest)
  }

  /**
   * The state in which the agent left `key`, by the newest of all records of it: an edit, a rewind, or the newest
   * snapshot if that came later, whose backup then holds it. `'unknown'`: no record, or an edit was announced and
   * nothing recorded after it.
   */
  leftState(key: string, history: FileHistoryState): FileState | null | 'unknown' | { backup: Backup } {
    const event = this.#events.get(key)
    const { snapshots } = history
    // The newest that looked at the file: one that could not read it says nothing of it.
    const index = snapshots.findLastIndex((snapshot) => !this.#unseenIn.has(unseenKey(snapshot, key)))
    const newest = snapshots[index]
    if (newest === undefined) return event === undefined ? 'unknown' : event.state
    // A snapshot that is not here at all is one of the parent's future, in a fork.
    const isOlder =
      event !== undefined &&
      !snapshots.slice(index).some((snapshot) => isSameAnchor(event.anchor, snapshot)) &&
      this.#isKnown(event, history)
    if (event !== undefined && !isOlder) return event.state
    const backup = backupOf(newest, key)
    // A file that only the newest snapshot holds joined it before its first edit: no look at the result of it.
    const isFresh = event === undefined && backupOf(snapshots[index - 1], key) === undefined
    if (backup !== undefined) return isFresh ? 'unknown' : { backup }
    return event === undefined ? 'unknown' : event.state
  }

  /** The rewind that was begun and neither finished nor taken back. */
  get pending(): JournalledOperation | undefined {
    return this.#journal.pending
  }

  /** The rewinds and undos that wrote something, oldest first; one that is pending is the last. */
  get operations(): readonly JournalledOperation[] {
    return this.#journal.operations
  }

  /** A name for the next operation, which no folder of kept bytes in `taken` has. */
  nextOperationId(taken: ReadonlySet<string>): string {
    return this.#journal.nextId(taken)
  }
}

/** Where the log of the backup folder `dir` is. */
export function editLogPath(dir: string): string {
  return join(dir, 'edits.jsonl')
}

function contentKey({ sha256, mode }: FileState): string {
  return `${sha256} ${mode}`
}

function unseenKey(snapshot: { messageId: string; timestamp: string }, key: string): string {
  return JSON.stringify([identityOf(snapshot), key])
}
