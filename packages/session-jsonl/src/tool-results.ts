import { isResultLine, messageId, toolCallIds, toolResultIds } from './tool-index.ts'
import type { ToolIndex } from './tool-index.ts'
import type { TreeNode } from './tree.ts'

/** What a path lacks of one assistant message. */
export interface Missing {
  lines: TreeNode[]
  /** Results, and the notes between them, in file order. */
  results: TreeNode[]
}

/**
 * What a path that passes through the message beginning with `first` lacks of it. Lines of the message: if the path
 * has a result of it, which shows that the message was complete, or if `whole`; where the message was written twice,
 * those of the last time. Results: one for each call that the path, so completed, makes and has no result for; of
 * several, the last in the file. With each comes what leads to it, so that what is put back hangs together.
 *
 * @param path.tip where the path ends: what comes after it stays out, unless the message is wanted `whole`
 */
export function missingFrom(
  index: ToolIndex,
  first: TreeNode,
  path: { has: (node: TreeNode) => boolean; tip?: TreeNode | undefined; whole?: boolean },
): Missing {
  const { whole = false } = path
  const isInPath = (node: TreeNode): boolean => path.has(node)
  const tip = whole ? undefined : path.tip
  const results = index.results(first).filter((node) => !comesAfter(node, tip, isInPath))
  const present = index.lines(first).filter((node) => isInPath(node))
  const found = new Set<TreeNode>()
  const isHad = (node: TreeNode): boolean => isInPath(node) || found.has(node)
  if (whole || results.some((node) => isInPath(node))) {
    const lines = index.lines(first).filter((node) => !comesAfter(node, tip, isInPath))
    for (const step of restOfMessage(lines, present, isHad)) found.add(step)
  }
  const open = new Set([...present, ...found].flatMap((node) => toolCallIds(node.entry)))
  const close = (node: TreeNode): void => {
    for (const id of toolResultIds(node.entry)) open.delete(id)
  }
  for (const node of results) if (isHad(node)) close(node)
  for (const node of results.toReversed()) {
    if (isHad(node) || !toolResultIds(node.entry).some((id) => open.has(id))) continue
    // Where lines of the message stand between, the path ends inside it on purpose.
    const way = wayTo(node, isHad)
    for (const step of way?.every(({ entry }) => entry.type !== 'assistant') === true ? way : [node]) {
      found.add(step)
      close(step)
    }
  }
  const inOrder = [...found].toSorted((a, b) => a.position - b.position)
  return {
    lines: inOrder.filter(({ entry }) => entry.type === 'assistant'),
    results: inOrder.filter(({ entry }) => entry.type !== 'assistant'),
  }
}

/** Whether `node` is off the path and leaves it at the tip. */
function comesAfter(
  node: TreeNode,
  tip: TreeNode | undefined,
  isInPath: (node: TreeNode) => boolean,
): boolean {
  if (tip === undefined || isInPath(node)) return false
  let at = node.parent
  while (at && !isInPath(at)) at = at.parent
  return at === tip
}

/** From the last line that is there to the last in the file that goes on from it. */
function restOfMessage(
  lines: readonly TreeNode[],
  present: readonly TreeNode[],
  isInPath: (node: TreeNode) => boolean,
): TreeNode[] {
  const from = present.at(-1)
  for (const line of lines.toReversed()) {
    if (isInPath(line)) continue
    const way = wayTo(line, isInPath)
    const [top] = way ?? []
    if (way && top && (top.parent === from || top.parent?.entry.type !== 'assistant')) return way
  }
  return []
}

/**
 * A line or result with what stands between it and the path: lines of a message, results, notes; top first.
 * `undefined` if it hangs elsewhere.
 */
function wayTo(node: TreeNode, isInPath: (node: TreeNode) => boolean): TreeNode[] | undefined {
  const way: TreeNode[] = []
  for (let at: TreeNode | undefined = node; at; at = at.parent) {
    if (isInPath(at)) return way.toReversed()
    if (at.entry.type === 'user' && !isResultLine(at)) return undefined
    if (at.entry.type === 'assistant' && messageId(at.entry) === undefined) return undefined
    way.push(at)
  }
  return undefined
}

/** Where a chain ends. */
export interface ChainEnd {
  tip: TreeNode
  /** Whether the message that the tip is part of is wanted whole, with its results. */
  whole: boolean
}

/**
 * A path with what it lacks of its assistant messages put back: lines after the last line of their message that it
 * has, results beside its own, both in file order. Nothing that comes after the tip is, unless its message is wanted
 * whole.
 */
export function withToolResults(path: readonly TreeNode[], index: ToolIndex, end: ChainEnd): TreeNode[] {
  const { tip } = end
  const wholeMessage = end.whole ? (index.messageOf(tip) ?? index.answered(tip)) : undefined
  const inPath = new Set(path)
  const lastLine = new Map<TreeNode, TreeNode>()
  for (const node of path) {
    const first = index.messageOf(node)
    if (first && index.lines(first).length > 1) lastLine.set(first, node)
  }
  const isHad = (member: TreeNode): boolean => inPath.has(member)
  const out: TreeNode[] = []
  const placed = new Set<TreeNode>()
  for (const [place, node] of path.entries()) {
    if (!placed.has(node)) out.push(node)
    const first = index.messageOf(node)
    if (first === undefined || (lastLine.get(first) ?? node) !== node) continue
    // Mostly nothing stands beside the path.
    if (index.lines(first).every(isHad) && index.results(first).every(isHad)) continue
    const whole = first === wholeMessage
    const missing = missingFrom(index, first, { has: (other) => inPath.has(other), tip, whole })
    out.push(...missing.lines)
    if (missing.results.length === 0) continue
    const own: TreeNode[] = []
    for (const next of path.slice(place + 1, place + 1 + index.results(first).length)) {
      if (index.answered(next) !== first) break
      own.push(next)
      placed.add(next)
    }
    out.push(...[...own, ...missing.results].toSorted((a, b) => a.position - b.position))
  }
  return out
}
