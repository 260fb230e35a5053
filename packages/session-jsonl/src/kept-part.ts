import type { LineFacts } from './line-facts.ts'

/** How little of a way is needed; indexes into it. */
export interface KeptPart {
  /** The first line that is needed. */
  readonly needed: number
  /** The last line that is no place to begin at; -1 where every line is one. */
  readonly floor: number
}

/**
 * Of what the last compaction on a way closed, the part that holds what it keeps: nothing before that is part of the
 * conversation. To compose it, the way may begin at any line between `floor` and `needed` that begins a turn: what is
 * put beside a message never goes beyond the turn that the message is part of.
 *
 * @param path root first, as `planBranch` gives it
 * @returns `undefined` where all of the way is needed
 */
export function keptPart(path: readonly LineFacts[]): KeptPart | undefined {
  const last = path.findLastIndex(({ boundary }) => boundary !== undefined)
  const kept = path[last]?.boundary?.kept
  const leg = path.slice(last)
  if (kept === undefined || !leg.some(({ summary }) => summary)) return undefined
  const own = new Set(leg.map(({ uuid }) => uuid))
  const names = (kept.uuids ?? [kept.head ?? '', kept.tail ?? '']).filter((uuid) => !own.has(uuid))
  const begins = Math.max(
    0,
    path.findLastIndex(({ boundary }, index) => boundary !== undefined && index < last),
  )
  let floor = -1
  const places = new Map<string, number>()
  const anchor = path[begins]?.boundary?.kept?.anchor
  for (const [index, line] of path.slice(0, last).entries()) {
    if (index < begins) continue
    places.set(line.uuid, index)
    if (line.boundary || line.summary || line.uuid === anchor) floor = index
  }
  let needed = last
  for (const name of names) {
    const place = places.get(name)
    if (place === undefined) return undefined
    needed = Math.min(needed, place)
  }
  return needed > floor ? { needed, floor } : undefined
}
