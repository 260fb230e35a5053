import { randomUUID } from 'node:crypto'
import { LociError } from '@loci/disk'
import type { Damage, OpenFile } from '@loci/disk'
import { byOffset } from './analysis.ts'
import { AppendLog } from './append-log.ts'
import type { ModelMessage } from './content-block.ts'
import { buildConversation } from './conversation.ts'
import { formatJson, invalid } from './entry.ts'
import type { Entry, EntryDraft, RecordDraft } from './entry.ts'
import { ForeignWriter } from './foreign-writer.ts'
import { planCompaction } from './plan-compaction.ts'
import type { Compaction } from './plan-compaction.ts'
import { formatRecord, prepareEntry } from './prepare-entry.ts'
import type { LineContext } from './prepare-entry.ts'
import { previewOf } from './prompt-text.ts'
import { openTranscript } from './read-transcript.ts'
import { callsIn, replacementsOf } from './replacements.ts'
import type { Session, SessionOptions } from './session.ts'
import { grew } from './session-growth.ts'
import { listTips } from './tips.ts'
import type { Tip } from './tips.ts'
import { TitleReminder } from './title-reminder.ts'
import { TranscriptReading } from './transcript-reading.ts'
import type { ReadChain } from './transcript-reading.ts'
import { WriteQueue } from './write-queue.ts'
import type { PendingWrite } from './write-queue.ts'

interface Uuids {
  entries: Set<string>
  records: Set<string>
}

/** A session over its transcript: appends through {@link AppendLog}, reads back what the file holds. */
export class JsonlSession implements Session {
  readonly id: string
  readonly path: string
  readonly #context: LineContext
  readonly #log: AppendLog | undefined
  readonly #transcript: TranscriptReading
  readonly #queue: WriteQueue
  /** Uuids of what was appended here, which may not have been read back yet. */
  readonly #own: Uuids = { entries: new Set(), records: new Set() }
  /** Those of the batch that is being made. */
  #pending: Uuids = { entries: new Set(), records: new Set() }
  readonly #foreign = new ForeignWriter()
  /** Whether ids come from elsewhere than from chance, and so might come again. */
  readonly #idsRepeat: boolean
  #reading: OpenFile | undefined
  readonly #title: TitleReminder
  #tip: string | null = null
  /** The last entry of the conversation in the file, as far as this session knows. */
  #last: string | null = null
  #before: { tip: string | null; last: string | null } = { tip: null, last: null }
  /** Whether an append failed, and the tip has not been said since: what of it reached the file may stand last there. */
  #isAstray = false
  #closing: Promise<void> | undefined

