import type { TreeNode } from './tree.ts'

/**
 * Cuts every ring of parents at the node that stands first in the file, which becomes a root: it is the one whose
 * parent cannot have been there before it. One pass, no recursion.
 */
export function cutRings(nodes: readonly TreeNode[], report: (node: TreeNode, said: string) => void): void {
  const walkOf = new Map<TreeNode, number>()
  for (const [walk, start] of nodes.entries()) {
    let at: TreeNode | undefined = start
    while (at && !walkOf.has(at)) {
      walkOf.set(at, walk)
      at = at.parent
    }
    if (at && walkOf.get(at) === walk) cutRing(at, report)
  }
}

function cutRing(member: TreeNode, report: (node: TreeNode, said: string) => void): void {
  let first = member
  let size = 1
  for (let at = member.parent; at && at !== member; at = at.parent) {
    if (at.position < first.position) first = at
    size += 1
  }
  first.parent = undefined
  first.relinked = true
  const who = size === 1 ? 'entry that follows itself' : 'entries that follow each other'
  report(first, `is part of a ring of ${size} ${who}; it is read as a beginning`)
}
