import type { LineFacts } from './line-facts.ts'
import type { LineTable } from './line-table.ts'

/**
 * What cannot be answered from the lines at hand: `more` of the file has to be looked at (up to the line named
 * `until`), or `all` of it, or the lines do not fit together so plainly that their facts tell (`unsure`: the whole
 * transcript has to be read and put right).
 */
export type Unanswered = { kind: 'more'; until?: string } | { kind: 'all' } | { kind: 'unsure' }

/** The lines on the way to a tip, as far back as the conversation that ends there needs. */
export interface Branch {
  kind: 'branch'
  /** Root, or the boundary of the compaction that closed what came before, first. */
  readonly path: readonly LineFacts[]
  /** Lines elsewhere that compactions on the way keep. */
  readonly also: readonly LineFacts[]
  /** Where in the file the first of all lines begins that can belong to the conversation. */
  readonly from: number
}

const ALL: Unanswered = { kind: 'all' }
const UNSURE: Unanswered = { kind: 'unsure' }

/**
 * Where the conversation goes on, by the rule of `findTip`; and the branch that ends there. The answer is that of the
 * whole transcript: it is given only where nothing before the lines at hand can change it.
 *
 * - Every line of the conversation names a parent that stands before it, or is a root; every uuid is there once.
 * - The way from the tip ends at a compaction that keeps nothing from before it, or the lines are all there are.
 *   What stands before such a boundary does not reach across it: `buildTree` has that rule.
 */
export function planLive(table: LineTable): { kind: 'empty' } | Branch | Unanswered {
  const { last } = table
  const mark = table.lastRecord('last-prompt')
  if (last?.place === 'nameless') return UNSURE
  if (last === undefined) return table.isComplete ? { kind: 'empty' } : { kind: 'more' }
  if (mark?.mark === undefined || mark.offset < last.offset) return planBranch(table, last.uuid)
  const { leaf, explicit } = mark.mark
  if (explicit && leaf === null) return { kind: 'empty' }
  if (leaf === undefined || leaf === null || leaf === last.uuid) return planBranch(table, last.uuid)
  const named = table.node(leaf)
  if (explicit && named?.place === 'main') return planBranch(table, leaf)
  if (!table.isComplete) return { kind: 'more', until: leaf }
  if (table.hasRepeatsFrom(0)) return UNSURE
  const counts = named?.place === 'main' && !isAncestor(table, named, last)
  return planBranch(table, counts ? leaf : last.uuid)
}

/** The branch that ends at `tip`, which is `unsure` where no line of the conversation has that uuid. */
export function planBranch(table: LineTable, tip: string): Branch | Unanswered {
  const path: LineFacts[] = []
  const kept: string[] = []
  let hasSummary = false
  let at = table.node(tip)
  if (at === undefined) return table.isComplete ? UNSURE : { kind: 'more', until: tip }
  if (at.place !== 'main') return UNSURE
  for (;;) {
    path.push(at)
    hasSummary ||= at.summary
    if (at.boundary) {
      if (hasSummary && at.boundary.kept === undefined) return checked(table, { path, kept, from: at.offset })
      // That what is kept is not told twice only all lines can say.
      if (hasSummary && !table.isComplete) return ALL
      if (hasSummary) kept.push(...(at.boundary.kept?.uuids ?? []))
      hasSummary = false
    }
    if (at.parentUuid === undefined) return UNSURE
    const parent = at.parentUuid ?? at.boundary?.logicalParent
    if (parent === undefined) break
    const named = table.node(parent)
    if (named === undefined) {
      if (!table.isComplete) return { kind: 'more', until: parent }
      if (at.parentUuid !== null) return UNSURE
      break
    }
    if (named.offset >= at.offset || named.sidechain) return UNSURE
    at = named
  }
  return table.isComplete ? checked(table, { path, kept, from: 0 }) : ALL
}

/** A branch, if no line from `from` on stands otherwise in the tree than it says. */
function checked(
  table: LineTable,
  { path, kept, from }: { path: readonly LineFacts[]; kept: readonly string[]; from: number },
): Branch | Unanswered {
  const own = new Set(kept.length === 0 ? [] : path.map(({ uuid }) => uuid))
  const elsewhere = kept.filter((uuid) => !own.has(uuid))
  const flaw = flawFrom(table, from)
  // What branches off before a compaction, or is kept from elsewhere, is told only with all that is there.
  const needsAll = from > 0 && (elsewhere.length > 0 || flaw === 'reaches back')
  if (needsAll) return table.isComplete ? checked(table, { path, kept, from: 0 }) : ALL
  if (flaw === 'missing parent' && !table.isComplete) return ALL
  if (flaw !== undefined) return UNSURE
  const also = elsewhere.flatMap((uuid) => table.node(uuid) ?? [])
  return { kind: 'branch', path: path.toReversed(), also, from }
}

/** Whether the lines are all there are, and each stands in the tree as it says. */
export function fitTogether(table: LineTable): boolean {
  return table.isComplete && flawFrom(table, 0) === undefined
}

/** What keeps the lines from `from` on from standing in the tree as they say. */
function flawFrom(table: LineTable, from: number): 'missing parent' | 'reaches back' | 'other' | undefined {
  if (table.hasRepeatsFrom(from)) return 'other'
  let reachesBack = false
  for (const line of table.lines) {
    if (line.offset < from || line.place === 'outside') continue
    if (line.place === 'nameless') return 'other'
    const closed = line.boundary?.logicalParent
    if (closed !== undefined && (table.node(closed)?.offset ?? 0) >= line.offset) return 'other'
    // A subagent's lines are of no conversation but its own.
    if (line.sidechain || line.parentUuid === null) continue
    if (line.parentUuid === undefined) return 'other'
    const named = table.node(line.parentUuid)
    if (named === undefined) return 'missing parent'
    if (named.offset >= line.offset || named.sidechain) return 'other'
    if (named.offset < from) reachesBack = true
  }
  return reachesBack ? 'reaches back' : undefined
}

function isAncestor(table: LineTable, line: LineFacts, descendant: LineFacts): boolean {
  let at: LineFacts | undefined = descendant
  while (at) {
    if (at === line) return true
    const parent: string | null | undefined = at.parentUuid ?? at.boundary?.logicalParent
    const named: LineFacts | undefined = typeof parent === 'string' ? table.node(parent) : undefined
    at = named && named.offset < at.offset ? named : undefined
  }
  return false
}
