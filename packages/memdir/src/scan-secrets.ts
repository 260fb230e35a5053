import { findAssignments } from './secret-assignments.ts'
import { findBasicAuth, findConnectionPasswords, findPrivateKeys, findUrlPasswords } from './secret-places.ts'
import { Runs } from './secret-runs.ts'
import { findTokens } from './secret-tokens.ts'
import type { Match } from './secret-tokens.ts'
import { BASE64_PHASES, decodeView, placeOf, unescapeView, unwrapView } from './secret-views.ts'
import type { View } from './secret-views.ts'

/** A secret found in a text. `start` and `end` are UTF-16 positions; `redacted` never holds the value. */
export interface SecretFinding {
  rule: string
  start: number
  end: number
  redacted: string
}

/**
 * The secrets in a text: tokens by their providers' forms, private keys, passwords in URLs and connection strings,
 * values drawn by chance that are given to names like `password`. Found also where a `\`, CRLF or line break cuts
 * them, behind escapes of JSON and URLs, and in runs of Base64 from 40 characters on, decoded once. Pure, and linear in
 * the length of the text. Sorted by place; none overlaps another.
 */
export function scanForSecrets(text: string): SecretFinding[] {
  const plain: View = { text }
  const unescaped = unescapeView(plain)
  const unwrapped = unwrapView(unescaped)
  const certain = [plain, ...(unescaped === plain ? [] : [unescaped])].flatMap(findAll)
  const joinedLines =
    unwrapped === unescaped ? [] : place(unwrapped, findTokens(unwrapped, new Runs(unwrapped.text)))
  const decoded = BASE64_PHASES.flatMap((phase) => {
    const view = decodeView(unwrapped, phase)
    return view === undefined ? [] : findAll(view)
  })
  const found = joinOverlapping(certain)
  return joinOverlapping([...found, ...apartFrom(found, joinOverlapping([...joinedLines, ...decoded]))])
}

function findAll(view: View): SecretFinding[] {
  const { text } = view
  const runs = new Runs(text)
  return place(view, [
    ...findPrivateKeys(text),
    ...findTokens(view, runs),
    ...findUrlPasswords(text),
    ...findConnectionPasswords(text, runs),
    ...findBasicAuth(text, runs),
    ...findAssignments(text, runs),
  ])
}

function place(view: View, matches: Match[]): SecretFinding[] {
  return matches.map(({ rule, start, end, shown }) => ({
    rule,
    ...placeOf(view, start, end),
    redacted: `${shown}…`,
  }))
}

/** One finding in the place of those that overlap, named by the one that was looked for first. Sorted. */
function joinOverlapping(findings: SecretFinding[]): SecretFinding[] {
  const ranked = findings.map((finding, rank) => ({ finding, rank }))
  const joined: { finding: SecretFinding; rank: number }[] = []
  for (const next of ranked.toSorted((a, b) => a.finding.start - b.finding.start || a.rank - b.rank)) {
    const last = joined.at(-1)
    if (last === undefined || next.finding.start >= last.finding.end) {
      joined.push(next)
      continue
    }
    const named = next.rank < last.rank ? next : last
    const end = Math.max(last.finding.end, next.finding.end)
    joined[joined.length - 1] = {
      finding: { ...named.finding, start: last.finding.start, end },
      rank: named.rank,
    }
  }
  return joined.map(({ finding }) => finding)
}

/** Those of `further` that overlap none of `found`; both are sorted. */
function apartFrom(found: SecretFinding[], further: SecretFinding[]): SecretFinding[] {
  let index = 0
  return further.filter(({ start, end }) => {
    while ((found[index]?.end ?? Infinity) <= start) index += 1
    return (found[index]?.start ?? Infinity) >= end
  })
}
