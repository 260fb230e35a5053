import { readFile } from 'node:fs/promises'
import { verifySession } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { plant, planted } from './planted-damage.ts'
import type { Planted, PlantedTranscript } from './planted-damage.ts'
import { LONG_ENOUGH, often, project } from './lines.ts'
import { plantings } from './plantings.ts'
import { healthyTranscript } from './random-transcript.ts'

const inOrder = (damage: readonly Planted[]): string[] =>
  damage.map(({ kind, line, offset }) => `${String(offset).padStart(9)} line ${line} ${kind}`).toSorted()

async function expectReported({ bytes, planted: damage }: PlantedTranscript): Promise<void> {
  const made = await project(bytes)
  try {
    const found = await verifySession(made.file)
    const reported = found.map(({ kind, line = 0, offset = 0 }) => ({ kind, line, offset }))
    expect(inOrder(reported)).toEqual(inOrder(damage))
    expect(found.map(({ offset }) => offset)).toEqual(
      reported.map(({ offset }) => offset).toSorted((a, b) => a - b),
    )
    expect(found.every(({ path, message }) => path === made.file && message.length > 10)).toBe(true)
    expect(Buffer.compare(await readFile(made.file), bytes)).toBe(0)
  } finally {
    await made.remove()
  }
}

test.each(Object.keys(plantings))(
  'verify reports this, where it is, and nothing else: %s',
  async (name) => {
    const wish = fc.record({
      name: fc.constant(name),
      place: fc.nat({ max: 300 }),
      pick: fc.nat({ max: 2_000 }),
    })
    const plain = { bom: false, newline: '\n', gaps: false, json: 'plain' } as const
    await fc.assert(
      fc.asyncProperty(healthyTranscript({ maxSteps: 6 }), wish, async (healthy, wished) => {
        await expectReported(plant(healthy, [wished], plain))
      }),
      { numRuns: often(200, 8) },
    )
  },
  LONG_ENOUGH,
)

test(
  'verify reports each of several damages, where it is, and nothing else',
  async () => {
    const runs = { numRuns: often(3_000, 60) }
    await fc.assert(fc.asyncProperty(planted(healthyTranscript()), expectReported), runs)
  },
  LONG_ENOUGH,
)
