/** `text` with each half of a surrogate pair that stands alone replaced by U+FFFD. */
export function wellFormed(text: string): string {
  // With the `u` flag a pair is one character, so that the class matches lone halves only.
  return text.replace(/[\uD800-\uDFFF]/gu, '\uFFFD')
}

/** A copy of a JSON value in which every string, keys too, is well-formed UTF-16. Shares nothing with `value`. */
export function wellFormedCopy(value: unknown): unknown {
  if (typeof value === 'string') return wellFormed(value)
  if (Array.isArray(value)) return value.map((item: unknown) => wellFormedCopy(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [wellFormed(key), wellFormedCopy(item)]),
  )
}

/** The first `units` UTF-16 units of `text`, fewer by one where a pair would be cut in half. */
export function cutUnits(text: string, units: number): string {
  if (text.length <= units) return text
  const last = text.charCodeAt(units - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? units - 1 : units)
}
