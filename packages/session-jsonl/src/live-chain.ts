import { composeChain } from './chain.ts'
import type { Entry } from './entry.ts'
import { keptPart } from './kept-part.ts'
import type { LineFacts } from './line-facts.ts'
import type { Branch } from './live-branch.ts'
import type { LineTable } from './line-table.ts'
import { indexTools, isResultLine } from './tool-index.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** Gives the entry that a line holds; `undefined` where it cannot be read. One that is known takes no waiting. */
export type ReadEntry = (line: LineFacts) => Promise<Entry | undefined> | Entry

/**
 * The conversation that ends with a branch, root first, as `composeChain` gives it for the whole transcript, from the
 * lines that it needs: those of the branch, and what hangs beside it and may belong to its messages.
 *
 * @param read called in file order
 * @returns `undefined` where one of the lines cannot be read
 */
export async function readLiveChain(
  table: LineTable,
  whole: Branch,
  read: ReadEntry,
): Promise<TreeNode[] | undefined> {
  const branch = await neededPart(table, whole, read)
  const wanted = new WantedLines(table, branch)
  let found = await readNodes(table, { branch, wanted }, read)
  // A result may say that it answers a line which was only found beside the branch.
  while (found && wanted.addAnswersTo(found)) found = await readNodes(table, { branch, wanted }, read)
  const tip = found?.get(branch.path.at(-1)?.uuid ?? '')
  if (found === undefined || tip === undefined) return undefined
  const tree: EntryTree = { path: '', byUuid: found, nodes: [...found.values()], records: [], damage: [] }
  return composeChain(tree, indexTools(tree), { tip, whole: false })
}

async function readNodes(
  table: LineTable,
  { branch, wanted }: { branch: Branch; wanted: WantedLines },
  read: ReadEntry,
): Promise<Map<string, TreeNode> | undefined> {
  const byUuid = new Map<string, TreeNode>()
  for (const line of table.lines) {
    if (line.offset < branch.from || !wanted.has(line)) continue
    const known = read(line)
    const entry = known instanceof Promise ? await known : known
    if (entry === undefined) return undefined
    const node: TreeNode = {
      entry,
      source: { record: entry, offset: line.offset, length: line.length, line: 0 },
      position: byUuid.size,
      main: line.place === 'main',
      parent: typeof line.parentUuid === 'string' ? byUuid.get(line.parentUuid) : undefined,
      relinked: false,
    }
    if (!wanted.isOnPath(line) && !beginsTurn(entry)) wanted.open(line)
    byUuid.set(line.uuid, node)
  }
  return byUuid
}

/** A branch without what the last compaction on it closed and does not keep, where that can be told. */
async function neededPart(table: LineTable, branch: Branch, read: ReadEntry): Promise<Branch> {
  const { path } = branch
  const part = branch.also.length === 0 ? keptPart(path) : undefined
  if (part === undefined) return branch
  for (let index = part.needed; index > part.floor; index -= 1) {
    const line = path[index]
    const entry = line && (await read(line))
    if (entry === undefined) return branch
    if (line?.boundary === undefined && !(line?.place === 'main' && beginsTurn(entry))) continue
    const from = line.offset
    return reachesBack(table, from, line) ? branch : { ...branch, path: path.slice(index), from }
  }
  return branch
}

/** Whether a line from `from` on, other than the first, follows one before it. */
function reachesBack(table: LineTable, from: number, first: LineFacts): boolean {
  return table.lines.some((line) => {
    if (line.offset < from || line === first || line.sidechain || line.place === 'outside') return false
    const parent = typeof line.parentUuid === 'string' ? table.node(line.parentUuid) : undefined
    return parent !== undefined && parent.offset < from
  })
}

/** Whether an entry is a user's that brings no results: it begins a turn, and beside a branch another branch. */
export function beginsTurn(entry: Entry): boolean {
  return entry.type === 'user' && !isResultLine({ entry })
}

/**
 * Which lines a conversation needs beside those of its branch. What hangs on the branch may be a line or a result of
 * one of its messages, and so may what hangs on that, until a turn begins. Asked in file order.
 */
export class WantedLines {
  readonly #table: LineTable
  readonly #path: ReadonlySet<LineFacts>
  readonly #from: number
  /** Lines that are wanted for what they say, with all that leads to them. */
  readonly #named: Set<LineFacts>
  readonly #open = new Set<LineFacts>()

  constructor(table: LineTable, { path, also, from }: Pick<Branch, 'path' | 'also' | 'from'>) {
    this.#table = table
    this.#path = new Set(path)
    this.#from = from
    this.#named = withAncestors(table, also, this.#path)
  }

  /** Wants what says that it answers one of these lines, by uuid. Whether that is anything that was not wanted. */
  addAnswersTo(lines: { has(uuid: string): boolean }): boolean {
    const before = this.#named.size
    const answers = this.#table.lines.filter(
      (line) =>
        line.source !== undefined &&
        line.offset >= this.#from &&
        line.place === 'main' &&
        !this.has(line) &&
        lines.has(line.source),
    )
    for (const line of withAncestors(this.#table, answers, this.#path)) this.#named.add(line)
    return this.#named.size > before
  }

  isOnPath(line: LineFacts): boolean {
    return this.#path.has(line)
  }

  has(line: LineFacts): boolean {
    if (this.#path.has(line) || this.#named.has(line)) return true
    const { place, parentUuid, sidechain } = line
    const inTree = place === 'main' || (place === 'beside' && !sidechain)
    const parent = inTree && typeof parentUuid === 'string' ? this.#table.node(parentUuid) : undefined
    return parent !== undefined && (this.#path.has(parent) || this.#open.has(parent))
  }

  /** Says that what hangs on a line beside the branch is wanted too. */
  open(line: LineFacts): void {
    this.#open.add(line)
  }
}

/** Lines with all that leads to them from the branch. */
function withAncestors(
  table: LineTable,
  lines: readonly LineFacts[],
  path: ReadonlySet<LineFacts>,
): Set<LineFacts> {
  const found = new Set<LineFacts>()
  for (const line of lines) {
    let at: LineFacts | undefined = line
    while (at && !path.has(at) && !found.has(at)) {
      found.add(at)
      at = typeof at.parentUuid === 'string' ? table.node(at.parentUuid) : undefined
    }
  }
  return found
}
