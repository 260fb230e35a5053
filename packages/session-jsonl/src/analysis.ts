import type { Damage } from '@loci/disk'
import { composeChain } from './chain.ts'
import { compactionDamage } from './compaction.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { malformedParts } from './message-blocks.ts'
import { findTip } from './tip.ts'
import { indexTools, toolCallIds, toolResultIds } from './tool-index.ts'
import type { ToolIndex } from './tool-index.ts'
import type { TranscriptItem } from './transcript.ts'
import { buildTree } from './tree.ts'
import type { EntryTree, SameRecord, TreeNode } from './tree.ts'

/** Everything that is known of a transcript: its tree, where its conversation stands, and what is wrong with it. */
export interface Analysis {
  readonly tree: EntryTree
  readonly tools: ToolIndex
  /** Where the conversation goes on, by the file alone. */
  readonly tip: string | null
  /** Everything wrong, in file order. */
  readonly damage: readonly Damage[]
}

/**
 * Analyses the items of a transcript. Pure.
 *
 * @param sessionId whose lines they should be; `undefined` if that is not known
 * @param isSame needed where the items do not hold all that their records say
 */
export function analyse(
  items: readonly TranscriptItem[],
  path: string,
  sessionId: string | undefined,
  isSame?: SameRecord,
): Analysis {
  const tree = buildTree(items, path, isSame)
  const unreadable = items.flatMap(({ damage }) => (damage ? [damage] : []))
  const damage = [
    ...unreadable,
    ...tree.damage,
    ...compactionDamage(tree),
    ...strayResults(tree),
    ...unreadableContent(tree),
    ...(sessionId === undefined ? [] : foreignLines(items, path, sessionId)),
  ]
  return {
    tree,
    tools: indexTools(tree),
    tip: findTip(tree),
    damage: damage.toSorted(byOffset),
  }
}

/** Orders damage by where in the file it is. */
export function byOffset(a: Damage, b: Damage): number {
  return (a.offset ?? 0) - (b.offset ?? 0)
}

/** An entry of the conversation itself by its uuid; not a subagent's line or one of an unknown kind. */
export function entryNode(analysis: Pick<Analysis, 'tree'>, uuid: string): TreeNode | undefined {
  const node = analysis.tree.byUuid.get(uuid)
  return node?.main === true ? node : undefined
}

/** The chain that ends at `tip`; none for an empty conversation. */
export function chainTo(analysis: Analysis, tip: TreeNode | undefined): Entry[] {
  if (tip === undefined) return []
  return composeChain(analysis.tree, analysis.tools, { tip, whole: false }).map(({ entry }) => entry)
}

/** The records of one kind outside the conversation, in file order. */
export function recordsOf(tree: EntryTree, type: string): RecordDraft[] {
  return recordItems(tree, type).flatMap(({ record }) => record ?? [])
}

/** Where the records of one kind outside the conversation stand, in file order. */
export function recordItems(tree: EntryTree, type: string): TranscriptItem[] {
  return [
    ...tree.records.filter(({ record }) => record.type === type),
    ...tree.nodes
      .filter(({ entry, main }) => !main && entry.type === type)
      .map(({ source, position }) => ({ item: source, position })),
  ]
    .toSorted((a, b) => a.position - b.position)
    .map(({ item }) => item)
}

/** Results of tool calls that no line of the conversation makes; they are left out of what is sent. */
function strayResults(tree: EntryTree): Damage[] {
  const calls = new Set(tree.nodes.flatMap(({ entry }) => toolCallIds(entry)))
  return tree.nodes.flatMap(({ entry, main, source }) => {
    const stray = main ? toolResultIds(entry).filter((id) => !calls.has(id)) : []
    if (stray.length === 0) return []
    const { offset, line } = source
    const message = `Line ${line} brings the result of ${stray.join(', ')}, which nothing calls; it is left out of what is sent`
    return [{ kind: 'stray-result', path: tree.path, offset, line, message }]
  })
}

/** Messages of which something is left out of what is sent, since it is malformed. */
function unreadableContent(tree: EntryTree): Damage[] {
  return tree.nodes.flatMap(({ entry, main, source }) => {
    const parts = main ? malformedParts(entry) : 0
    if (parts === 0) return []
    const { offset, line } = source
    const what = parts === 1 ? 'a part' : `${parts} parts`
    const message = `The message of line ${line} has ${what} that cannot be sent as it is; it is left out of what is sent`
    return [{ kind: 'unreadable-content', path: tree.path, offset, line, message }]
  })
}

/** Lines that say they are of another session: one note for each such id, where it comes first. */
function foreignLines(items: readonly TranscriptItem[], path: string, sessionId: string): Damage[] {
  const first = new Map<string, { item: TranscriptItem; lines: number }>()
  for (const item of items) {
    const id = item.record?.['sessionId']
    if (typeof id !== 'string' || id === sessionId) continue
    const seen = first.get(id)
    if (seen) seen.lines += 1
    else first.set(id, { item, lines: 1 })
  }
  return [...first].map(([id, { item, lines }]) => {
    const { offset, line } = item
    const who = lines === 1 ? `Line ${line} says it is` : `Line ${line} and ${lines - 1} more say they are`
    const message = `${who} of session ${JSON.stringify(id)}; they are read as this one's`
    return { kind: 'foreign-session', path, offset, line, message }
  })
}
