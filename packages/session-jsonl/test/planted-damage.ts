import * as fc from 'fast-check'
import type { Line } from './lines.ts'
import { isNode, plantings } from './plantings.ts'
import type { Piece } from './plantings.ts'
import type { RandomTranscript } from './random-transcript.ts'

/** Damage that was put into a transcript: where a report of it must point. */
export interface Planted {
  kind: string
  /** From 1. */
  line: number
  offset: number
}

/** The bytes of a transcript, and everything that is wrong with them, in file order. */
export interface PlantedTranscript {
  readonly bytes: Uint8Array
  readonly planted: readonly Planted[]
  /** For the message of a failure. */
  [fc.toStringMethod]: () => string
}

/** How the lines of a file are written down; none of it is damage. */
export const dressings = fc.record({
  bom: fc.boolean(),
  newline: fc.constantFrom('\n', '\n', '\r\n', ' \t\n'),
  /** Whether an empty line stands after each. */
  gaps: fc.constantFrom(false, false, true),
  json: fc.constantFrom('plain', 'plain', 'spaced', 'escaped keys', 'key twice'),
})
export type Dressing = typeof dressings extends fc.Arbitrary<infer T> ? T : never

/** A healthy transcript as a file in which the damage of these names, of {@link plantings}, is planted and nothing else. */
export function plant(
  { lines }: RandomTranscript,
  wished: readonly { name: string; place: number; pick: number }[],
  dressing: Dressing,
): PlantedTranscript {
  const open: Piece[] = []
  const slots = Array.from({ length: lines.length + 1 }, (): Piece[] => [])
  const taken = new Set<string | Uint8Array>()
  for (const [number, { name, place, pick }] of wished.entries()) {
    const slot = place % slots.length
    const before = lines.slice(0, slot).filter((line) => !taken.has(uuidOf(line)))
    const pieces = plantings[name]?.({ id: `planted-${number}`, before, pick }) ?? []
    for (const piece of pieces) {
      if (piece.open === true) open.splice(0, 1, piece)
      else slots[slot]?.push(piece)
      if (name.startsWith('entry ')) taken.add(uuidOf(parsed(piece.text)))
    }
  }
  const out = new Writer(dressing)
  for (const [index, pieces] of slots.entries()) {
    for (const piece of pieces) out.write(piece)
    const line = lines[index]
    if (line) out.write({ text: formatLine(line, dressing), damage: [] })
  }
  for (const piece of open) out.write(piece)
  const bytes = Buffer.concat(out.parts)
  return { bytes, planted: out.planted, [fc.toStringMethod]: () => JSON.stringify(bytes.toString()) }
}

class Writer {
  readonly parts: Uint8Array[] = []
  readonly planted: Planted[] = []
  readonly #dressing: Dressing
  #line = 1
  #offset = 0

  constructor(dressing: Dressing) {
    this.#dressing = dressing
    if (dressing.bom) this.#add(Buffer.from('\uFEFF'))
  }

  write({ text, damage, open }: Piece): void {
    for (const { kind, at } of damage)
      this.planted.push({ kind, line: this.#line, offset: this.#offset + at })
    this.#add(typeof text === 'string' ? Buffer.from(text) : text)
    if (open === true) return
    const { newline, gaps } = this.#dressing
    this.#add(Buffer.from(gaps ? newline + newline : newline))
    this.#line += gaps ? 2 : 1
  }

  #add(bytes: Uint8Array): void {
    this.parts.push(bytes)
    this.#offset += bytes.length
  }
}

/** A line as programs of other taste write it. */
function formatLine(line: Line, { json }: Dressing): string {
  if (json === 'spaced') return JSON.stringify(line, undefined, 1).replaceAll(/\n */g, ' ')
  const plain = JSON.stringify(line)
  if (json === 'escaped keys')
    return plain
      .replaceAll('"uuid":', String.raw`"\u0075uid":`)
      .replaceAll('"parentUuid":', String.raw`"parent\u0055uid":`)
  // The last of two counts.
  if (json === 'key twice')
    return plain.replace('{', isNode(line) ? `{"type":"no","uuid":"no","parentUuid":"no",` : `{"type":"no",`)
  return plain
}

function uuidOf(line: Line): string {
  const { uuid } = line
  return typeof uuid === 'string' ? uuid : ''
}

function parsed(text: string | Uint8Array): Line {
  try {
    return JSON.parse(Buffer.from(text).toString()) as Line
  } catch {
    return {}
  }
}

/** A transcript with up to `most` damages planted, and nothing else wrong. */
export function planted(
  transcript: fc.Arbitrary<RandomTranscript>,
  most: number = 6,
): fc.Arbitrary<PlantedTranscript> {
  const wish = fc.record({
    name: fc.constantFrom(...Object.keys(plantings)),
    place: fc.nat({ max: 300 }),
    pick: fc.nat({ max: 2_000 }),
  })
  return fc
    .tuple(transcript, fc.array(wish, { maxLength: most }), dressings)
    .map(([healthy, wished, dressing]) => plant(healthy, wished, dressing))
}
