/** Deeper than anything that is written nests; what walks a value by recursion has room for it. */
const MAX_DEPTH = 500

/** Whether a JSON value nests at most {@link MAX_DEPTH} levels, however deep it nests. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth > MAX_DEPTH) return false
  for (const item of Array.isArray(value) ? value : Object.values(value))
    if (!isShallow(item, depth + 1)) return false
  return true
}

/** A copy of a JSON value in which what lies deeper than {@link MAX_DEPTH} is `null`. */
export function shallowCopy(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) return null
  if (Array.isArray(value)) return value.map((item: unknown) => shallowCopy(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shallowCopy(item, depth + 1)]))
}

/** Whether two JSON values are the same, whatever the order of their keys. No recursion. */
export function isSameJson(one: unknown, other: unknown): boolean {
  const pairs: [unknown, unknown][] = [[one, other]]
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [a, b] = pair
    if (Object.is(a, b)) continue
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
    if (Array.isArray(a) !== Array.isArray(b)) return false
    const members = new Map<string, unknown>(Object.entries(b))
    const entries = Object.entries(a)
    if (entries.length !== members.size) return false
    for (const [key, value] of entries) {
      if (!members.has(key)) return false
      pairs.push([value, members.get(key)])
    }
  }
  return true
}
