import { ALPHABETS, TOKEN_RULES } from './secret-rules.ts'
import type { Alphabet, TokenRule } from './secret-rules.ts'
import type { Runs } from './secret-runs.ts'
import { isFiller, LOOKED_AT } from './secret-values.ts'
import { isSeam } from './secret-views.ts'
import type { View } from './secret-views.ts'

/** Something found in a view. `shown` is public: it may be repeated. */
export interface Match {
  rule: string
  start: number
  end: number
  shown: string
}

/** Tokens that are known by their form. Linear: where a run of characters ends is found out once for all that ask. */
export function findTokens(view: View, runs: Runs): Match[] {
  return TOKEN_RULES.flatMap((rule) =>
    rule.prefixes.flatMap((prefix) => findByPrefix(view, { runs, rule, prefix })),
  )
}

function findByPrefix(
  view: View,
  { runs, rule, prefix }: { runs: Runs; rule: TokenRule; prefix: string },
): Match[] {
  const { text } = view
  const found: Match[] = []
  let from = 0
  for (;;) {
    const at = text.indexOf(prefix, from)
    if (at === -1) return found
    const token = tokenAt(view, at, { runs, rule, prefix })
    if (token !== undefined)
      found.push({ rule: rule.rule, ...token, shown: rule.lead === undefined ? prefix : '' })
    from = token?.end ?? at + 1
  }
}

function tokenAt(
  view: View,
  at: number,
  { runs, rule, prefix }: { runs: Runs; rule: TokenRule; prefix: string },
): { start: number; end: number } | undefined {
  const { text } = view
  const start = rule.lead === undefined ? at : at - countBack(text, at, rule.lead)
  if (rule.lead !== undefined && at - start < rule.lead.min) return undefined
  if (rule.apart === true && start > 0 && isAlnum(text.charCodeAt(start - 1)) && !isSeam(view, start)) {
    return undefined
  }
  let end = at + prefix.length
  for (const part of rule.rest) {
    if (typeof part === 'string') {
      if (!text.startsWith(part, end)) return undefined
      end += part.length
    } else {
      const length = Math.min(runs.end(part.of, end) - end, part.max ?? Infinity)
      if (length < part.min) return undefined
      end += length
    }
  }
  const from = rule.lead === undefined ? at + prefix.length : start
  const secret = text.slice(from, Math.min(end, from + LOOKED_AT))
  if (isFiller(secret) || !/[0-9A-Z]/.test(secret)) return undefined
  return rule.accept?.(text.slice(start, Math.min(end, start + LOOKED_AT))) === false
    ? undefined
    : { start, end }
}

function countBack(text: string, at: number, { of, max }: { of: Alphabet; max?: number }): number {
  let length = 0
  while (length < (max ?? 0) && ALPHABETS[of][text.charCodeAt(at - length - 1)] === 1) length += 1
  return length
}

function isAlnum(code: number): boolean {
  return ALPHABETS.alnum[code] === 1
}