  constructor(id: string, path: string, options: SessionOptions, mode: 'write' | 'read') {
    this.id = id
    this.path = path
    const { cwd, version, gitBranch, clock = () => new Date(), createId = randomUUID } = options
    this.#idsRepeat = options.createId !== undefined
    this.#context = { sessionId: id, cwd, version, gitBranch, clock, createId }
    const durability = options.durability ?? 'os'
    if (durability !== 'os' && durability !== 'fsync')
      throw new TypeError(`durability must be 'os' or 'fsync'`)
    this.#log = mode === 'write' ? new AppendLog({ path, sessionId: id, durability }) : undefined
    this.#transcript = new TranscriptReading(path, id)
    this.#title = new TitleReminder(id)
    this.#queue = new WriteQueue((lines) => this.#write(lines), {
      begin: () => {
        this.#before = { tip: this.#tip, last: this.#last }
        this.#pending = { entries: new Set(), records: new Set() }
      },
      rollBack: () => {
        this.#tip = this.#before.tip
        this.#last = this.#before.last
        this.#title.lookAgain()
        this.#isAstray = true
      },
    })
  }

  get tip(): string | null {
    return this.#tip
  }

  /** Opens the file that is there. */
  async open(): Promise<void> {
    if (this.#log) await this.#log.openExisting()
    else this.#reading = await openTranscript(this.path)
    try {
      const file = this.#file()
      if (file === undefined) return
      await this.#transcript.catchUp(file)
      await this.#stand(file)
      const { sizeBytes } = this.#transcript
      this.#foreign.look([], sizeBytes)
      this.#title.grow(sizeBytes)
      this.#title.forget()
    } catch (error) {
      await this.#release().catch(() => undefined)
      throw error
    }
  }

  async append(draft: EntryDraft): Promise<Entry> {
    const prepared = prepareEntry(draft, this.#context)
    const { uuid, parentUuid: wanted, sizeBytes } = prepared
    const isChosen = draft['uuid'] !== undefined || this.#idsRepeat
    const isElsewhere = (): boolean => wanted !== undefined && wanted !== this.#tip
    let appended: Entry | undefined
    const write = {
      sizeBytes,
      needsFile: () => isElsewhere() || this.#title.isDue,
      lines: async (): Promise<string> => {
        const log = this.#writable()
        const moves = isElsewhere()
        const parent = wanted === undefined ? this.#tip : wanted
        if (isChosen) await this.#refuseTaken(uuid)
        if (moves && parent !== null && !(await this.#isEntry(parent))) throw this.#entryNotFound(parent)
        const { line, entry } = prepared.finish(parent)
        const rewind = moves ? `${await this.#tipLine(parent)}\n` : ''
        const title = await this.#title.line(this.#transcript, log)
        appended = entry
        this.#foreign.tries(uuid)
        this.#pending.entries.add(uuid)
        this.#tip = uuid
        this.#last = uuid
        this.#title.grow(sizeBytes)
        return `${title}${rewind}${line}\n`
      },
    }
    return this.#append(write, () => {
      this.#own.entries.add(uuid)
      if (appended === undefined) throw new Error('What was written has no entry')
      return appended
    })
  }

  async record(draft: RecordDraft): Promise<void> {
    const line = formatRecord(draft, this.id)
    if (draft.type === 'last-prompt' && draft['explicit'] === true)
      throw invalid('An explicit last-prompt record moves the tip; use moveTip()')
    const { leafUuid: names, uuid } = draft
    const isOfTip = draft.type === 'last-prompt'
    const sizeBytes = Buffer.byteLength(line) + 1
    const write = {
      sizeBytes,
      needsFile: () => isOfTip,
      lines: async (): Promise<string> => {
        this.#writable()
        if (typeof uuid === 'string') await this.#refuseTaken(uuid)
        const elsewhere = typeof names === 'string' && names !== this.#tip
        const moves = isOfTip && this.#last !== null && (elsewhere || this.#tip !== this.#last)
        const stay = moves ? `${await this.#tipLine(this.#tip)}\n` : ''
        if (typeof uuid === 'string') this.#pending.records.add(uuid)
        this.#title.grow(sizeBytes)
        this.#title.say(draft)
        return `${line}\n${stay}`
      },
    }
    return this.#append(write, () => {
      if (typeof uuid === 'string') this.#own.records.add(uuid)
    })
  }

  async moveTip(uuid: string | null): Promise<void> {
    if (uuid !== null && typeof uuid !== 'string') throw new TypeError('moveTip takes a uuid or null')
    const write = {
      sizeBytes: 0,
      needsFile: () => true,
      lines: async (): Promise<string> => {
        const log = this.#writable()
        if (uuid !== null && !(await this.#isEntry(uuid))) throw this.#entryNotFound(uuid)
        // A session without a file has nothing to come back from.
        if (uuid === null && log.file === undefined) return ''
        const line = await this.#tipLine(uuid)
        this.#tip = uuid
        return `${line}\n`
      },
    }
    return this.#append(write, () => undefined)
  }

  async compact(compaction: Compaction): Promise<{ boundary: Entry; summary: Entry }> {
    const { summary, keepFrom, metadata } = compaction
    if (typeof summary !== 'string') throw new TypeError('The summary must be a string')
    if (summary.trim() === '') throw invalid('The summary of a compaction must not be empty')
    const summaryId = this.#context.createId()
    let written: { boundary: Entry; summary: Entry } | undefined
    const write = {
      sizeBytes: Buffer.byteLength(summary),
      needsFile: () => true,
      lines: async (): Promise<string> => {
        const log = this.#writable()
        const { file } = log
        const tip = this.#tip
        if (tip === null || file === undefined)
          throw invalid('There is nothing to compact: the conversation is empty')
        await this.#transcript.catchUp(file)
        const { entries } = await this.#chain(file, undefined)
        const plan = planCompaction(entries, { summary, keepFrom, metadata }, { tip, summary: summaryId })
        if (plan === undefined) throw this.#entryNotFound(keepFrom ?? '')
        const boundary = prepareEntry(plan.boundary, this.#context)
        if (this.#idsRepeat) for (const uuid of [boundary.uuid, summaryId]) await this.#refuseTaken(uuid)
        const first = boundary.finish(null)
        const second = prepareEntry(plan.summary, this.#context).finish(boundary.uuid)
        const title = await this.#title.line(this.#transcript, log)
        const text = `${first.line}\n${second.line}\n`
        for (const { uuid } of [first.entry, second.entry]) {
          this.#foreign.tries(uuid)
          this.#pending.entries.add(uuid)
        }
        this.#tip = summaryId
        this.#last = summaryId
        this.#title.grow(Buffer.byteLength(text))
        written = { boundary: first.entry, summary: second.entry }
        return `${title}${text}`
      },
    }
    return this.#append(write, () => {
      if (written === undefined) throw new Error('What was written has no entry')
      for (const { uuid } of Object.values(written)) this.#own.entries.add(uuid)
      return written
    })
  }

  chain(tip?: string): Promise<Entry[]> {
    return this.#looking(async (file) => (await this.#chain(file, tip)).entries)
  }

  conversation(
    options: {
      tip?: string | undefined
      renderAttachment?: ((entry: Entry) => string | null) | undefined
    } = {},
  ): Promise<ModelMessage[]> {
    return this.#looking(async (file) => {
      const { entries, offsets, from } = await this.#chain(file, options.tip)
      const records =
        file && entries.length > 0 ? await this.#transcript.records(file, 'content-replacement', from) : []
      const callsAt = callsIn(entries.map((entry, index) => ({ entry, at: offsets[index] ?? 0 })))
      return buildConversation(entries, {
        replacements: replacementsOf(records, callsAt),
        renderAttachment: options.renderAttachment,
      })
    })
  }

  tips(): Promise<Tip[]> {
    return this.#looking(async (file) => {
      if (file === undefined) return []
      const { tree, tools } = await this.#transcript.whole(file)
      return listTips(tree, tools, this.#tip)
    })
  }

  records(type: string): Promise<RecordDraft[]> {
    return this.#looking(async (file) => {
      const found = file ? await this.#transcript.records(file, type) : []
      return found.map(({ record }) => record)
    })
  }

  entry(uuid: string): Promise<Entry | undefined> {
    return this.#looking(async (file) => file && this.#transcript.entry(file, uuid))
  }

  damage(): Promise<Damage[]> {
    return this.#looking(async (file) => {
      if (file === undefined) return []
      const { damage } = await this.#transcript.whole(file)
      const foreign = this.#foreign.damage(this.path, (offset) => this.#transcript.lineAt(offset))
      return [...damage, ...foreign].toSorted(byOffset)
    })
  }

  close(): Promise<void> {
    this.#closing ??= this.#queue.idle.then(() => this.#sayTip()).then(() => this.#release())
    return this.#closing
  }

  #file(): OpenFile | undefined {
    return this.#log ? this.#log.file : this.#reading
  }

  #closed(): LociError | undefined {
    if (this.#closing === undefined) return undefined
    const message = `Session ${this.id} is closed; open it again`
    return new LociError('SESSION_CLOSED', message, { details: { sessionId: this.id } })
  }

  async #append<T>(write: Omit<PendingWrite, 'done' | 'failed'>, result: () => T): Promise<T> {
    const closed = this.#closed()
    if (closed) throw closed
    return this.#queue.write(write, result)
  }

  /** Looks at the file, if there is one, as everything that was called before has left it. */
  async #looking<T>(look: (file: OpenFile | undefined) => Promise<T>): Promise<T> {
    const closed = this.#closed()
    if (closed) throw closed
    return this.#queue.look(async () => {
      const file = this.#file()
      if (file) await this.#read(file)
      return look(file)
    })
  }

  async #write(lines: readonly string[]): Promise<void> {
    if (!(await this.#writable().append(lines))) this.#title.forget()
    if (this.#tip !== this.#before.tip) this.#isAstray = false
    grew(this)
  }

  /** Takes note of what the file holds beyond what was read. */
  async #read(file: OpenFile): Promise<void> {
    const changed = await this.#transcript.catchUp(file)
    if (this.#log) await this.#lookForForeign(file)
    else if (changed) await this.#stand(file)
  }

  async #stand(file: OpenFile): Promise<void> {
    const { tip, last } = await this.#transcript.standingToRead(file)
    this.#tip = tip
    this.#last = last
  }

  async #lookForForeign(file: OpenFile): Promise<void> {
    if (this.#foreign.isDone(this.#transcript.sizeBytes)) return
    const lines = await this.#transcript.linesFrom(file, this.#foreign.checkedBytes)
    this.#foreign.look(lines, this.#transcript.finishedBytes)
  }

  async #chain(file: OpenFile | undefined, tip: string | undefined): Promise<ReadChain> {
    const wanted = tip ?? this.#tip
    if (wanted === null) return { entries: [], offsets: [], from: 0 }
    const chain = file && (await this.#transcript.chain(file, wanted))
    if (chain === undefined) throw this.#entryNotFound(wanted)
    return chain
  }

  async #refuseTaken(uuid: string): Promise<void> {
    const known = [this.#own, this.#pending].some(
      ({ entries, records }) => entries.has(uuid) || records.has(uuid),
    )
    const file = this.#file()
    if (known || (file && (await this.#transcript.isTaken(file, uuid))))
      throw invalid(`The uuid ${uuid} is taken in this session; leave it out to get a new one`, { uuid })
  }

  async #isEntry(uuid: string): Promise<boolean> {
    if (this.#own.entries.has(uuid) || this.#pending.entries.has(uuid)) return true
    const file = this.#file()
    if (file === undefined) return false
    await this.#transcript.catchUp(file)
    return this.#transcript.isEntry(file, uuid)
  }

  #writable(): AppendLog {
    if (this.#log) return this.#log
    const message = `Session ${this.id} was opened read-only; open it with mode 'write', or fork it`
    throw new LociError('SESSION_READ_ONLY', message, { details: { sessionId: this.id } })
  }

  #entryNotFound(uuid: string): LociError {
    const message = `There is no entry ${JSON.stringify(uuid)} in the conversation of session ${this.id}; entries are listed by chain() and tips()`
    return new LociError('ENTRY_NOT_FOUND', message, { details: { uuid, sessionId: this.id } })
  }

  /** The record that makes an entry the tip for whoever opens the session next. */
  async #tipLine(uuid: string | null): Promise<string> {
    const file = this.#file()
    if (file) await this.#transcript.catchUp(file)
    const prompt = file && uuid !== null ? await this.#transcript.promptOf(file, uuid) : undefined
    const text = prompt === undefined ? '' : 'text' in prompt ? prompt.text : prompt.command
    return formatJson({
      type: 'last-prompt',
      lastPrompt: previewOf(text),
      leafUuid: uuid,
      explicit: true,
      sessionId: this.id,
    })
  }

  /** Says where the tip is if the file, after an append that failed, would have it elsewhere. */
  async #sayTip(): Promise<void> {
    const file = this.#file()
    if (!this.#isAstray || file === undefined) return
    try {
      await this.#transcript.catchUp(file)
      const { tip } = await this.#transcript.standing(file)
      if (tip !== this.#tip) await this.#write([`${await this.#tipLine(this.#tip)}\n`])
    } catch {
      // The disk still fails. Both ends are in the file, and tips() lists them.
    }
  }

  async #release(): Promise<void> {
    await this.#log?.close()
    await this.#reading?.close()
    this.#reading = undefined
  }
}
