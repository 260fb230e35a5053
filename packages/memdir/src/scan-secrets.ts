import { findAssignments } from './secret-assignments.ts'
import { findBasicAuth, findConnectionPasswords, findPrivateKeys, findUrlPasswords } from './secret-places.ts'
import { findTokens } from './secret-tokens.ts'
import type { Match } from './secret-tokens.ts'
import { decodeView, placeOf, unescapeView, unwrapView } from './secret-views.ts'
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
  const decoded = decodeView(unwrapped)
  const certain = placed(plain, findAll(plain))
  if (unescaped !== plain) certain.push(...placed(unescaped, findAll(unescaped)))
  const further: SecretFinding[] = []
  if (unwrapped !== unescaped) further.push(...placed(unwrapped, findTokens(unwrapped)))
  if (decoded !== undefined) further.push(...placed(decoded, findAll(decoded)))
  const found = joinOverlapping(certain)
  return joinOverlapping([...found, ...apartFrom(found, joinOverlapping(further))])
}

function findAll(view: View): Match[] {
  const { text } = view
  return [
    ...findPrivateKeys(text),
    ...findTokens(view),
    ...findUrlPasswords(text),
    ...findConnectionPasswords(text),
    ...findBasicAuth(text),
    ...findAssignments(text),
  ]
}

function placed(view: View, matches: Match[]): SecretFinding[] {
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
