import { isBoundary } from './compaction.ts'
import { logicalParent } from './tip.ts'
import type { ToolIndex } from './tool-index.ts'
import { missingFrom } from './tool-results.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** The end of a branch: a conversation that can be gone on with. */
export interface Tip {
  uuid: string
  /** When its last entry was written, ISO 8601; `''` if its line does not say. */
  timestamp: string
  /** How many entries there are from its root to it, both counted. */
  depth: number
  /** Whether the session goes on from it. */
  current: boolean
}

/**
 * Every end of a branch, the last in the file first. No end is what belongs to a conversation that goes on: a tool
 * result beside the path that is put back into it, a message that a compaction closed.
 */
export function listTips(tree: EntryTree, index: ToolIndex, current: string | null): Tip[] {
  const children = childrenOf(tree)
  const covered = endsBeside(index, children)
  const depths = depthsOf(tree)
  return tree.nodes
    .filter((node) => node.main && !children.has(node) && !covered.has(node))
    .toReversed()
    .map((node) => ({
      uuid: node.entry.uuid,
      timestamp: timestampOf(node.entry),
      depth: depths.get(node) ?? 1,
      current: node.entry.uuid === current,
    }))
}

/** For each node the main ones that go on from it; a compaction goes on from the end it closes. */
function childrenOf(tree: EntryTree): Map<TreeNode, TreeNode[]> {
  const children = new Map<TreeNode, TreeNode[]>()
  const add = (parent: TreeNode, child: TreeNode): void => {
    const known = children.get(parent)
    if (known) known.push(child)
    else children.set(parent, [child])
  }
  for (const node of tree.nodes) {
    if (!node.main) continue
    // A line of an unknown kind between two of the conversation is a link, not an end.
    for (let at = node.parent; at; at = at.parent) {
      add(at, node)
      if (at.main) break
    }
    const closed = isBoundary(node.entry) && node.parent === undefined ? logicalParent(tree, node) : undefined
    if (closed) add(closed, node)
  }
  return children
}

/** The ends that a conversation ending elsewhere holds, since what lies beside its path is put back into it. */
function endsBeside(index: ToolIndex, children: Map<TreeNode, TreeNode[]>): Set<TreeNode> {
  const covered = new Set<TreeNode>()
  for (const first of index.answeredMessages()) {
    const members = new Set([...index.lines(first), ...index.results(first)])
    const cover = (base: TreeNode): void => {
      const way = wayWithin(members, base)
      const missing = missingFrom(index, first, way)
      for (const node of [...missing.lines, ...missing.results]) covered.add(node)
    }
    const ends: { base: TreeNode; end: TreeNode }[] = []
    for (const base of members) {
      const below = belowMember(base, members, children)
      if (below.goesOn) cover(base)
      for (const end of below.ends) ends.push({ base, end })
    }
    for (const { base, end } of ends.toSorted((a, b) => b.end.position - a.end.position)) {
      if (covered.has(base)) covered.add(end)
      else cover(base)
    }
  }
  return covered
}

/** What follows a member of a message other than members: whether a conversation, and the ends that are no more than notes. */
function belowMember(
  base: TreeNode,
  members: ReadonlySet<TreeNode>,
  children: Map<TreeNode, TreeNode[]>,
): { goesOn: boolean; ends: TreeNode[] } {
  const ends: TreeNode[] = children.has(base) ? [] : [base]
  let goesOn = false
  const open = (children.get(base) ?? []).filter((node) => !members.has(node))
  for (let node = open.pop(); node; node = open.pop()) {
    const note = node.entry.type === 'attachment' || (node.entry.type === 'system' && !isBoundary(node.entry))
    if (!note) goesOn = true
    else if (!children.has(node)) ends.push(node)
    else open.push(...(children.get(node) ?? []).filter((child) => !members.has(child)))
  }
  return { goesOn, ends }
}

/** The members of a message on the way from its first line to `base`. */
function wayWithin(members: ReadonlySet<TreeNode>, base: TreeNode): Set<TreeNode> {
  const way = new Set<TreeNode>()
  let at: TreeNode | undefined = base
  while (at && (members.has(at) || at.entry.type === 'attachment' || at.entry.type === 'system')) {
    if (members.has(at)) way.add(at)
    at = at.parent
  }
  return way
}

function depthsOf(tree: EntryTree): Map<TreeNode, number> {
  const depths = new Map<TreeNode, number>()
  for (const node of tree.nodes) {
    const way: TreeNode[] = []
    let at: TreeNode | undefined = node
    while (at && !depths.has(at)) {
      way.push(at)
      at = at.parent
    }
    let depth = (at && depths.get(at)) ?? 0
    for (const member of way.toReversed()) depths.set(member, (depth += 1))
  }
  return depths
}

/** Lines of other programs may lack what {@link Entry} promises. */
function timestampOf(entry: Readonly<Record<string, unknown>>): string {
  const { timestamp } = entry
  return typeof timestamp === 'string' ? timestamp : ''
}
