import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** The blocks of an entry's message; none if its content is a plain string or no message at all. */
export function messageBlocks(entry: Entry): readonly Record<string, unknown>[] {
  const content: unknown = isObject(entry.message) ? entry.message['content'] : undefined
  return Array.isArray(content) ? content.filter((block: unknown) => isObject(block)) : []
}

/** Ids of the tool calls that an assistant entry makes. */
export function toolCallIds(entry: Entry): string[] {
  return entry.type === 'assistant' ? idsOf(entry, 'tool_use', 'id') : []
}

/** Ids of the tool calls whose results a user entry brings. */
export function toolResultIds(entry: Entry): string[] {
  return entry.type === 'user' ? idsOf(entry, 'tool_result', 'tool_use_id') : []
}

function idsOf(entry: Entry, type: string, field: string): string[] {
  return messageBlocks(entry).flatMap((block) => {
    const id = block[field]
    return block['type'] === type && typeof id === 'string' ? [id] : []
  })
}

/** The id that all lines of one assistant message share. */
export function messageId(entry: Entry): string | undefined {
  const id: unknown = isObject(entry.message) ? entry.message['id'] : undefined
  return entry.type === 'assistant' && typeof id === 'string' ? id : undefined
}

/**
 * The assistant messages of a tree with their results. One message is one line a block, each the child of the one
 * before it; the result of each call hangs off the line of its call, in the order of completion, and the next message
 * hangs off the last of them. So a path from leaf to root can miss both results and lines of the message itself.
 *
 * Source: `docs/formats/session.md`, parallel tools.
 */
export interface ToolIndex {
  /** The first line of the message that an assistant line belongs to. */
  messageOf(node: TreeNode): TreeNode | undefined
  /** The message that a tool result answers, by its place in the tree. */
  answered(node: TreeNode): TreeNode | undefined
  /** The lines of the message that begins with `first`, in file order. */
  lines(first: TreeNode): readonly TreeNode[]
  /** The results that answer the message that begins with `first`, in file order. */
  results(first: TreeNode): readonly TreeNode[]
  /** The first lines of all messages that have results. */
  answeredMessages(): Iterable<TreeNode>
}

/** Finds the assistant messages of a tree and what answers them. */
export function indexTools(tree: EntryTree): ToolIndex {
  const firstLine = new Map<TreeNode, TreeNode>()
  const lines = new Map<TreeNode, TreeNode[]>()
  const answers = new Map<TreeNode, TreeNode>()
  const results = new Map<TreeNode, TreeNode[]>()
  const assistants = tree.nodes.filter((node) => node.main && node.entry.type === 'assistant')
  const callerOf = callerFinder()
  for (const node of assistants) {
    const first = firstLineOf(node, callerOf, firstLine)
    addTo(lines, first, node)
  }
  for (const node of tree.nodes) {
    if (!node.main || !isResultLine(node)) continue
    const source = node.entry['sourceToolAssistantUUID']
    const named = typeof source === 'string' ? tree.byUuid.get(source) : undefined
    const caller = callerOf(node) ?? named
    const first = caller && firstLine.get(caller)
    if (first === undefined) continue
    answers.set(node, first)
    addTo(results, first, node)
  }
  return {
    messageOf: (node) => firstLine.get(node),
    answered: (node) => answers.get(node),
    lines: (first) => lines.get(first) ?? [],
    results: (first) => results.get(first) ?? [],
    answeredMessages: () => results.keys(),
  }
}

/** Climbs from an assistant line to the first line of its message, remembering the answer for all on the way. */
function firstLineOf(
  node: TreeNode,
  callerOf: (node: TreeNode) => TreeNode | undefined,
  known: Map<TreeNode, TreeNode>,
): TreeNode {
  const way: TreeNode[] = []
  let at = node
  let first = known.get(at)
  while (first === undefined) {
    way.push(at)
    const above = callerOf(at)
    const id = messageId(at.entry)
    if (above === undefined || id === undefined || messageId(above.entry) !== id) first = at
    else {
      at = above
      first = known.get(at)
    }
  }
  for (const member of way) known.set(member, first)
  return first
}

/**
 * Finds the nearest assistant line above a node with nothing but tool results and lines without a message between.
 * Remembers, so that asking for every node of a long run costs one climb.
 */
function callerFinder(): (node: TreeNode) => TreeNode | undefined {
  const known = new Map<TreeNode, TreeNode | undefined>()
  return (node) => {
    const way: TreeNode[] = []
    let at = node
    let caller: TreeNode | undefined
    for (;;) {
      if (known.has(at)) {
        caller = known.get(at)
        break
      }
      way.push(at)
      const { parent } = at
      if (parent === undefined || parent.entry.type === 'assistant') {
        caller = parent
        break
      }
      if (parent.entry.type === 'user' && !isResultLine(parent)) break
      at = parent
    }
    for (const member of way) known.set(member, caller)
    return caller
  }
}

/** Whether a line brings tool results and nothing else, such as what a person said. */
function isResultLine({ entry }: TreeNode): boolean {
  const blocks = messageBlocks(entry)
  return entry.type === 'user' && blocks.length > 0 && blocks.every(({ type }) => type === 'tool_result')
}

function addTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}

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
    if (first) lastLine.set(first, node)
  }
  const out: TreeNode[] = []
  const placed = new Set<TreeNode>()
  for (const [place, node] of path.entries()) {
    if (!placed.has(node)) out.push(node)
    const first = index.messageOf(node)
    if (first === undefined || lastLine.get(first) !== node) continue
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
