import type { SessionStore } from '../store.ts'
import { correctnessTests } from './store-correctness.ts'
import { hostileKeyTests } from './store-hostile-keys.ts'
import { listTests } from './store-lists.ts'
import { resilienceTests } from './store-resilience.ts'
import { openRoom } from './store-room.ts'
import type { Room } from './store-room.ts'

/** What a store may be without, if it says so: an optional method, or batches that are kept whole or not at all. */
export type StoreAbility = 'listSessions' | 'listSessionSummaries' | 'delete' | 'listSubkeys' | 'wholeBatches'

/** A store with what the suite needs to look at it from more sides. */
export interface StoreUnderTest {
  store: SessionStore
  /** Another handle on the same data, as another process would have it. */
  reopen?: () => SessionStore | Promise<SessionStore>
  /** Makes the next append of `store` fail in the middle of its batch, as a crash or a full disk would. */
  cutNextAppend?: () => void
  /** Called at the end of the test, whatever its outcome. */
  close?: () => void | Promise<void>
}

export interface StoreSuiteOptions {
  /** How the runner takes a test: `test` of node:test, vitest or jest. */
  test: (name: string, run: () => Promise<void>) => unknown
  /** Called once for each test. The suite uses keys of its own, so that the data may be shared. */
  createStore: () => SessionStore | StoreUnderTest | Promise<SessionStore | StoreUnderTest>
  /**
   * What the store cannot do, with `false`. Then the method must be absent or say clearly that it does nothing;
   * without `wholeBatches`, a batch that was cut must have kept a beginning and be complete after a retry.
   */
  supports?: { readonly [ability in StoreAbility]?: boolean }
}

/** A test of the suite. */
export interface StoreTest {
  name: string
  /** Run only if the store can do this; its inability has a test of its own. */
  needs?: StoreAbility
  run: (room: Room) => Promise<void>
}

/**
 * Registers the tests that a store must pass to be mirrored to, in two parts. *Correctness*: what is kept is what was
 * given, in order, under its key, and apart from all others; lists and deletion. *Resilience*: duplicates, retries,
 * concurrent callers, deletion during appends, huge and strange entries, hostile keys, batches that fail.
 *
 * A test fails by throwing an AssertionError of node:assert. All of it needs no clock and no network of its own; it
 * writes some 20 MB.
 */
export function testSessionStore(options: StoreSuiteOptions): void {
  const { test, createStore, supports = {} } = options
  const parts = {
    correctness: [...correctnessTests, ...listTests(supports)],
    resilience: [...resilienceTests(supports), ...hostileKeyTests],
  }
  for (const [part, tests] of Object.entries(parts)) {
    for (const { name, needs, run } of tests) {
      if (needs !== undefined && supports[needs] === false) continue
      test(`${part}: ${name}`, async () => {
        const room = await openRoom(createStore)
        try {
          await run(room)
        } finally {
          await room.close()
        }
      })
    }
  }
}
