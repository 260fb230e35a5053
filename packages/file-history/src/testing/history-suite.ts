import type { FileHistory } from '../file-history.ts'
import { commandTests } from './command-tests.ts'
import { conflictTests } from './conflict-tests.ts'
import { openRoom } from './history-room.ts'
import type { Room } from './history-room.ts'
import { inabilityTests } from './inability-tests.ts'
import { lifetimeTests } from './lifetime-tests.ts'
import { readingTests } from './reading-tests.ts'
import { rewindTests } from './rewind-tests.ts'
import { sideBySideTests } from './side-by-side-tests.ts'
import { skipTests } from './skip-tests.ts'
import { undoTests } from './undo-tests.ts'

/**
 * What a history may be without, if it says so: permission bits, `undoRewind`, `trackCommand`, room for
 * `maxSnapshots` only, being there when it is opened again, and a rewind that is reported when it was cut short.
 */
export type HistoryAbility = 'modes' | 'undo' | 'commands' | 'eviction' | 'reopening' | 'interruption'

/** Where a history is to be opened. Absolute, real paths of folders of the test's own. */
export interface HistoryPlace {
  /** The project. Exists. */
  root: string
  /** For what the history keeps; beside the project. Does not exist yet when it is opened first. */
  dir: string
  /** How many snapshots to keep; as many as it likes where absent. */
  maxSnapshots?: number
}

/** A history with what the suite needs to look at it from more sides. */
export interface HistoryUnderTest {
  history: FileHistory
  /**
   * Makes the next rewind die as its process would in a crash: some of its files are written, not all. What the call
   * then does is not looked at; the history is opened again.
   */
  cutNextRewind?: () => void
}

export interface HistorySuiteOptions {
  /** How the runner takes a test: `test` of node:test, vitest or jest. */
  test: (name: string, run: () => Promise<void>) => unknown
  /** Opens a history. Called with the same place again after `close`, it opens the same history. */
  createHistory: (
    place: HistoryPlace,
  ) => FileHistory | HistoryUnderTest | Promise<FileHistory | HistoryUnderTest>
  /**
   * What the history cannot do, with `false`. Then the method must refuse and change nothing; without `eviction` all
   * snapshots stay, without `reopening` it begins anew, without `interruption` a rewind that was cut short must be
   * complete when it is done again.
   */
  supports?: { readonly [ability in HistoryAbility]?: boolean }
}

/** A test of the suite. */
export interface HistoryTest {
  name: string
  /** Run only if the history can do all of this; its inability has a test of its own. */
  needs?: readonly HistoryAbility[]
  /** What the history is opened with. */
  maxSnapshots?: number
  run: (room: Room) => Promise<void>
}

/**
 * Registers the tests that an implementation of `FileHistory` must pass: what a rewind brings back, conflicts, what is
 * skipped and named, undo, diffs and plans, commands, calls side by side, eviction, opening again, interruption.
 *
 * Each test works in a temporary directory of its own and removes it. A test fails by throwing an AssertionError of
 * node:assert. No clock is looked at and nothing is waited for but the history.
 */
export function testFileHistory(options: HistorySuiteOptions): void {
  const { test, createHistory, supports = {} } = options
  const parts: Record<string, readonly HistoryTest[]> = {
    rewind: rewindTests,
    conflicts: conflictTests,
    skips: skipTests,
    undo: undoTests,
    reading: readingTests,
    commands: commandTests,
    'side by side': sideBySideTests,
    lifetime: lifetimeTests,
    inability: inabilityTests.filter(({ lacks }) => supports[lacks] === false),
  }
  for (const [part, tests] of Object.entries(parts)) {
    for (const { name, needs = [], maxSnapshots, run } of tests) {
      if (needs.some((ability) => supports[ability] === false)) continue
      test(`${part}: ${name}`, async () => {
        const room = await openRoom(createHistory, maxSnapshots)
        try {
          await run(room)
        } finally {
          await room.close()
        }
      })
    }
  }
}
