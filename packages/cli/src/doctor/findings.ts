import type { Damage } from '@loci/disk'

/** Something that the doctor found, and what to do about it. */
export interface Finding extends Damage {
  /** A hint tells of something that is neither lost nor unreadable. */
  severity: 'damage' | 'hint'
  /** What helps, most often a command; empty where the message says it. */
  advice: string
  /** What it is part of: a transcript, the folder of a file history or of a memory. */
  place: string
  /** So many more of this kind in this place are not listed one by one. */
  more?: number
}

/** What the packages report of data that is whole: how a file is written or how long it is. */
const HINTS: ReadonlySet<string> = new Set(['no-front-matter', 'long-line', 'index-too-long'])

/** Of one kind in one place so many are listed: a transcript may have as many flaws as lines. */
const LISTED = 10

/**
 * The damage of one place as findings. Pure.
 *
 * @param about.adviceOn what helps with one of a kind
 * @param about.isHint for kinds that say nothing bad of data that somebody is working on
 */
export function toFindings(damage: readonly Damage[], about: About): Finding[] {
  const { place, adviceOn, isHint = () => false } = about
  const byKind = new Map<string, Finding[]>()
  for (const one of damage) {
    const { kind } = one
    const group = byKind.get(kind) ?? []
    byKind.set(kind, group)
    const last = group[LISTED - 1]
    if (last !== undefined) {
      last.more = (last.more ?? 0) + 1
      continue
    }
    const severity = HINTS.has(kind) || isHint(kind) ? 'hint' : 'damage'
    group.push({ ...one, place, severity, advice: adviceOn(kind) })
  }
  return [...byKind.values()].flat()
}

/** What is known of damage from where it was looked for. */
export interface About {
  place: string
  adviceOn: (kind: string) => string
  isHint?: (kind: string) => boolean
}

/** Each finding once: two checks may meet the same file, and fail at it in two ways. Pure. */
export function withoutRepeats(findings: readonly Finding[]): Finding[] {
  const seen = new Set<string>()
  return findings.filter(({ kind, path, offset, line, message }) => {
    const key = JSON.stringify([kind, path, offset, line, kind === 'unreadable' ? '' : message])
    return !seen.has(key) && seen.add(key)
  })
}
