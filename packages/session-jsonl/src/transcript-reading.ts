import type { OpenFile } from '@loci/disk'
import { entryNode, recordItems } from './analysis.ts'
import type { Analysis } from './analysis.ts'
import { composeChain } from './chain.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { EagerWalk } from './eager-walk.ts'
import { readForkSource } from './fork-source.ts'
import type { ForkSource } from './fork-source.ts'
import { FollowedLines } from './followed-lines.ts'
import { FollowedTranscript } from './follow-transcript.ts'
import type { LineFacts } from './line-facts.ts'
import type { PlacedRecord } from './replacements.ts'
import { promptOf } from './prompt-text.ts'
import type { Prompt } from './prompt-text.ts'
import { fitTogether, planBranch, planLive } from './live-branch.ts'
import { readLiveChain } from './live-chain.ts'
import { RangeReader, readRecord } from './record-reader.ts'
import type { Place } from './record-reader.ts'
import { lastOfConversation } from './tip.ts'
import type { TreeNode } from './tree.ts'

/** A conversation as it was read. */
export interface ReadChain {
  /** Root first. */
  readonly entries: Entry[]
  /** Where in the file the line of each begins; of a repeated one the copy whose links count. */
  readonly offsets: number[]
  /** Where in the file the first of their lines begins. */
  readonly from: number
}

/** Where the conversation in a file stands, by the file alone. */
export interface Standing {
  readonly tip: string | null
  /** The last line of the conversation, on whichever branch. */
  readonly last: string | null
}

/**
 * Reads what a session asks of its transcript, and no more of the file than that takes: first the lines at its end,
 * backward as far as the conversation reaches; then the facts of all lines; and all that they say only where the facts
 * do not fit together. The three give the same answers.
 */
export class TranscriptReading {
  readonly #sessionId: string
  readonly #lines: FollowedLines
  /** What was read of the conversation that was asked for last, by where it stands. */
  #entries = new Map<number, Entry>()
  readonly #whole: FollowedTranscript

  /** @param windowBytes how much is read at a time */
  constructor(path: string, sessionId: string, windowBytes?: number) {
    this.#sessionId = sessionId
    this.#lines = new FollowedLines(windowBytes)
    this.#whole = new FollowedTranscript(path)
  }

  /** Where the last line ends that was seen with its newline. */
  get finishedBytes(): number {
    return this.#lines.finishedBytes
  }

  /** How much of the file has been seen. */
  get sizeBytes(): number {
    return this.#lines.table.end
  }

  /** Takes note of what `file` holds beyond what was seen. Whether that is anything. */
  async catchUp(file: OpenFile): Promise<boolean> {
    const found = await this.#lines.catchUp(file)
    if (found === 'anew') this.#entries = new Map()
    return found !== 'same'
  }

  /** Where the conversation stands. */
  async standing(file: OpenFile): Promise<Standing> {
    return this.#standing(await this.#lines.plan(file, planLive), file)
  }

  /** {@link standing}, where the conversation will be asked for next: what it consists of is parsed on the way. */
  async standingToRead(file: OpenFile): Promise<Standing> {
    const eager = new EagerWalk()
    const plan = await this.#lines.plan(file, planLive, eager)
    if (this.#entries.size === 0) this.#entries = eager.entries
    return this.#standing(plan, file)
  }

  async #standing(plan: ReturnType<typeof planLive>, file: OpenFile): Promise<Standing> {
    const tip = plan.kind === 'branch' ? plan.path.at(-1) : undefined
    const { last } = this.#lines.table
    const isRead = await this.#areReadable(file, [tip, last, this.#lines.table.lastRecord('last-prompt')])
    if (plan.kind === 'unsure' || !isRead || !(await this.#isNew(file, { last, tip }))) {
      const { tree, tip: stands } = await this.whole(file)
      return { tip: stands, last: lastOfConversation(tree)?.entry.uuid ?? null }
    }
    return { tip: tip?.uuid ?? null, last: last?.uuid ?? null }
  }

  /** Whether the last line is no copy of another, which is sure of the tip. */
  async #isNew(
    file: OpenFile,
    { last, tip }: { last: LineFacts | undefined; tip: LineFacts | undefined },
  ): Promise<boolean> {
    if (last === undefined || last === tip) return true
    return (await this.#lines.plan(file, (table) => planBranch(table, last.uuid))).kind === 'branch'
  }

  /** Whether lines that look like records are; for none, too. */
  async #areReadable(file: OpenFile, lines: readonly (LineFacts | undefined)[]): Promise<boolean> {
    const reader = new RangeReader(file)
    for (const line of lines) if (line && (await readRecord(reader, line)) === undefined) return false
    return true
  }

