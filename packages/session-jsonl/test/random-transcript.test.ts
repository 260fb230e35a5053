import { verifySession } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonl, LONG_ENOUGH, often, project, reading } from './lines.ts'
import { healthyTranscript } from './random-transcript.ts'
import { readReference } from './reference-chain.ts'

test(
  'a healthy transcript reads as a second, plain reading of it does, at every entry',
  async () => {
    await fc.assert(
      fc.asyncProperty(healthyTranscript(), async ({ lines }) => {
        const reference = readReference(lines)
        await reading(jsonl(...lines), async (session) => {
          expect(session.tip).toBe(reference.tip)
          for (const tip of reference.main) {
            expect((await session.chain(tip)).map(({ uuid }) => uuid)).toEqual(reference.chain(tip))
          }
          expect(await session.damage()).toEqual([])
        })
      }),
      { numRuns: often(2_000, 50) },
    )
  },
  LONG_ENOUGH,
)

test(
  'verify has nothing to say about a healthy transcript',
  async () => {
    await fc.assert(
      fc.asyncProperty(healthyTranscript(), async ({ lines }) => {
        const made = await project(jsonl(...lines))
        expect(await verifySession(made.file)).toEqual([])
        await made.remove()
      }),
      { numRuns: often(1_000, 30) },
    )
  },
  LONG_ENOUGH,
)
