import * as fc from 'fast-check'
import type { Line } from './lines.ts'
import { dressings, plant } from './planted-damage.ts'
import { plantings } from './plantings.ts'
import type { RandomTranscript } from './random-transcript.ts'

/** The bytes of a transcript of which nothing is promised. */
export interface DamagedTranscript {
  readonly bytes: Uint8Array
  /** For the message of a failure. */
  [fc.toStringMethod]: () => string
}

/** What is done to the lines before they are written. */
type LineDamage =
  | { do: 'lose' | 'drop uuid' | 'drop type' | 'other session'; at: number }
  | { do: 'move' | 'copy' | 'copy as root' | 'copy changed' | 'follow'; at: number; to: number }
/** What is done to the bytes. */
type ByteDamage = { do: 'flip' | 'zero' | 'cut' | 'tear off' | 'join'; at: number; size: number }

const place = fc.nat({ max: 400 })
const lineDamage: fc.Arbitrary<LineDamage> = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      'lose' as const,
      'drop uuid' as const,
      'drop type' as const,
      'other session' as const,
    ),
    at: place,
  }),
  fc.record({
    do: fc.constantFrom(
      'move' as const,
      'copy' as const,
      'copy as root' as const,
      'copy changed' as const,
      'follow' as const,
    ),
    at: place,
    to: place,
  }),
)
const byteDamage: fc.Arbitrary<ByteDamage> = fc.record({
  do: fc.constantFrom('flip' as const, 'zero' as const, 'cut' as const, 'tear off' as const, 'join' as const),
  at: fc.nat(),
  size: fc.integer({ min: 1, max: 600 }),
})

/**
 * A transcript with anything wrong with it: damage that is planted between its lines, lines that are lost, moved (so
 * that parents come later), repeated (the same, changed, as a root), given another parent (rings, lines of subagents),
 * bits that are flipped, ranges that are zeros or gone, newlines that are missing, the end torn off. What comes out is
 * unknown; two ways of reading must still say the same of it.
 */
export function damaged(
  transcript: fc.Arbitrary<RandomTranscript>,
  most: number = 4,
): fc.Arbitrary<DamagedTranscript> {
  const wish = fc.record({
    name: fc.constantFrom(...Object.keys(plantings)),
    place: fc.nat({ max: 300 }),
    pick: fc.nat({ max: 2_000 }),
  })
  return fc
    .record({
      healthy: transcript,
      lineDamages: fc.array(lineDamage, { maxLength: most }),
      wished: fc.array(wish, { maxLength: most }),
      byteDamages: fc.array(byteDamage, { maxLength: Math.ceil(most / 2) }),
      dressing: dressings,
    })
    .map(({ healthy, lineDamages, wished, byteDamages, dressing }) => {
      const lines = [...healthy.lines]
      for (const damage of lineDamages) damageLines(lines, damage)
      const { bytes: whole } = plant({ ...healthy, lines }, wished, dressing)
      let bytes: Uint8Array = whole
      for (const damage of byteDamages) bytes = damageBytes(bytes, damage)
      return { bytes, [fc.toStringMethod]: () => JSON.stringify(Buffer.from(bytes).toString()) }
    })
}

function damageLines(lines: Line[], damage: LineDamage): void {
  if (lines.length === 0) return
  const at = damage.at % lines.length
  const line = lines[at] ?? {}
  const to = 'to' in damage ? damage.to % lines.length : 0
  const { uuid, ...nameless } = line
  const { type, ...typeless } = line
  switch (damage.do) {
    case 'lose':
      lines.splice(at, 1)
      break
    case 'drop uuid':
      if (uuid !== undefined) lines[at] = nameless
      break
    case 'drop type':
      if (type !== undefined) lines[at] = typeless
      break
    case 'other session':
      lines[at] = { ...line, sessionId: 'another' }
      break
    case 'move':
      lines.splice(to, 0, ...lines.splice(at, 1))
      break
    case 'copy':
      lines.splice(to, 0, line)
      break
    case 'copy as root':
      lines.splice(to, 0, { ...line, parentUuid: null })
      break
    case 'copy changed':
      lines.splice(to, 0, { ...line, message: { role: 'user', content: 'changed' } })
      break
    case 'follow':
      lines[at] = { ...line, parentUuid: lines[to]?.['uuid'] }
      break
  }
}

function damageBytes(bytes: Uint8Array, damage: ByteDamage): Uint8Array {
  if (bytes.length === 0) return bytes
  const at = damage.at % bytes.length
  const end = Math.min(bytes.length, at + damage.size)
  const without = (from: number, to: number): Uint8Array =>
    Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
  if (damage.do === 'cut') return without(at, end)
  if (damage.do === 'tear off') return without(at, bytes.length)
  if (damage.do === 'join') {
    const newline = bytes.indexOf(0x0a, at)
    return newline === -1 ? bytes : without(newline, newline + 1)
  }
  const copy = Uint8Array.from(bytes)
  if (damage.do === 'zero') return copy.fill(0, at, end)
  copy[at] = (copy[at] ?? 0) ^ (1 << (damage.size % 8))
  return copy
}
