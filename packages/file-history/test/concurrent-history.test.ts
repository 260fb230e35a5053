import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stateAt } from './concurrent-model.ts'
import type { Model } from './concurrent-model.ts'
import { action, FILES, SEED, sideBySide } from './concurrent-run.ts'
import type { Event, Observed } from './concurrent-run.ts'

/**
 * Beginnings of orders that are tried at most. One that fits is mostly found among the first few dozen; 1 in 300 runs of
 * twenty calls needs more than 20,000.
 */
const MAX_STEPS = 300_000

/** Whether the model gives `isSeen` after some order of the events. */
function hasOrder(events: readonly Event[], start: Model, isSeen: (model: Model) => boolean): boolean {
  const before = events.map((event) => {
    const earlier = events.flatMap((other, index) =>
      other.end < event.start && !(other.isWrite && event.isWrite) ? [index] : [],
    )
    return new Set([...event.before, ...earlier])
  })
  const tried = new Set<string>()
  const walk = (model: Model, done: ReadonlySet<number>): boolean => {
    if (done.size === events.length) return isSeen(model)
    const key = JSON.stringify([[...done].toSorted((a, b) => a - b), model])
    if (tried.has(key) || tried.size > MAX_STEPS) return false
    tried.add(key)
    return events.some((event, index) => {
      if (done.has(index) || [...(before[index] ?? [])].some((needed) => !done.has(needed))) return false
      const next = structuredClone(model)
      return event.apply(next) && walk(next, new Set([...done, index]))
    })
  }
  return walk(start, new Set())
}

function predict(model: Model): Observed {
  const snapshots = model.snapshots.map(({ id }, index): Observed[1][number] => [
    id,
    Object.fromEntries(
      FILES.map((name) => [name, stateAt(model, index, name)]).filter(([, state]) => state !== undefined),
    ),
  ])
  return [Object.fromEntries(FILES.map((name) => [name, model.disk[name] ?? null])), snapshots]
}

const rejections: unknown[] = []
const onRejection = (error: unknown): void => void rejections.push(error)
beforeAll(() => process.on('unhandledRejection', onRejection))
afterAll(() => {
  process.off('unhandledRejection', onRejection)
  expect(rejections).toEqual([])
})

const RUNS = process.env['LOCI_LONG'] === '1' ? 1_000 : 200

test('calls of many callers, in any interleaving, end as some order of them would have', async () => {
  const programs = fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 })
  const property = sideBySide(programs, (run, start, seen) => {
    const wanted = JSON.stringify(seen)
    if (hasOrder(run.events, start, (end) => JSON.stringify(predict(end)) === wanted)) return
    expect.fail(`no order of ${JSON.stringify(run.events, null, 1)} gives ${wanted}`)
  })
  await fc.assert(property, { numRuns: RUNS, seed: SEED })
}, 7_200_000)