  /** The conversation that ends at `tip`; `undefined` where no line of it has that uuid. */
  async chain(file: OpenFile, tip: string): Promise<ReadChain | undefined> {
    const plan = await this.#lines.plan(file, (table) => planBranch(table, tip))
    const known = this.#entries
    const read = new Map<number, Entry>()
    const reader = new RangeReader(file)
    const readAt = async (place: Place): Promise<Entry | undefined> => {
      const entry = await readEntry(reader, place)
      if (entry) read.set(place.offset, entry)
      return entry
    }
    const entryAt = (place: Place): Promise<Entry | undefined> | Entry => {
      const entry = known.get(place.offset)
      if (entry) read.set(place.offset, entry)
      return entry ?? readAt(place)
    }
    const live = plan.kind === 'branch' ? await readLiveChain(this.#lines.table, plan, entryAt) : undefined
    const nodes = live ?? (await this.#chainOfWhole(await this.whole(file), tip, entryAt))
    this.#entries = read
    return nodes && asChain(nodes)
  }

  async #chainOfWhole(
    analysis: Analysis,
    tip: string,
    entryAt: (place: Place) => Promise<Entry | undefined> | Entry,
  ): Promise<TreeNode[] | undefined> {
    const node = entryNode(analysis, tip)
    if (node === undefined) return undefined
    const nodes = composeChain(analysis.tree, analysis.tools, { tip: node, whole: false })
    const said = new Map<TreeNode, Entry>()
    for (const one of nodes.toSorted((a, b) => a.source.offset - b.source.offset)) {
      const { uuid, parentUuid } = one.entry
      const entry = (await entryAt(one.source)) ?? one.entry
      const isSame = entry.uuid === uuid && entry.parentUuid === parentUuid
      said.set(one, isSame ? entry : { ...entry, uuid, parentUuid })
    }
    const { items } = this.#whole
    return nodes.map((one) => {
      // Of a repeated one the copy whose links count tells where it stands.
      const { offset } = items[one.position] ?? one.source
      return { ...one, entry: said.get(one) ?? one.entry, source: { ...one.source, offset } }
    })
  }

  /** The records of one kind outside the conversation that stand at `from` or after it, in file order. */
  async records(file: OpenFile, type: string, from = 0): Promise<PlacedRecord[]> {
    const isPlain = (await this.#lines.extendTo(file, from)) && !this.#lines.table.hasRepeatsFrom(from)
    const places = isPlain
      ? this.#lines.table.lines.filter(
          (line) => line.type === type && (line.place === 'outside' || line.place === 'beside'),
        )
      : recordItems((await this.whole(file)).tree, type)
    return this.#recordsAt(
      file,
      places.filter(({ offset }) => offset >= from),
    )
  }

