import { createHash } from 'node:crypto'
import type { Damage } from '@loci/disk'
import { isBoundary } from './compaction.ts'
import { cutRings } from './cut-rings.ts'
import { isChainType, isEntry } from './entry.ts'
import type { Entry, RecordDraft } from './entry.ts'
import { isSameJson, shallowCopy } from './json-depth.ts'
import type { TranscriptItem } from './transcript.ts'

/** An entry with its place in the tree. */
export interface TreeNode {
  /** What the entry says: of a repeated one, what its last copy says, with the links of the first. */
  entry: Entry
  /** The line that `entry` was read from, for its bytes. */
  source: TranscriptItem
  /** Where in the file it stands (of a repeated one, the copy whose links count): an index into the items. */
  position: number
  /** Whether it belongs to the conversation itself: of a chain kind and not a subagent's. */
  readonly main: boolean
  /** What it follows, after bridging and cutting; `undefined` at a root. */
  parent: TreeNode | undefined
  /** Whether `parent` is other than what the line says. */
  relinked: boolean
}

/** All that a transcript holds, as a tree of entries and a list of the records outside it. */
export interface EntryTree {
  readonly path: string
  readonly byUuid: ReadonlyMap<string, TreeNode>
  /** All nodes in file order. */
  readonly nodes: readonly TreeNode[]
  /** Every record that is no node, with its place. */
  readonly records: readonly { record: RecordDraft; item: TranscriptItem; position: number }[]
  readonly damage: readonly Damage[]
}

/**
 * Puts the lines of a transcript together.
 *
 * - A repeated uuid is one entry, at the place and with the links of its first copy. What it says is what the last
 *   copy says, unless that is of another kind. Both are reported: a program that writes an entry again (after a
 *   compaction, into a fork) tends to lose its parent, so a later copy changes no link. But for one: a copy that
 *   follows a compaction's boundary, or what comes after it, was put there by the compaction, and stays there.
 * - No link leads forward across the boundary of a compaction: what was written before it cannot follow what comes
 *   after it. So a conversation that a compaction began can be read without what stands before.
 * - A `user` or `assistant` line without uuid follows the conversation's line before it; its uuid here is made from
 *   what it says and where it stands, and is the same each time.
 * - A parent that is not there is bridged to where the conversation stood: the entry that a rewind record named, else
 *   the nearest entry before it that nothing else follows, else the nearest.
 * - A parent that is a subagent's line is bridged to what that line came from.
 * - A ring of parents is cut at the entry that stands first in the file, which becomes a root.
 *
 * Each of these is damage, with the place of the line. No recursion: a chain may be as long as memory allows.
 */
export function buildTree(
  items: readonly TranscriptItem[],
  path: string,
  isSame: SameRecord = saySame,
): EntryTree {
  const builder = new TreeBuilder(path, isSame)
  for (const [position, item] of items.entries()) {
    if (item.record) builder.add(item.record, item, position)
  }
  return builder.finish()
}

/** Whether two lines with one uuid say the same, but for what they follow. The first is the one that counted before. */
export type SameRecord = (first: TranscriptItem, copy: TranscriptItem) => boolean

/** {@link SameRecord} of items that hold their whole records. */
export function saySame(first: TranscriptItem, copy: TranscriptItem): boolean {
  const rest = ({ record }: TranscriptItem): unknown => ({ ...record, parentUuid: null })
  return isSameJson(rest(first), rest(copy))
}

/** How far back a bridge looks for an entry that nothing follows. */
const BRIDGE_REACH = 1_000

class TreeBuilder {
  readonly #path: string
  readonly #byUuid = new Map<string, TreeNode>()
  readonly #nodes: TreeNode[] = []
  readonly #main: TreeNode[] = []
  readonly #records: { record: RecordDraft; item: TranscriptItem; position: number }[] = []
  readonly #damage: Damage[] = []
  /** The nodes whose parent is what comes before them rather than what they name. */
  readonly #inFileOrder = new Map<TreeNode, TreeNode | undefined>()
  /** The nodes that another one follows. */
  readonly #continued = new Set<TreeNode>()
  /** Where the boundaries of compactions stand, in file order. */
  readonly #boundaries: number[] = []
  readonly #isSame: SameRecord

  constructor(path: string, isSame: SameRecord) {
    this.#path = path
    this.#isSame = isSame
  }

