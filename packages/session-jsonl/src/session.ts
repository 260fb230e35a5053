import { randomUUID } from 'node:crypto'
import { files, LociError, orAbsent } from '@loci/disk'
import type { Damage, OpenFile } from '@loci/disk'
import { analyse, chainTo, entryNode, recordsOf } from './analysis.ts'
import type { Analysis } from './analysis.ts'
import { AppendLog, sessionExists } from './append-log.ts'
import type { Durability } from './append-log.ts'
import type { ModelMessage } from './content-block.ts'
import { buildConversation } from './conversation.ts'
import { formatJson, formatRecord, invalid, isEntry, prepareEntry } from './entry.ts'
import type { Entry, EntryDraft, LineContext, RecordDraft } from './entry.ts'
import { FollowedTranscript } from './follow-transcript.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import { openTranscript } from './read-transcript.ts'
import { replacementsOf } from './replacements.ts'
import { sessionPath } from './session-path.ts'
import { lastOfConversation } from './tip.ts'
import { listTips } from './tips.ts'
import type { Tip } from './tips.ts'
import type { TreeNode } from './tree.ts'

/** Where a session is, and what its lines carry. */
export interface SessionOptions {
  /** The project's folder, made (0755) with the first append. See `resolveProjectDir` of `@loci/disk/project`. */
  projectDir: string
  /** The working directory, recorded on each line; lists go by it. */
  cwd?: string
  /** The version of the program that writes. */
  version?: string
  gitBranch?: string
  /** `'os'` (default): an append survives a crash of the process. `'fsync'`: a power cut too. */
  durability?: Durability
  clock?: () => Date
  createId?: () => string
}

/**
 * A conversation in a file that only grows. Calls keep their order, awaited or not, and what reads sees every append
 * made before it. A call that fails leaves the session as it was and usable.
 */
export interface Session {
  readonly id: string
  readonly path: string
  /** The entry that the next append follows; `null` while the conversation is empty. Read-only: as of the last read. */
  readonly tip: string | null
  /**
   * Appends an entry after the tip, or after `parentUuid`, and makes it the tip. Resolves to the entry as it is on
   * disk, once the operating system has it (`fsync`: the disk). If it rejects, nothing of it is in the conversation.
   *
   * @throws {LociError} ENTRY_INVALID for a draft that can be no line here; ENTRY_NOT_FOUND for an unknown parent;
   * DISK_FULL, DISK_IO; SESSION_EXISTS or SESSION_LOCKED at the first append to a new session
   */
  append(draft: EntryDraft): Promise<Entry>
  /**
   * Appends a record outside the conversation; the tip stays. A `last-prompt` record that would move the tip when the
   * session is next opened is followed by one that says where it is.
   *
   * @throws {LociError} ENTRY_INVALID, DISK_FULL, DISK_IO
   */
  record(draft: RecordDraft): Promise<void>
  /**
   * Makes exactly this entry the tip, or with `null` nothing, and records that before it resolves. What came after it
   * stays in the file and in {@link tips}.
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_FULL, DISK_IO
   */
  moveTip(uuid: string | null): Promise<void>
  /**
   * The entries that lead to `tip` (default: the session's), root first; tool results beside the path are put back and
   * the last compaction is applied. The entries are the session's own: do not change them.
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_IO
   */
  chain(tip?: string): Promise<Entry[]>
  /**
   * What to send to the model: messages that the Messages API accepts, with the rules of {@link buildConversation}.
   *
   * @throws {LociError} ENTRY_NOT_FOUND, DISK_IO
   */
  conversation(options?: {
    tip?: string
    renderAttachment?: (entry: Entry) => string | null
  }): Promise<ModelMessage[]>
  /** Every end of a branch, the last in the file first; without tool results that are put back into another branch. */
  tips(): Promise<Tip[]>
  /** The records of that kind outside the conversation, in file order. */
  records(type: string): Promise<RecordDraft[]>
  /** The entry with that uuid on any branch, subagents' lines too. */
  entry(uuid: string): Promise<Entry | undefined>
  /** What is wrong with the file, in file order. */
  damage(): Promise<Damage[]>
  /** Waits for what was called before, and gives back the file and the lease. Later calls are refused. */
  close(): Promise<void>
}

/**
 * Makes a new session. Nothing is on disk before the first append, which makes the folder (0755) and the file (0600)
 * and takes the lease.
 *
 * @param options.sessionId default: `createId()`. Other programs list UUIDs only.
 * @throws {LociError} SESSION_EXISTS when the id is taken; ENTRY_INVALID when it is no file name; DISK_IO
 */
export async function createSession(options: SessionOptions & { sessionId?: string }): Promise<Session> {
  const id = options.sessionId ?? (options.createId ?? randomUUID)()
  const path = sessionPath(options.projectDir, id)
  if (await orAbsent(files.lstat(path))) throw sessionExists(path)
  return new JsonlSession(id, path, options, 'write')
}

