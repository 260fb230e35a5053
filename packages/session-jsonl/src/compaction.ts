import type { Damage } from '@loci/disk'
import { isObject } from './entry.ts'
import type { Entry } from './entry.ts'
import type { EntryTree, TreeNode } from './tree.ts'

/**
 * A compaction is a boundary line (a root that names, as `logicalParentUuid`, the end it closes), then a summary, then
 * what follows. The boundary may name messages that are kept as they were: they go between the summary and the rest.
 *
 * Source: `docs/formats/session.md`, compaction.
 */
export function isBoundary(entry: Entry): boolean {
  return entry.type === 'system' && entry['subtype'] === 'compact_boundary'
}

/** Whether an entry is the summary that stands for what a compaction closed. */
export function isSummary(entry: Entry): boolean {
  return entry.type === 'user' && entry['isCompactSummary'] === true
}

/** What a boundary says about the messages it keeps. */
export interface Kept {
  anchor: string | undefined
  uuids: readonly string[] | undefined
  head: string | undefined
  tail: string | undefined
}

/** What a boundary keeps of the messages before it; `undefined` for nothing. */
export function keptBy(boundary: Entry): Kept | undefined {
  const metadata = boundary['compactMetadata']
  if (!isObject(metadata)) return undefined
  const segment = isObject(metadata['preservedSegment']) ? metadata['preservedSegment'] : {}
  const messages = isObject(metadata['preservedMessages']) ? metadata['preservedMessages'] : {}
  const kept: Kept = {
    anchor: text(messages['anchorUuid']) ?? text(segment['anchorUuid']),
    uuids: texts(messages['allUuids']) ?? texts(messages['uuids']),
    head: text(segment['headUuid']),
    tail: text(segment['tailUuid']),
  }
  return kept.uuids || (kept.head !== undefined && kept.tail !== undefined) ? kept : undefined
}

/**
 * The part of a path that begins at a boundary, with the messages it keeps put in their place.
 *
 * @param after the path from the boundary on, which holds its summary
 * @param before the conversation that the boundary closed, as it was composed then: a message kept by an earlier
 * compaction is in it, and can be kept again
 */
export function compacted(
  tree: EntryTree,
  after: readonly TreeNode[],
  before: readonly TreeNode[],
): readonly TreeNode[] {
  const boundary = after[0]
  const kept = boundary && keptBy(boundary.entry)
  if (kept === undefined) return after
  const own = new Set(after)
  const nodes = keptNodes(tree, kept, before).filter((node) => !own.has(node))
  const anchor = after.findIndex((node) => node.entry.uuid === kept.anchor)
  const place = anchor === -1 ? after.findIndex((node) => isSummary(node.entry)) : anchor
  return [...after.slice(0, place + 1), ...nodes, ...after.slice(place + 1)]
}

function keptNodes(tree: EntryTree, kept: Kept, before: readonly TreeNode[]): TreeNode[] {
  if (kept.uuids) {
    const named = new Set(kept.uuids)
    const known = new Set(before)
    // In the order of the conversation; what is not in it (a list that reaches further back) comes first.
    const elsewhere = [...named].flatMap((uuid) => {
      const node = tree.byUuid.get(uuid)
      return node?.main && !known.has(node) ? [node] : []
    })
    return [...elsewhere, ...before.filter((node) => named.has(node.entry.uuid))]
  }
  const first = before.findIndex((node) => node.entry.uuid === kept.head)
  const last = before.findIndex((node) => node.entry.uuid === kept.tail)
  return first === -1 || last === -1 ? [] : before.slice(first, last + 1)
}

/**
 * What is wrong with the compactions of a transcript: one that a crash ended before its summary (it does not count,
 * and the conversation goes on across it), and one whose kept messages are not in the file (it counts without them).
 */
export function compactionDamage(tree: EntryTree): Damage[] {
  const boundaries = tree.nodes.filter((node) => node.main && isBoundary(node.entry))
  if (boundaries.length === 0) return []
  const finished = new Set<TreeNode>()
  for (const node of tree.nodes) {
    if (!node.main || !isSummary(node.entry)) continue
    let at = node.parent
    while (at && !isBoundary(at.entry)) at = at.parent
    if (at) finished.add(at)
  }
  const damage: Damage[] = []
  for (const node of boundaries) {
    if (!finished.has(node)) {
      const said = 'begins a compaction without a summary; the conversation before it counts in full'
      damage.push(damageAt(tree, node, 'unfinished-compaction', said))
      continue
    }
    const kept = keptBy(node.entry)
    if (kept === undefined) continue
    const named = kept.uuids ?? [kept.head, kept.tail].filter((uuid) => uuid !== undefined)
    const missing = named.filter((uuid) => !tree.byUuid.has(uuid))
    if (missing.length === 0) continue
    const said = `keeps ${missing.join(', ')}, which ${missing.length === 1 ? 'is' : 'are'} not in the file; the summary stands without`
    damage.push(damageAt(tree, node, 'missing-kept', said))
  }
  return damage
}

function damageAt(tree: EntryTree, node: TreeNode, kind: string, said: string): Damage {
  const { offset, line } = node.source
  return { kind, path: tree.path, offset, line, message: `Line ${line} ${said}` }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function texts(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined
  return value.filter((item: unknown) => typeof item === 'string')
}
