/** A seeded source of numbers in [0, 1): mulberry32. The same seed gives the same data on every machine. */
export function mulberry32(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** A number between two bounds whose logarithm is evenly spread. */
export function logUniform(random, low, high) {
  return low * (high / low) ** random()
}

/** A UUID (version 4 in form) from a seeded source. */
export function seededUuid(random) {
  const part = () => ((random() * 4294967296) >>> 0).toString(16).padStart(8, '0')
  const hex = part() + part() + part() + part()
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}
