import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/** The blocks of an entry's message; none if its content is a plain string or no message at all. */
function messageBlocks(entry: Entry): readonly Record<string, unknown>[] {
  const content: unknown = isObject(entry.message) ? entry.message['content'] : undefined
  return Array.isArray(content) ? content.filter((block: unknown) => isObject(block)) : NONE
}

const NONE: readonly Record<string, unknown>[] = []

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
  // Most messages are one line, of which nothing has to be kept.
  const firstLine = new Map<TreeNode, TreeNode>()
  const lines = new Map<TreeNode, TreeNode[]>()
  const answers = new Map<TreeNode, TreeNode>()
  const results = new Map<TreeNode, TreeNode[]>()
  const callerOf = callerFinder()
  const messageOf = (node: TreeNode): TreeNode | undefined =>
    isAssistant(node) ? (firstLine.get(node) ?? node) : undefined
  for (const node of tree.nodes) {
    if (isAssistant(node)) findFirstLine(node, callerOf, firstLine)
  }
  if (firstLine.size > 0) {
    const shared = new Set(firstLine.values())
    for (const node of tree.nodes) {
      const first = messageOf(node)
      if (first && shared.has(first)) addTo(lines, first, node)
    }
  }
  for (const node of tree.nodes) {
    if (!node.main || !isResultLine(node)) continue
    const source = node.entry['sourceToolAssistantUUID']
    const named = typeof source === 'string' ? tree.byUuid.get(source) : undefined
    const caller = callerOf(node) ?? (named && named.position < node.position ? named : undefined)
    const first = caller && messageOf(caller)
    if (first === undefined) continue
    answers.set(node, first)
    addTo(results, first, node)
  }
  return {
    messageOf,
    answered: (node) => answers.get(node),
    lines: (first) => lines.get(first) ?? [first],
    results: (first) => results.get(first) ?? [],
    answeredMessages: () => results.keys(),
  }
}

function isAssistant({ main, entry }: TreeNode): boolean {
  return main && entry.type === 'assistant'
}

/**
 * Climbs from an assistant line to the first line of its message, and remembers the answer for all on the way but the
 * first line itself.
 */
function findFirstLine(
  node: TreeNode,
  callerOf: (node: TreeNode) => TreeNode | undefined,
  known: Map<TreeNode, TreeNode>,
): void {
  const way: TreeNode[] = []
  let at = node
  for (;;) {
    const first = known.get(at)
    const above = first === undefined ? callerOf(at) : undefined
    const id = above && messageId(at.entry)
    if (above === undefined || id === undefined || messageId(above.entry) !== id) {
      for (const member of way) known.set(member, first ?? at)
      return
    }
    way.push(at)
    at = above
  }
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
      const { parent } = at
      if (parent === undefined || parent.entry.type === 'assistant') {
        caller = parent
        break
      }
      if (parent.entry.type === 'user' && !isResultLine(parent)) break
      if (known.has(parent)) {
        caller = known.get(parent)
        break
      }
      way.push(parent)
      at = parent
    }
    for (const member of way) known.set(member, caller)
    return caller
  }
}

/** Whether a line brings tool results and nothing else, such as what a person said. */
export function isResultLine({ entry }: Pick<TreeNode, 'entry'>): boolean {
  if (entry.type !== 'user') return false
  const content: unknown = isObject(entry.message) ? entry.message['content'] : undefined
  if (!Array.isArray(content)) return false
  let hasResult = false
  for (const block of content as unknown[]) {
    if (!isObject(block)) continue
    if (block['type'] !== 'tool_result') return false
    hasResult = true
  }
  return hasResult
}

function addTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list) list.push(value)
  else map.set(key, [value])
}
