import { compacted, isBoundary, isSummary } from './compaction.ts'
import { logicalParent } from './tip.ts'
import type { ToolIndex } from './tool-index.ts'
import type { ChainEnd } from './tool-results.ts'
import { withToolResults } from './tool-results.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/**
 * The conversation that ends at a tip, root first: the path through the tree ({@link buildTree} says how links that
 * do not hold are put right), the results and lines of tool calls that hang beside it put back, and the last
 * compaction applied. A compaction without a summary, as a crash leaves it, does not count.
 *
 * A repeated uuid counts once: what the last copy says with the links of the first.
 */
export function composeChain(tree: EntryTree, index: ToolIndex, end: ChainEnd): TreeNode[] {
  let before: TreeNode[] = []
  for (const leg of legsTo(tree, end.tip)) {
    const begins = leg[0]
    if (begins === undefined) continue
    const compaction = isBoundary(begins.entry) && leg.some((node) => isSummary(node.entry))
    const path = compaction ? compacted(tree, leg, before) : [...before, ...leg]
    before = withToolResults(path, index, end)
  }
  return before
}

/** What the conversation ending at a tip came through. */
export interface Lineage {
  /** Every entry of it, also those that compactions closed, and what those keep from elsewhere. */
  readonly nodes: ReadonlySet<TreeNode>
  /**
   * The entry that it goes on from: the last on its own way. Not the last that is composed: right after a compaction
   * that is a message it keeps, which stands before its summary in the file.
   */
  readonly end: TreeNode
}

export function lineageOf(tree: EntryTree, index: ToolIndex, end: ChainEnd): Lineage {
  const legs = legsTo(tree, end.tip).map((leg) => withToolResults(leg, index, end))
  const goesOnFrom = legs.at(-1)?.findLast((node) => node.main) ?? end.tip
  // Only compactions put together other entries than the way has.
  const hasCompaction = legs.some(([first]) => first !== undefined && isBoundary(first.entry))
  const composed = hasCompaction ? composeChain(tree, index, end) : []
  return { nodes: new Set([composed, ...legs].flat()), end: goesOnFrom }
}

/** The way from the first root to `tip`, one leg for each compaction boundary on it; a boundary begins its leg. */
function legsTo(tree: EntryTree, tip: TreeNode): TreeNode[][] {
  const legs: TreeNode[][] = []
  const seen = new Set<TreeNode>()
  let leg: TreeNode[] = []
  let at: TreeNode | undefined = tip
  // A boundary that names what comes after it as what it closed would never end.
  while (at && !seen.has(at)) {
    seen.add(at)
    leg.push(at)
    const boundary: boolean = at.main && isBoundary(at.entry)
    if (boundary) {
      legs.push(leg.toReversed())
      leg = []
    }
    at = at.parent ?? (boundary ? logicalParent(tree, at) : undefined)
  }
  if (leg.length > 0) legs.push(leg.toReversed())
  return legs.toReversed()
}