/**
 * Opens a session where its conversation stands. With `write` it takes the lease, which a process that died no longer
 * holds; with `read` it needs none, and every call first reads what others appended since. Opening writes nothing.
 *
 * @throws {LociError} SESSION_NOT_FOUND; SESSION_LOCKED with `details = { pid, host, since, decidable }`; ENTRY_INVALID
 * when the id is no file name; DISK_IO
 */
export async function openSession(
  options: SessionOptions & { sessionId: string; mode?: 'write' | 'read' },
): Promise<Session> {
  const { sessionId, mode = 'write' } = options
  if (mode !== 'write' && mode !== 'read') throw new TypeError(`mode must be 'write' or 'read'`)
  const session = new JsonlSession(sessionId, sessionPath(options.projectDir, sessionId), options, mode)
  await session.open()
  return session
}

class JsonlSession implements Session {
  readonly id: string
  readonly path: string
  readonly #context: LineContext
  readonly #log: AppendLog | undefined
  readonly #transcript: FollowedTranscript
  /** Uuids of the entries appended here, which may not have been read back yet. */
  readonly #own = new Set<string>()
  #reading: OpenFile | undefined
  #analysis: Analysis
  #tip: string | null = null
  /** The last entry of the conversation in the file, as far as this session knows. */
  #last: string | null = null
  #foreign: Damage | undefined
  /** Where the lines begin that came since this session was opened. */
  #since = 0
  #queue: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(id: string, path: string, options: SessionOptions, mode: 'write' | 'read') {
    this.id = id
    this.path = path
    const { cwd, version, gitBranch, clock = () => new Date(), createId = randomUUID } = options
    this.#context = { sessionId: id, cwd, version, gitBranch, clock, createId }
    const durability = options.durability ?? 'os'
    if (durability !== 'os' && durability !== 'fsync')
      throw new TypeError(`durability must be 'os' or 'fsync'`)
    this.#log = mode === 'write' ? new AppendLog({ path, sessionId: id, durability }) : undefined
    this.#transcript = new FollowedTranscript(path)
    this.#analysis = analyse([], path, id)
  }

  get tip(): string | null {
    return this.#tip
  }

  /** Opens the file that is there. */
  async open(): Promise<void> {
    if (this.#log) await this.#log.openExisting()
    else this.#reading = await openTranscript(this.path)
    this.#since = Number.POSITIVE_INFINITY
    try {
      await this.#read()
    } catch (error) {
      await this.#release().catch(() => undefined)
      throw error
    }
    this.#since = this.#transcript.sizeBytes
    this.#tip = this.#analysis.tip
    this.#last = lastOfConversation(this.#analysis.tree)?.entry.uuid ?? null
  }

  async append(draft: EntryDraft): Promise<Entry> {
    const prepared = prepareEntry(draft, this.#context)
    return this.#inOrder(async () => {
      const log = this.#writable()
      const { uuid } = prepared
      const parent = prepared.parentUuid === undefined ? this.#tip : prepared.parentUuid
      if (this.#own.has(uuid) || this.#analysis.tree.byUuid.has(uuid)) {
        throw invalid(`There is an entry ${uuid} already; leave uuid out to get a new one`, { uuid })
      }
      if (parent !== null && !(await this.#isEntry(parent))) throw this.#entryNotFound(parent)
      const line = prepared.line(parent)
      const rewind = parent === this.#tip ? '' : `${await this.#tipLine(parent)}\n`
      await log.append(`${rewind}${line}\n`)
      this.#own.add(uuid)
      this.#tip = uuid
      this.#last = uuid
      const entry: unknown = JSON.parse(line)
      return entry as Entry
    })
  }

  async record(draft: RecordDraft): Promise<void> {
    const line = formatRecord(draft, this.id)
    if (draft.type === 'last-prompt' && draft['explicit'] === true)
      throw invalid('An explicit last-prompt record moves the tip; use moveTip()')
    const names = draft['leafUuid']
    return this.#inOrder(async () => {
      const log = this.#writable()
      const elsewhere = typeof names === 'string' && names !== this.#tip
      const moves =
        draft.type === 'last-prompt' && this.#last !== null && (elsewhere || this.#tip !== this.#last)
      const stay = moves ? `${await this.#tipLine(this.#tip)}\n` : ''
      await log.append(`${line}\n${stay}`)
    })
  }

  async moveTip(uuid: string | null): Promise<void> {
    if (uuid !== null && typeof uuid !== 'string') throw new TypeError('moveTip takes a uuid or null')
    return this.#inOrder(async () => {
      const log = this.#writable()
      if (uuid !== null && !(await this.#isEntry(uuid))) throw this.#entryNotFound(uuid)
      // A session without a file has nothing to come back from.
      if (uuid === null && log.file === undefined) return
      await log.append(`${await this.#tipLine(uuid)}\n`)
      this.#tip = uuid
    })
  }

  chain(tip?: string): Promise<Entry[]> {
    return this.#looking((analysis) => chainTo(analysis, this.#tipNode(tip)))
  }

  conversation(
    options: { tip?: string; renderAttachment?: (entry: Entry) => string | null } = {},
  ): Promise<ModelMessage[]> {
    return this.#looking((analysis) =>
      buildConversation(chainTo(analysis, this.#tipNode(options.tip)), {
        replacements: replacementsOf(recordsOf(analysis.tree, 'content-replacement')),
        renderAttachment: options.renderAttachment,
      }),
    )
  }

  tips(): Promise<Tip[]> {
    return this.#looking(({ tree, tools }) => listTips(tree, tools, this.#tip))
  }

  records(type: string): Promise<RecordDraft[]> {
    return this.#looking(({ tree }) => recordsOf(tree, type))
  }

  entry(uuid: string): Promise<Entry | undefined> {
    return this.#looking(({ tree }) => tree.byUuid.get(uuid)?.entry)
  }

  damage(): Promise<Damage[]> {
    return this.#looking(({ damage }) => [...damage, ...(this.#foreign ? [this.#foreign] : [])])
  }

  close(): Promise<void> {
    this.#closing ??= this.#queue.then(() => this.#release())
    return this.#closing
  }

  /** Runs `action` after everything that was called before, whether that failed or not. */
  #inOrder<T>(action: () => Promise<T>): Promise<T> {
    if (this.#closing) {
      const message = `Session ${this.id} is closed; open it again`
      return Promise.reject(new LociError('SESSION_CLOSED', message, { details: { sessionId: this.id } }))
    }
    const result = this.#queue.then(action)
    this.#queue = result.catch(() => undefined)
    return result
  }

  #looking<T>(look: (analysis: Analysis) => T): Promise<T> {
    return this.#inOrder(async () => {
      await this.#read()
      return look(this.#analysis)
    })
  }

  /** Reads what the file holds beyond what was read. */
  async #read(): Promise<void> {
    const file = this.#log ? this.#log.file : this.#reading
    if (file === undefined) return
    const before = this.#transcript.items
    await this.#transcript.catchUp(file)
    const { items } = this.#transcript
    if (items === before) return
    this.#analysis = analyse(items, this.path, this.id)
    if (this.#log === undefined) this.#tip = this.#analysis.tip
    else this.#noteForeign()
  }

  /** Notes, once, that somebody else appended to the conversation while it was open for writing here. */
  #noteForeign(): void {
    if (this.#foreign) return
    const item = this.#transcript.items.find(
      ({ record, offset }) =>
        offset >= this.#since && record && isEntry(record) && !this.#own.has(record.uuid),
    )
    if (item === undefined) return
    const { offset, line } = item
    const message = `Line ${line} was written by another program while this session was open here; both ends are in tips()`
    this.#foreign = { kind: 'foreign-writer', path: this.path, offset, line, message }
  }

  #writable(): AppendLog {
    if (this.#log) return this.#log
    const message = `Session ${this.id} was opened read-only; open it with mode 'write', or fork it`
    throw new LociError('SESSION_READ_ONLY', message, { details: { sessionId: this.id } })
  }

  async #isEntry(uuid: string): Promise<boolean> {
    if (this.#own.has(uuid) || entryNode(this.#analysis, uuid)) return true
    await this.#read()
    return entryNode(this.#analysis, uuid) !== undefined
  }

  #tipNode(uuid: string | undefined): TreeNode | undefined {
    const wanted = uuid ?? this.#tip
    if (wanted === null) return undefined
    const node = entryNode(this.#analysis, wanted)
    if (node === undefined) throw this.#entryNotFound(wanted)
    return node
  }

  #entryNotFound(uuid: string): LociError {
    const message = `There is no entry ${JSON.stringify(uuid)} in the conversation of session ${this.id}; entries are listed by chain() and tips()`
    return new LociError('ENTRY_NOT_FOUND', message, { details: { uuid, sessionId: this.id } })
  }

  /** The record that makes an entry the tip for whoever opens the session next. */
  async #tipLine(uuid: string | null): Promise<string> {
    await this.#read()
    let node = uuid === null ? undefined : this.#analysis.tree.byUuid.get(uuid)
    let prompt = node && promptOf(node.entry)
    while (node && prompt === undefined) {
      node = node.parent
      prompt = node && promptOf(node.entry)
    }
    const text = prompt === undefined ? '' : 'text' in prompt ? prompt.text : prompt.command
    return formatJson({
      type: 'last-prompt',
      lastPrompt: previewOf(text),
      leafUuid: uuid,
      explicit: true,
      sessionId: this.id,
    })
  }

  async #release(): Promise<void> {
    await this.#log?.close()
    await this.#reading?.close()
    this.#reading = undefined
  }
}
