const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The longest prefix of `text` of at most `maxUnits` UTF-16 units that splits no grapheme (what a reader sees
 * as one character). Where the first grapheme alone is longer, it splits that, but never a surrogate pair.
 */
export function cutText(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text
  if (maxUnits <= 0) return ''
  // Whether a boundary lies before unit N depends on the text up to N alone: the rest need not be looked at,
  // which matters for a line of many megabytes. Two units, because N may begin a surrogate pair.
  const cluster = graphemes.segment(text.slice(0, maxUnits + 2)).containing(maxUnits)
  const start = cluster?.index ?? 0
  if (start > 0) return text.slice(0, start)
  const splitsPair = isHighSurrogate(text, maxUnits - 1) && isLowSurrogate(text, maxUnits)
  return text.slice(0, splitsPair ? maxUnits - 1 : maxUnits)
}

/** {@link cutText} with `…`, counted in `maxUnits`, where something was cut. */
export function ellipsize(text: string, maxUnits: number): string {
  if (text.length <= maxUnits) return text
  return maxUnits < 1 ? '' : `${cutText(text, maxUnits - 1).trimEnd()}…`
}

/** The longest prefix of `text` of at most `maxBytes` UTF-8 bytes, cut as {@link cutText} cuts. */
export function cutTextToBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at least one byte, so no more units than that can fit.
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes + 1), new Uint8Array(maxBytes))
  return cutText(text, read)
}

/** How many of these UTF-8 bytes there are without a character at the end that goes on behind them. */
export function completeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte < 0xc0) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit <= 0xdfff
}
