import { isBoundary } from './compaction.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/**
 * The entry that a session goes on from when it is opened; `null` for an empty conversation.
 *
 * L is the last line of the conversation itself in file order, P the last `last-prompt` line. P before L: L. P after L
 * and `explicit`: what it names, `null` for nothing at all; L if that is not in the file. P after L and plain: what it
 * names if that is in the file and no ancestor of L, else L. Timestamps and subagents' lines play no part.
 *
 * Source: `docs/formats/session.md`, tip.
 */
export function findTip(tree: EntryTree): string | null {
  const last = lastOfConversation(tree)
  const prompt = tree.records.findLast(({ record }) => record.type === 'last-prompt')
  if (last === undefined) return null
  if (prompt === undefined || prompt.position < last.position) return last.entry.uuid
  const { leafUuid, explicit } = prompt.record
  if (explicit === true && leafUuid === null) return null
  const leaf = typeof leafUuid === 'string' ? tree.byUuid.get(leafUuid) : undefined
  if (leaf === undefined || !leaf.main) return last.entry.uuid
  if (explicit === true) return leaf.entry.uuid
  return isAncestor(tree, leaf, last) ? last.entry.uuid : leaf.entry.uuid
}

/** The last line of the conversation itself, in file order. */
export function lastOfConversation(tree: EntryTree): TreeNode | undefined {
  return tree.nodes.findLast((node) => node.main)
}

/** Whether `node` comes before `descendant`, across compactions too; a node is its own ancestor. */
function isAncestor(tree: EntryTree, node: TreeNode, descendant: TreeNode): boolean {
  const seen = new Set<TreeNode>()
  let at: TreeNode | undefined = descendant
  while (at && !seen.has(at)) {
    if (at === node) return true
    seen.add(at)
    at = at.parent ?? (isBoundary(at.entry) ? logicalParent(tree, at) : undefined)
  }
  return false
}

/** What a compaction boundary, which is a root, came after. */
export function logicalParent(tree: EntryTree, node: TreeNode): TreeNode | undefined {
  const uuid = node.entry['logicalParentUuid']
  return typeof uuid === 'string' ? tree.byUuid.get(uuid) : undefined
}
