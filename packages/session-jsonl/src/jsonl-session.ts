import { randomUUID } from 'node:crypto'
import { LociError } from '@loci/disk'
import type { Damage, OpenFile } from '@loci/disk'
import { analyse, byOffset, chainTo, entryNode, recordsOf } from './analysis.ts'
import type { Analysis } from './analysis.ts'
import { AppendLog } from './append-log.ts'
import type { ModelMessage } from './content-block.ts'
import { buildConversation } from './conversation.ts'
import { formatJson, invalid, isEntry } from './entry.ts'
import type { Entry, EntryDraft, RecordDraft } from './entry.ts'
import { FollowedTranscript } from './follow-transcript.ts'
import { previewOf, promptOf } from './prompt-text.ts'
import { formatRecord, prepareEntry } from './prepare-entry.ts'
import type { LineContext } from './prepare-entry.ts'
import { openTranscript } from './read-transcript.ts'
import { replacementsOf } from './replacements.ts'
import type { Session, SessionOptions } from './session.ts'
import { grew } from './session-growth.ts'
import { lastOfConversation } from './tip.ts'
import { listTips } from './tips.ts'
import type { Tip } from './tips.ts'
import { TitleReminder } from './title-reminder.ts'
import type { TranscriptItem } from './transcript.ts'
import type { TreeNode } from './tree.ts'

/** A session over its transcript: appends through {@link AppendLog}, reads back what the file holds. */
export class JsonlSession implements Session {
  readonly id: string
  readonly path: string
  readonly #context: LineContext
  readonly #log: AppendLog | undefined
  readonly #transcript: FollowedTranscript
  /** Uuids of the entries appended here, which may not have been read back yet. */
  readonly #own = new Set<string>()
  /** The same, with those whose append failed: where taking one back failed too, it is no other program's line. */
  readonly #tried = new Set<string>()
  /** Uuids of the records appended here. */
  readonly #ownRecords = new Set<string>()
  #reading: OpenFile | undefined
  #analysis: Analysis
  /** What {@link #analysis} is of. */
  #analysed: readonly TranscriptItem[] = []
  readonly #title: TitleReminder
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
    this.#title = new TitleReminder(id)
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
    this.#title.grow(this.#since)
    this.#tip = this.#analysis.tip
    this.#last = lastOfConversation(this.#analysis.tree)?.entry.uuid ?? null
  }

  async append(draft: EntryDraft): Promise<Entry> {
    const prepared = prepareEntry(draft, this.#context)
    return this.#inOrder(async () => {
      const log = this.#writable()
      const { uuid } = prepared
      const parent = prepared.parentUuid === undefined ? this.#tip : prepared.parentUuid
      this.#refuseTaken(uuid)
      if (parent !== null && !(await this.#isEntry(parent))) throw this.#entryNotFound(parent)
      const line = prepared.line(parent)
      const rewind = parent === this.#tip ? '' : `${await this.#tipLine(parent)}\n`
      this.#tried.add(uuid)
      const title = await this.#title.line(this.#transcript, log.file)
      await this.#write(log, `${title}${rewind}${line}\n`)
      this.#own.add(uuid)
      this.#tip = uuid
      this.#last = uuid
      const entry: Entry = JSON.parse(line)
      return entry
    })
  }

  async record(draft: RecordDraft): Promise<void> {
    const line = formatRecord(draft, this.id)
    if (draft.type === 'last-prompt' && draft['explicit'] === true)
      throw invalid('An explicit last-prompt record moves the tip; use moveTip()')
    const { leafUuid: names, uuid } = draft
    return this.#inOrder(async () => {
      const log = this.#writable()
      if (typeof uuid === 'string') this.#refuseTaken(uuid)
      const elsewhere = typeof names === 'string' && names !== this.#tip
      const moves =
        draft.type === 'last-prompt' && this.#last !== null && (elsewhere || this.#tip !== this.#last)
      const stay = moves ? `${await this.#tipLine(this.#tip)}\n` : ''
      await this.#write(log, `${line}\n${stay}`)
      if (typeof uuid === 'string') this.#ownRecords.add(uuid)
    })
  }

  async moveTip(uuid: string | null): Promise<void> {
    if (uuid !== null && typeof uuid !== 'string') throw new TypeError('moveTip takes a uuid or null')
    return this.#inOrder(async () => {
      const log = this.#writable()
      if (uuid !== null && !(await this.#isEntry(uuid))) throw this.#entryNotFound(uuid)
      // A session without a file has nothing to come back from.
      if (uuid === null && log.file === undefined) return
      await this.#write(log, `${await this.#tipLine(uuid)}\n`)
      this.#tip = uuid
    })
  }

  chain(tip?: string): Promise<Entry[]> {
    return this.#looking((analysis) => chainTo(analysis, this.#tipNode(tip)))
  }

  conversation(
    options: {
      tip?: string | undefined
      renderAttachment?: ((entry: Entry) => string | null) | undefined
    } = {},
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
    return this.#looking(({ damage }) =>
      [...damage, ...(this.#foreign ? [this.#foreign] : [])].toSorted(byOffset),
    )
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

  async #write(log: AppendLog, lines: string): Promise<void> {
    await log.append(lines)
    this.#title.grow(Buffer.byteLength(lines))
    grew(this)
  }

  /** Reads what the file holds beyond what was read. */
  async #read(): Promise<void> {
    const file = this.#log ? this.#log.file : this.#reading
    if (file === undefined) return
    await this.#transcript.catchUp(file)
    const { items } = this.#transcript
    if (items === this.#analysed) return
    this.#analysis = analyse(items, this.path, this.id)
    this.#analysed = items
    if (this.#log === undefined) this.#tip = this.#analysis.tip
    else this.#noteForeign()
  }

  /** Notes, once, that somebody else appended to the conversation while it was open for writing here. */
  #noteForeign(): void {
    if (this.#foreign) return
    const item = this.#transcript.items.find(
      ({ record, offset }) =>
        offset >= this.#since && record && isEntry(record) && !this.#tried.has(record.uuid),
    )
    if (item === undefined) return
    const { offset, line } = item
    const message = `Line ${line} was written by another program while this session was open here; both ends are in tips()`
    this.#foreign = { kind: 'foreign-writer', path: this.path, offset, line, message }
  }

  #refuseTaken(uuid: string): void {
    if (this.#own.has(uuid) || this.#ownRecords.has(uuid) || this.#analysis.tree.byUuid.has(uuid))
      throw invalid(`The uuid ${uuid} is taken in this session; leave it out to get a new one`, { uuid })
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
