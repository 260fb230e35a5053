import { createMemoryExtractor } from '@loci/memdir'
import type { ForkedAgent, TurnSummary } from '@loci/memdir'
import { afterEach, expect, test, vi } from 'vitest'

const TURN: TurnSummary = { newMessages: 4, endedWithoutToolCalls: true, wroteMemory: false }

type Request = Parameters<ForkedAgent['run']>[0]

/** A fork whose runs end when the test says so. */
function heldFork(): { fork: ForkedAgent; runs: Request[]; end: (error?: Error) => Promise<void> } {
  const runs: Request[] = []
  const ends: ((error?: Error) => void)[] = []
  const fork: ForkedAgent = {
    run: (request) =>
      new Promise((resolve, reject) => {
        runs.push(request)
        ends.push((error) => (error ? reject(error) : resolve({ saved: [], usage: null })))
      }),
  }
  return {
    fork,
    runs,
    async end(error) {
      ends.shift()?.(error)
      await settle()
    },
  }
}

/** Lets what is due happen; nothing here waits for anything else. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
}

afterEach(() => {
  vi.useRealTimers()
})

test.for([
  ['three new messages', { newMessages: 3 }],
  ['a turn that was cut off', { endedWithoutToolCalls: false }],
  ['a turn in which the main agent saved by itself', { wroteMemory: true }],
] as const)('%s start nothing', async ([, change]) => {
  const { fork, runs } = heldFork()
  const extractor = createMemoryExtractor({ fork })
  expect(extractor.onTurnEnd({ ...TURN, ...change })).toBe('skipped')
  await settle()
  expect(runs).toEqual([])
  await extractor.idle()
})

test('four new messages start a run, that may call the memory tools only', async () => {
  const { fork, runs, end } = heldFork()
  const extractor = createMemoryExtractor({ fork })
  expect(extractor.onTurnEnd(TURN)).toBe('started')
  await settle()
  expect(runs).toHaveLength(1)
  expect(runs[0]?.allowedTools).toEqual(['SaveMemory', 'SearchMemory'])
  expect(runs[0]?.instruction).toContain('not from the user')
  await end()
  await extractor.idle()
})

test('minNewMessages says how many are needed, and is at least 1', () => {
  const { fork } = heldFork()
  expect(createMemoryExtractor({ fork, minNewMessages: 6 }).onTurnEnd({ ...TURN, newMessages: 5 })).toBe(
    'skipped',
  )
  expect(createMemoryExtractor({ fork, minNewMessages: 1 }).onTurnEnd({ ...TURN, newMessages: 1 })).toBe(
    'started',
  )
  for (const minNewMessages of [0, -1, 1.5, Number.NaN])
    expect(() => createMemoryExtractor({ fork, minNewMessages })).toThrow(RangeError)
})

test('one runs at a time; a newer turn takes the place of one that waits', async () => {
  const { fork, runs, end } = heldFork()
  const extractor = createMemoryExtractor({ fork })
  expect(extractor.onTurnEnd(TURN)).toBe('started')
  expect(extractor.onTurnEnd(TURN)).toBe('queued')
  expect(extractor.onTurnEnd(TURN)).toBe('queued')
  await settle()
  expect(runs).toHaveLength(1)
  await end()
  expect(runs).toHaveLength(2)
  await end()
  expect(runs).toHaveLength(2)
  expect(extractor.onTurnEnd(TURN)).toBe('started')
})

test('a run that fails is told, and the one that waits has its turn', async () => {
  const errors: unknown[] = []
  const { fork, runs, end } = heldFork()
  const extractor = createMemoryExtractor({ fork, onError: (error) => void errors.push(error) })
  extractor.onTurnEnd(TURN)
  extractor.onTurnEnd(TURN)
  await settle()
  const failure = new Error('no model')
  await end(failure)
  expect(errors).toEqual([failure])
  expect(runs).toHaveLength(2)
  await end()
  await extractor.idle()
})

test('a fork that throws at once does not fail the turn', async () => {
  const extractor = createMemoryExtractor({
    fork: {
      run: () => {
        throw new Error('at once')
      },
    },
  })
  expect(extractor.onTurnEnd(TURN)).toBe('started')
  await extractor.idle()
})

test('idle waits for what runs and for what waits', async () => {
  const { fork, end } = heldFork()
  const extractor = createMemoryExtractor({ fork })
  extractor.onTurnEnd(TURN)
  extractor.onTurnEnd(TURN)
  let isIdle = false
  const idle = extractor.idle().then(() => (isIdle = true))
  await settle()
  await end()
  expect(isIdle).toBe(false)
  await end()
  await idle
})

test('idle ends after its limit: what runs is aborted, what waits is dropped', async () => {
  vi.useFakeTimers()
  const errors: unknown[] = []
  const { fork, runs, end } = heldFork()
  const extractor = createMemoryExtractor({ fork, onError: (error) => void errors.push(error) })
  extractor.onTurnEnd(TURN)
  extractor.onTurnEnd(TURN)
  await settle()
  const idle = extractor.idle(1000)
  await vi.advanceTimersByTimeAsync(999)
  expect(runs[0]?.signal?.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  await idle
  expect(runs[0]?.signal?.aborted).toBe(true)
  await end(new Error('aborted'))
  expect(runs).toHaveLength(1)
  // Whoever ended it knows.
  expect(errors).toEqual([])
})

test('an idle that had nothing to wait for leaves no timer behind', async () => {
  vi.useFakeTimers()
  await createMemoryExtractor({ fork: heldFork().fork }).idle(60_000)
  expect(vi.getTimerCount()).toBe(0)
})
