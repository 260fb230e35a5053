import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { command, edit, SEED, sideBySide, take } from './concurrent-run.ts'
import type { Action } from './concurrent-run.ts'

const RUNS = process.env['LOCI_LONG'] === '1' ? 1_000 : 100

test('beside a command a snapshot knows of a file what it held at its call, or nothing', async () => {
  const others = fc.array(fc.array(fc.oneof(edit, take), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  })
  const programs = fc
    .tuple(fc.array(command, { minLength: 1, maxLength: 2 }), others)
    .map(([commands, rest]): Action[][] => [commands, ...rest])
  const property = sideBySide(programs, (run, start, [, snapshots]) => {
    for (const [id, states] of snapshots) {
      const span = run.spans.get(id) ?? { start: 0, end: 0 }
      for (const [name, state] of Object.entries(states)) {
        // A write that was allowed after the call of a snapshot is not in it; when that of an edit was made nobody sees.
        const allowedBefore = id.startsWith('m') ? span.start : Infinity
        const possible = id === 'm' ? [start.disk[name] ?? null] : run.statesIn(name, span, allowedBefore)
        expect(possible, `${name} at ${id} of ${JSON.stringify(snapshots)}`).toContain(state)
      }
    }
  })
  await fc.assert(property, { numRuns: RUNS, seed: SEED })
}, 7_200_000)