  add(record: Entry | RecordDraft, item: TranscriptItem, position: number): void {
    if (isEntry(record)) this.#addEntry(record, item, position)
    else if (isChainType(record.type) && isConversation(record)) this.#addNameless(record, item, position)
    else if (isLinked(record)) this.#addEntry(record, item, position)
    else this.#records.push({ record, item, position })
  }

  #addEntry(entry: Entry, item: TranscriptItem, position: number): void {
    const main = isChainType(entry.type) && entry.isSidechain !== true
    if (main && isBoundary(entry)) this.#boundaries.push(position)
    const first = this.#byUuid.get(entry.uuid)
    if (first) {
      this.#addCopy(first, entry, item, position)
      return
    }
    this.#insert({ entry, position, source: item, main, parent: undefined, relinked: false })
  }

  #addCopy(first: TreeNode, copy: Entry, item: TranscriptItem, position: number): void {
    const sameKind =
      copy.type === first.entry.type && (copy.isSidechain === true) === (first.entry.isSidechain === true)
    const same = sameKind && this.#isSame(first.source, item)
    const moved = sameKind && this.#isMoved(first, copy)
    const links = moved
      ? 'with its own links, since a compaction put it there'
      : 'with the links of the first'
    const said = !sameKind
      ? 'is of another kind and does not count'
      : same
        ? moved
          ? `is the same, ${links}`
          : 'is the same'
        : `says something else; the later one counts, ${links}`
    this.#report(
      same ? 'duplicate-entry' : 'conflicting-entry',
      item,
      `repeats entry ${copy.uuid} of line ${first.source.line}, and ${said}`,
    )
    if (!sameKind || (same && !moved)) return
    first.entry = moved ? copy : { ...copy, parentUuid: first.entry.parentUuid }
    first.source = item
    if (moved) first.position = position
  }

  /** Whether a copy follows a boundary that stands after the first copy, or what comes after that boundary. */
  #isMoved(first: TreeNode, copy: Entry): boolean {
    const parent = typeof copy.parentUuid === 'string' ? this.#byUuid.get(copy.parentUuid) : undefined
    return parent !== undefined && this.#isAcross(first.position, parent.position)
  }

  /** Whether the boundary of a compaction stands after `before` and not after `after`. */
  #isAcross(before: number, after: number): boolean {
    return this.#boundaries.some((boundary) => before < boundary && boundary <= after)
  }

  #addNameless(record: RecordDraft, item: TranscriptItem, position: number): void {
    const before = this.#main.at(-1)
    const parentUuid = before?.entry.uuid ?? null
    const uuid = namelessUuid(record, parentUuid)
    // A caller may count on these two being strings or absent, so what the line lacks stays absent.
    const entry = { ...record, uuid, parentUuid } as Entry
    const node: TreeNode = { entry, position, source: item, main: true, parent: before, relinked: false }
    this.#insert(node)
    this.#inFileOrder.set(node, before)
    this.#report('missing-uuid', item, `is a ${record.type} line without uuid; it is read in file order`)
  }

  #insert(node: TreeNode): void {
    this.#byUuid.set(node.entry.uuid, node)
    this.#nodes.push(node)
    if (node.main) this.#main.push(node)
  }

  finish(): EntryTree {
    // Some may have been moved.
    for (const list of [this.#nodes, this.#main]) list.sort((a, b) => a.position - b.position)
    for (const node of this.#nodes) {
      const parent = this.#namedParent(node)
      if (parent && node.entry.isSidechain !== true) this.#continued.add(parent)
    }
    this.#link()
    cutRings(this.#nodes, (node, said) => this.#report('cycle', node.source, said))
    return {
      path: this.#path,
      byUuid: this.#byUuid,
      nodes: this.#nodes,
      records: this.#records,
      damage: this.#damage,
    }
  }

  #namedParent(node: TreeNode): TreeNode | undefined {
    if (this.#inFileOrder.has(node)) return this.#inFileOrder.get(node)
    const { parentUuid } = node.entry
    const named = typeof parentUuid === 'string' ? this.#byUuid.get(parentUuid) : undefined
    const forward = named !== undefined && named.position > node.position
    return forward && this.#isAcross(node.position, named.position) ? undefined : named
  }

  /** Gives each node its parent, in file order, following where the conversation stands. */
  #link(): void {
    let stand: { at: TreeNode | undefined; rewound: boolean } = { at: undefined, rewound: false }
    let nextRecord = 0
    let mainBefore = 0
    for (const node of this.#nodes) {
      for (; nextRecord < this.#records.length; nextRecord += 1) {
        const entry = this.#records[nextRecord]
        if (entry === undefined || entry.position > node.position) break
        stand = this.#afterRecord(stand, entry.record, entry.position)
      }
      node.parent = this.#parentOf(node, stand, mainBefore)
      if (!node.main) continue
      stand = { at: node, rewound: false }
      mainBefore += 1
    }
  }

  #afterRecord(
    stand: { at: TreeNode | undefined; rewound: boolean },
    record: RecordDraft,
    position: number,
  ): { at: TreeNode | undefined; rewound: boolean } {
    if (record.type !== 'last-prompt' || record['explicit'] !== true) return stand
    const leaf = record['leafUuid']
    if (leaf === null) return { at: undefined, rewound: true }
    const at = typeof leaf === 'string' ? this.#byUuid.get(leaf) : undefined
    return at?.main && at.position < position ? { at, rewound: true } : stand
  }

  #parentOf(
    node: TreeNode,
    stand: { at: TreeNode | undefined; rewound: boolean },
    mainBefore: number,
  ): TreeNode | undefined {
    const { parentUuid } = node.entry
    if (parentUuid === null) return undefined
    const named = this.#namedParent(node)
    const sidechain = node.entry.isSidechain === true
    if (named && (sidechain || named.entry.isSidechain !== true)) return named
    if (sidechain) return undefined
    node.relinked = true
    if (named) {
      const origin = this.#outOfSidechain(named)
      this.#report(
        'missing-parent',
        node.source,
        `follows a subagent's line ${parentUuid}; bridged to ${describe(origin)}`,
      )
      return origin
    }
    const bridge = stand.rewound ? stand.at : this.#nearestEnd(node, mainBefore)
    if (bridge) this.#continued.add(bridge)
    this.#report(
      'missing-parent',
      node.source,
      `follows ${typeof parentUuid === 'string' ? parentUuid : 'nothing named'}, which is not in the file; ${bridge ? `bridged to ${describe(bridge)}` : 'it begins the conversation'}`,
    )
    return bridge
  }

  #outOfSidechain(from: TreeNode): TreeNode | undefined {
    const seen = new Set<TreeNode>()
    let at: TreeNode | undefined = from
    while (at && at.entry.isSidechain === true && !seen.has(at)) {
      seen.add(at)
      at = this.#namedParent(at)
    }
    return at?.entry.isSidechain === true ? undefined : at
  }

  #nearestEnd(node: TreeNode, mainBefore: number): TreeNode | undefined {
    const first = Math.max(0, mainBefore - BRIDGE_REACH)
    for (let index = mainBefore - 1; index >= first; index -= 1) {
      const candidate = this.#main[index]
      if (candidate && candidate !== node && !this.#continued.has(candidate)) return candidate
    }
    return this.#main[mainBefore - 1]
  }

  #report(kind: string, item: TranscriptItem, said: string): void {
    const { offset, line } = item
    this.#damage.push({ kind, path: this.#path, offset, line, message: `Line ${line} ${said}` })
  }
}

function describe(node: TreeNode | undefined): string {
  return node ? `${node.entry.uuid} on line ${node.source.line}` : 'nothing'
}

function isConversation(record: RecordDraft): boolean {
  return (record.type === 'user' || record.type === 'assistant') && record['isSidechain'] !== true
}

/** Whether a record of an unknown kind stands in the tree: it has a name and says what it follows. */
function isLinked(record: RecordDraft): record is Entry {
  return (
    !isChainType(record.type) &&
    typeof record['uuid'] === 'string' &&
    record['uuid'] !== '' &&
    (typeof record['parentUuid'] === 'string' || record['parentUuid'] === null)
  )
}

/** A uuid for a line that has none: the same in a fork, which changes the session id and keeps the order. */
function namelessUuid(record: RecordDraft, parentUuid: string | null): string {
  const { sessionId: _, ...rest } = record
  const hex = createHash('sha256')
    .update(JSON.stringify([parentUuid, shallowCopy(rest)]))
    .digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
