import { entryNode } from './analysis.ts'
import { composeChain, lineageOf } from './chain.ts'
import { formatJson } from './entry.ts'
import type { ForkSource } from './fork-source.ts'
import type { RecordDraft } from './entry.ts'
import { isShallow } from './json-depth.ts'
import { callsIn, replacementItems } from './replacements.ts'
import type { TranscriptItem } from './transcript.ts'
import type { TreeNode } from './tree.ts'

/** A line of a fork: one of the source with top-level values changed, or a new one. */
export type ForkLine = { source: TranscriptItem; values: Record<string, unknown> } | { text: string }

/** What a fork will hold. */
export interface ForkPlan {
  /** The last entry of the conversation kept; `null` for a fork of an empty conversation. */
  upTo: string | null
  lines: ForkLine[]
}

/** What a fork is to be. */
export interface ForkWish {
  sourceSessionId: string
  sessionId: string
  /** The entry to fork at; default: the session's tip. */
  upTo: string | undefined
  title: string | undefined
  clock: () => Date
  createId: () => string
}

/**
 * Records that a fork does not take over.
 * Titles: it has its own or none. Tips: its end is the last entry kept. Usage: what the source's requests cost and
 * consisted of, and its prompt queue, whose waiting prompts would run twice. Lineage: it has its own.
 */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'custom-title',
  'ai-title',
  'summary',
  'last-prompt',
  'cost-state',
  'api-request',
  'api-request-shape',
  'api-request-blob',
  'queue-operation',
  'forked-from',
])

/**
 * Plans the lines of a fork: one `forked-from` record and at most one `custom-title`; then, in the order of the source,
 * every entry that leads to `upTo` (with the whole message that it is part of and its tool results, and with what
 * compactions closed on the way), and every record outside the conversation but for {@link LEFT_OUT}; then the
 * `content-replacement` items of the calls kept, in one record. Each uuid is there once; links that did not hold are
 * as they were read, so that the fork of a damaged session is whole.
 *
 * @returns `undefined` when `upTo` is no entry of the conversation
 */
export function planFork(source: ForkSource, wish: ForkWish): ForkPlan | undefined {
  const { tree, tools } = source
  const wanted = wish.upTo ?? source.tip
  const node = wanted === null ? undefined : entryNode(source, wanted)
  if (wanted !== null && node === undefined) return undefined
  const wholeEnd = node && { tip: node, whole: true }
  const lineage = wholeEnd && lineageOf(tree, tools, wholeEnd)
  const { nodes: kept, end } = lineage ?? { nodes: new Set<TreeNode>(), end: undefined }
  const upTo = end?.entry.uuid ?? null
  const { sessionId } = wish
  const lines: ForkLine[] = [
    { text: formatJson({ type: 'forked-from', sessionId, sourceSessionId: wish.sourceSessionId, upTo }) },
  ]
  if (wish.title !== undefined)
    lines.push({ text: formatJson({ type: 'custom-title', customTitle: wish.title, sessionId }) })
  lines.push(...copiedLines(source, kept, sessionId))
  const chain = (): TreeNode[] => (wholeEnd ? composeChain(tree, tools, wholeEnd) : [])
  lines.push(...replacementLines(source, { kept, chain }, wish))
  const last = tree.nodes.findLast((other) => other.main && kept.has(other))
  // A result that was flushed late stands after the end in the file; without this it would be taken for the end.
  if (last !== end) lines.push({ text: tipLine(upTo, sessionId) })
  return { upTo, lines }
}

function copiedLines(from: ForkSource, kept: ReadonlySet<TreeNode>, sessionId: string): ForkLine[] {
  const { tree } = from
  const lines: { position: number; line: ForkLine }[] = []
  for (const node of tree.nodes) {
    if (!kept.has(node) && (node.main || !hangsOn(node, kept))) continue
    const { entry, position, source } = node
    const values: Record<string, unknown> = { sessionId }
    const parent = keptParent(node, kept)
    if (node.relinked || parent !== node.parent) values['parentUuid'] = parent?.entry.uuid ?? null
    // The line of a later copy, with the link of the first.
    else if (source.record?.['uuid'] === entry.uuid && source.record['parentUuid'] !== entry.parentUuid)
      values['parentUuid'] = entry.parentUuid
    lines.push({ position, line: { source, values } })
  }
  for (const { record, item, position } of tree.records) {
    if (LEFT_OUT.has(record.type) || isMerged(record)) continue
    lines.push({ position, line: { source: item, values: { sessionId } } })
  }
  return lines.toSorted((a, b) => a.position - b.position).map(({ line }) => line)
}

/** What a line follows in the fork: the nearest kept of what it came from, where its parent is left out. */
function keptParent(node: TreeNode, kept: ReadonlySet<TreeNode>): TreeNode | undefined {
  let at = node.parent
  while (at && !kept.has(at) && (at.main || !hangsOn(at, kept))) at = at.parent
  return at
}

/** Whether a line beside the conversation (a subagent's, one of an unknown kind) belongs to what is kept. */
function hangsOn(node: TreeNode, kept: ReadonlySet<TreeNode>): boolean {
  let at = node.parent
  while (at && !at.main && !kept.has(at)) at = at.parent
  return at === undefined || kept.has(at)
}

/** Replacements of subagents are keyed by agent and copied as they are. */
function isMerged(record: RecordDraft): boolean {
  return record.type === 'content-replacement' && record['agentId'] === undefined
}

function replacementLines(
  source: ForkSource,
  { kept, chain }: { kept: ReadonlySet<TreeNode>; chain: () => readonly TreeNode[] },
  wish: ForkWish,
): ForkLine[] {
  const found = source.tree.records.filter(({ record }) => isMerged(record))
  if (found.length === 0) return []
  // In the fork they stand behind all calls, so what does not count where it stands is left out.
  const nodes = [...chain(), ...kept].map(({ entry, position }) => ({ entry, at: position }))
  const callsAt = callsIn(nodes)
  // What nests deeper than JSON can be written replaces nothing.
  const all = found.flatMap(({ record, position }) =>
    replacementItems(record)
      .filter((item) => isShallow(item))
      .map((item) => ({ item, at: position })),
  )
  const needed = all
    .filter(({ item: { toolUseId }, at }) => {
      const callAt = typeof toolUseId === 'string' ? callsAt.get(toolUseId) : -1
      return callAt !== undefined && at > callAt
    })
    .map(({ item }) => item)
  const [only] = found
  if (needed.length === 0 || only === undefined) return []
  const { sessionId } = wish
  if (found.length === 1 && needed.length === all.length)
    return [{ source: only.item, values: { sessionId } }]
  const record = {
    type: 'content-replacement',
    sessionId,
    replacements: needed,
    uuid: wish.createId(),
    timestamp: wish.clock().toISOString(),
  }
  return [{ text: formatJson(record) }]
}

function tipLine(leafUuid: string | null, sessionId: string): string {
  return formatJson({ type: 'last-prompt', lastPrompt: '', leafUuid, explicit: true, sessionId })
}
