import type { Analysis } from './analysis.ts'
import type { Entry, RecordDraft } from './entry.ts'
import type { LineFacts } from './line-facts.ts'
import type { LineTable } from './line-table.ts'
import { beginsTurn, WantedLines } from './live-chain.ts'
import type { ReadEntry } from './live-chain.ts'
import { indexTools, messageId } from './tool-index.ts'
import type { TranscriptItem } from './transcript.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** What a fork is planned from. */
export type ForkSource = Pick<Analysis, 'tree' | 'tools' | 'tip'>

/** A line of a fork's source of which is known where the value of its `sessionId` begins. */
export interface SourceLine extends TranscriptItem {
  readonly sessionIdAt: number | undefined
}

/**
 * A transcript whose lines fit together, as far as a fork at `tip` has to know it: of most lines their facts, and what
 * they say only where something hangs beside the way to the tip and may belong to one of its messages.
 *
 * @param tip of the file
 * @param end where the fork ends
 * @param read called for some of the lines, in any order
 * @returns `undefined` where one of them cannot be read
 */
export async function readForkSource(
  table: LineTable,
  { tip, end }: { tip: string | null; end: string },
  read: ReadEntry,
): Promise<ForkSource | undefined> {
  const path = lineageTo(table, end)
  const said = await new Surroundings(table, path, read).find()
  if (said === undefined) return undefined
  const nodes: TreeNode[] = []
  const byUuid = new Map<string, TreeNode>()
  const records: { record: RecordDraft; item: TranscriptItem; position: number }[] = []
  for (const [position, line] of table.lines.entries()) {
    const { offset, length, type, parentUuid, sessionIdAt } = line
    if (line.place === 'outside') {
      const record: RecordDraft = said.get(line) ?? { type }
      const item: SourceLine = { record, offset, length, line: 0, sessionIdAt }
      records.push({ record, item, position })
      continue
    }
    const entry = said.get(line) ?? factsAsEntry(line)
    const parent = typeof parentUuid === 'string' ? byUuid.get(parentUuid) : undefined
    const source: SourceLine = { record: entry, offset, length, line: 0, sessionIdAt }
    const node = { entry, source, position, main: line.place === 'main', parent, relinked: false }
    nodes.push(node)
    byUuid.set(line.uuid, node)
  }
  const tree: EntryTree = { path: '', byUuid, nodes, records, damage: [] }
  return { tree, tools: indexTools(tree), tip }
}

/** What the facts of a line say, as an entry that says nothing else. */
function factsAsEntry({ type, uuid, parentUuid, sidechain, summary }: LineFacts): Entry {
  const entry = { type, uuid, parentUuid, isSidechain: sidechain, isCompactSummary: summary }
  return entry as unknown as Entry
}

/** Every line on the way to `end`, also what compactions closed; root first. */
function lineageTo(table: LineTable, end: string): LineFacts[] {
  const path: LineFacts[] = []
  let at = table.node(end)
  while (at) {
    path.push(at)
    const parent: string | null | undefined = at.parentUuid ?? at.boundary?.logicalParent
    const named: LineFacts | undefined = typeof parent === 'string' ? table.node(parent) : undefined
    // A boundary may name anything as what it closed; `fitTogether` has seen to the rest.
    at = named && named.offset < at.offset ? named : undefined
  }
  return path.toReversed()
}

/** Reads the lines that decide what belongs to the messages on a way. */
class Surroundings {
  readonly #table: LineTable
  readonly #path: readonly LineFacts[]
  readonly #places: ReadonlyMap<LineFacts, number>
  readonly #read: ReadEntry
  readonly #said = new Map<LineFacts, Entry>()
  /** The assistant lines on the way from which the rest of their message was read, upward and downward. */
  readonly #followed = { [-1]: new Set<LineFacts>(), 1: new Set<LineFacts>() }

  constructor(table: LineTable, path: readonly LineFacts[], read: ReadEntry) {
    this.#table = table
    this.#path = path
    this.#places = new Map(path.map((line, place) => [line, place]))
    this.#read = read
  }

  async find(): Promise<Map<LineFacts, Entry> | undefined> {
    const wanted = new WantedLines(this.#table, { path: this.#path, also: [], from: 0 })
    const hasReplacements = this.#table.lines.some(({ type }) => type === 'content-replacement')
    const hung = new Set<number>()
    let isWhole = await this.#readBeside(wanted, { hasReplacements, hung })
    const found = (): Set<string> => new Set([...this.#said.keys()].map(({ uuid }) => uuid))
    while (isWhole && wanted.addAnswersTo(found()))
      isWhole = await this.#readBeside(wanted, { hasReplacements, hung })
    if (!isWhole) return undefined
    for (const place of hung) if (!(await this.#readAround(place))) return undefined
    return this.#said
  }

  async #readBeside(
    wanted: WantedLines,
    { hasReplacements, hung }: { hasReplacements: boolean; hung: Set<number> },
  ): Promise<boolean> {
    for (const line of this.#table.lines) {
      const isOnPath = this.#places.has(line)
      // Which calls there are decides which replacements are needed.
      const isAsked =
        line.boundary !== undefined ||
        line.type === 'content-replacement' ||
        (hasReplacements && line.type === 'assistant')
      const isBeside = !isOnPath && wanted.has(line)
      const entry = isAsked || isBeside ? await this.#entry(line) : undefined
      if ((isAsked || isBeside) && entry === undefined) return false
      if (isBeside && entry && !beginsTurn(entry)) wanted.open(line)
      if (isBeside) for (const place of this.#hangsAt(line)) hung.add(place)
    }
    return true
  }

  async #entry(line: LineFacts): Promise<Entry | undefined> {
    const known = this.#said.get(line)
    if (known) return known
    const entry = await this.#read(line)
    if (entry) this.#said.set(line, entry)
    return entry
  }

  /** Where on the way a line beside it hangs, by its links and by the call that it says it answers. */
  #hangsAt(line: LineFacts): number[] {
    const source = line.source === undefined ? undefined : this.#table.node(line.source)
    let at: LineFacts | undefined = line
    while (at && !this.#places.has(at)) {
      at = typeof at.parentUuid === 'string' ? this.#table.node(at.parentUuid) : undefined
    }
    return [source, at].flatMap((one) => (one && this.#places.get(one)) ?? [])
  }

  /** Reads the whole message that a place on the way belongs to, its results, and what stands at either side of them. */
  async #readAround(place: number): Promise<boolean> {
    return (await this.#readMessage(place, -1)) && (await this.#readMessage(place, 1))
  }

  async #readMessage(from: number, step: 1 | -1): Promise<boolean> {
    const followed = this.#followed[step]
    let message: string | undefined
    for (let place = from; ; place += step) {
      const line = this.#path[place]
      if (line === undefined) return true
      const entry = await this.#entry(line)
      if (entry === undefined) return false
      if (beginsTurn(entry)) return true
      if (line.type !== 'assistant') continue
      const id = messageId(entry) ?? ''
      if (message === undefined && followed.has(line)) return true
      if (message !== undefined && id !== message) return true
      message = id
      followed.add(line)
    }
  }
}
