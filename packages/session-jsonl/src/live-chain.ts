import { composeChain } from './chain.ts'
import type { Entry } from './entry.ts'
import type { LineFacts } from './line-facts.ts'
import type { Branch } from './live-branch.ts'
import type { LineTable } from './line-table.ts'
import { indexTools, isResultLine } from './tool-index.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** Gives the entry that a line holds; `undefined` where it cannot be read. */
export type ReadEntry = (line: LineFacts) => Promise<Entry | undefined>

/**
 * The conversation that ends with a branch, root first, as `composeChain` gives it for the whole transcript, from the
 * lines that it needs: those of the branch, and what hangs beside it and may belong to its messages.
 *
 * @param read called in file order
 * @returns `undefined` where one of the lines cannot be read
 */
export async function readLiveChain(
  table: LineTable,
  branch: Branch,
  read: ReadEntry,
): Promise<TreeNode[] | undefined> {
  const wanted = new WantedLines(table, branch)
  const nodes: TreeNode[] = []
  const byUuid = new Map<string, TreeNode>()
  for (const line of table.lines) {
    if (line.offset < branch.from || !wanted.has(line)) continue
    const entry = await read(line)
    if (entry === undefined) return undefined
    const node: TreeNode = {
      entry,
      source: { record: entry, offset: line.offset, length: line.length, line: 0 },
      position: nodes.length,
      main: line.place === 'main',
      parent: typeof line.parentUuid === 'string' ? byUuid.get(line.parentUuid) : undefined,
      relinked: false,
    }
    wanted.found(line, node)
    nodes.push(node)
    byUuid.set(line.uuid, node)
  }
  const tip = byUuid.get(branch.path.at(-1)?.uuid ?? '')
  if (tip === undefined) return undefined
  const tree: EntryTree = { path: '', byUuid, nodes, records: [], damage: [] }
  return composeChain(tree, indexTools(tree), { tip, whole: false })
}

/**
 * Which lines a conversation needs beside those of its branch. What hangs on the branch may be a line or a result of
 * one of its messages, and so may what hangs on that; a prompt ends it, since it begins another branch.
 */
class WantedLines {
  readonly #path: ReadonlySet<LineFacts>
  readonly #named: ReadonlySet<LineFacts>
  readonly #open = new Set<string>()

  constructor(table: LineTable, branch: Branch) {
    this.#path = new Set(branch.path)
    const onPath = new Set(branch.path.map(({ uuid }) => uuid))
    const answers = table.lines.filter(
      ({ offset, source, place }) =>
        source !== undefined && offset >= branch.from && place === 'main' && onPath.has(source),
    )
    this.#named = withAncestors(table, [...branch.also, ...answers], this.#path)
  }

  has(line: LineFacts): boolean {
    if (this.#path.has(line) || this.#named.has(line)) return true
    const { place, parentUuid, sidechain } = line
    const inTree = place === 'main' || (place === 'beside' && !sidechain)
    return inTree && typeof parentUuid === 'string' && this.#open.has(parentUuid)
  }

  /** Takes note of what a wanted line is. */
  found(line: LineFacts, node: TreeNode): void {
    const begins = line.type === 'user' && !isResultLine(node)
    if (this.#path.has(line) || !begins) this.#open.add(line.uuid)
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