  async #recordsAt(file: OpenFile, places: readonly Place[]): Promise<PlacedRecord[]> {
    const reader = new RangeReader(file)
    const records: PlacedRecord[] = []
    for (const place of places) {
      const record = await readRecord(reader, place)
      // What looks like a record and is none is damage, which is told elsewhere.
      if (record) records.push({ record, at: place.offset })
    }
    return records
  }

  /** The last record of one kind outside the tree, and where it stands. */
  async lastRecord(
    file: OpenFile,
    type: string,
  ): Promise<{ record: RecordDraft; offset: number } | undefined> {
    do {
      const line = this.#lines.table.lastRecord(type)
      if (line === undefined) continue
      const record = await readRecord(new RangeReader(file), line)
      // What looks like a record and is none hides those before it.
      const said = record ?? (await this.records(file, type)).at(-1)?.record
      return said && { record: said, offset: line.offset }
    } while (await this.#lines.extend(file))
    return undefined
  }

  /** The entry in the tree that has that uuid. */
  async entry(file: OpenFile, uuid: string): Promise<Entry | undefined> {
    const reader = new RangeReader(file)
    const isPlain = (await this.#lines.extendTo(file, 0)) && !this.#lines.table.hasRepeatsFrom(0)
    const line = isPlain ? this.#lines.table.node(uuid) : undefined
    const entry = line && (await readEntry(reader, line))
    if (entry || (isPlain && line === undefined && this.#hasAllNames())) return entry
    const node = (await this.whole(file)).tree.byUuid.get(uuid)
    const said = node && (await readEntry(reader, node.source))
    return said && { ...said, uuid, parentUuid: node.entry.parentUuid }
  }

  /** Whether the conversation has an entry with that uuid. */
  async isEntry(file: OpenFile, uuid: string): Promise<boolean> {
    const line = await this.#lines.node(file, uuid)
    if (line && (await this.#areReadable(file, [line]))) return line.place === 'main'
    if (line === undefined && this.#hasAllNames()) return false
    return entryNode(await this.whole(file), uuid) !== undefined
  }

  /** Whether a line in the tree has that uuid. */
  async isTaken(file: OpenFile, uuid: string): Promise<boolean> {
    await this.catchUp(file)
    if (await this.#lines.node(file, uuid)) return true
    return !this.#hasAllNames() && (await this.whole(file)).tree.byUuid.has(uuid)
  }

  /** The prompt that an entry answers: its own, or the nearest on the way to its root. */
  async promptOf(file: OpenFile, uuid: string): Promise<Prompt | undefined> {
    const reader = new RangeReader(file)
    let before = Number.POSITIVE_INFINITY
    for (let wanted: string | null | undefined = uuid; typeof wanted === 'string';) {
      const line: LineFacts | undefined = await this.#lines.node(file, wanted)
      if (line === undefined || line.offset >= before) return undefined
      const record = line.type === 'user' ? await readRecord(reader, line) : undefined
      const prompt = record && promptOf(record)
      if (prompt) return prompt
      before = line.offset
      wanted = line.parentUuid
    }
    return undefined
  }

  /** What a fork at `upTo` (default: the tip) is planned from. */
  async forkSource(file: OpenFile, upTo: string | undefined): Promise<ForkSource> {
    // All lines are needed, and with them it is known at once where the conversation stands.
    const isComplete = await this.#lines.extendTo(file, 0)
    const { tip } = await this.standing(file)
    const end = upTo ?? tip
    const isPlain = end !== null && isComplete && fitTogether(this.#lines.table)
    const line = isPlain ? this.#lines.table.node(end) : undefined
    if (end === null || line?.place !== 'main' || !(await this.#areReadable(file, [line])))
      return this.whole(file)
    const reader = new RangeReader(file)
    const source = await readForkSource(this.#lines.table, { tip, end }, (one) => readEntry(reader, one))
    return source ?? this.whole(file)
  }

  /** The lines that begin at `from` or after it. */
  async linesFrom(file: OpenFile, from: number): Promise<readonly LineFacts[]> {
    await this.#lines.extendTo(file, from)
    return this.#lines.table.lines.filter(({ offset }) => offset >= from)
  }

  /** What the whole transcript makes up. */
  async whole(file: OpenFile): Promise<Analysis> {
    await this.#whole.catchUp(file)
    return this.#whole.analysis(this.#sessionId)
  }

  /** The number of the line that begins at `offset`, as {@link whole} last read it. */
  lineAt(offset: number): number | undefined {
    return this.#whole.items.find((item) => item.offset === offset)?.line
  }

  /** Whether the lines are all there are, and each of the conversation has a uuid. */
  #hasAllNames(): boolean {
    return this.#lines.table.isComplete && !this.#lines.table.hasNameless
  }
}

async function readEntry(reader: RangeReader, place: Place): Promise<Entry | undefined> {
  const record = await readRecord(reader, place)
  // Lines of other programs may lack what an entry promises, and so may a line without a uuid.
  return record as Entry | undefined
}

function asChain(nodes: readonly TreeNode[]): ReadChain {
  let from = Number.POSITIVE_INFINITY
  for (const { source } of nodes) from = Math.min(from, source.offset)
  return { entries: nodes.map(({ entry }) => entry), offsets: nodes.map(({ source }) => source.offset), from }
}
