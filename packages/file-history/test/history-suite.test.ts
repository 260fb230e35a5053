import { setFaultHook } from '@loci/disk/testing'
import { emptyFileHistoryState, openFileHistory } from '@loci/file-history'
import type { FileHistoryState, HistoryCell, LedgerRecord, SnapshotLedger } from '@loci/file-history'
import { testFileHistory } from '@loci/file-history/testing'
import type { HistoryPlace, HistorySuiteOptions, HistoryUnderTest } from '@loci/file-history/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { BROKEN, forwarding, LAME } from './broken-histories.ts'

afterEach(() => setFaultHook(undefined))

/** A ledger as a transcript is one: lines of others among the records, kept as text, by the folder of the history. */
function transcripts(): (dir: string) => SnapshotLedger {
  const kept = new Map<string, string[]>()
  return (dir) => {
    const lines = kept.get(dir) ?? []
    kept.set(dir, lines)
    return {
      load: async () => lines.map((line) => JSON.parse(line) as LedgerRecord),
      append: async (record) => {
        await Promise.resolve()
        lines.push(JSON.stringify({ type: 'user', uuid: `u${lines.length}` }), JSON.stringify(record))
      },
    }
  }
}

/** A store of the shape that `@loci/app-state` makes. */
function store(): HistoryCell {
  let state: FileHistoryState = emptyFileHistoryState()
  const listeners = new Set<() => void>()
  return {
    getState: () => state,
    setState(updater) {
      const next = updater(state)
      if (Object.is(next, state)) return
      state = next
      for (const listener of listeners) listener()
    },
  }
}

/** From the second file of the next rewind on, nothing works, as if the process had died. */
function cutNextRewind(root: string): void {
  let written = 0
  setFaultHook((operation, path) => {
    if (operation === 'rename' && path.startsWith(`${root}/`)) written += 1
    return written > 1 ? Object.assign(new Error('died'), { code: 'EIO' }) : undefined
  })
}

async function builtIn(
  place: HistoryPlace,
  options: { ledger?: SnapshotLedger; state?: HistoryCell } = {},
): Promise<HistoryUnderTest> {
  setFaultHook(undefined)
  const history = await openFileHistory({ ...place, ...options })
  return { history, cutNextRewind: () => cutNextRewind(place.root) }
}

const ledgers = { 'the ledger in its folder': () => undefined, 'a transcript as ledger': transcripts }
const cells = { 'a cell of its own': () => undefined, 'a store as cell': store }

for (const [ledgerName, makeLedgers] of Object.entries(ledgers)) {
  for (const [cellName, makeCell] of Object.entries(cells)) {
    describe(`with ${ledgerName} and ${cellName}`, () => {
      const ledgerOf = makeLedgers()
      testFileHistory({
        test,
        createHistory(place) {
          const ledger = ledgerOf?.(place.dir)
          const state = makeCell()
          return builtIn(place, { ...(ledger ? { ledger } : {}), ...(state ? { state } : {}) })
        },
      })
    })
  }
}

/** The tests of the suite, by name, for a history as `change` makes it of the built-in one. */
function suiteOf(options: Omit<HistorySuiteOptions, 'test'>): Map<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>()
  testFileHistory({ ...options, test: (name, run) => tests.set(name, run) })
  return tests
}

describe('what the suite finds', () => {
  test.each(BROKEN)('a history that %s fails', async (_, found, change) => {
    const tests = suiteOf({
      async createHistory(place) {
        const made = await builtIn(place)
        return { ...made, history: await change(made.history, place) }
      },
    })
    const named = [...tests].filter(([name]) => name.includes(found))
    expect(named).toHaveLength(1)
    // What the suite says, or the history's own refusal: not a mistake of the suite.
    await expect(named[0]?.[1]()).rejects.toMatchObject({
      name: expect.stringMatching(/^(AssertionError|LociError)$/) as string,
    })
  })

  test('a history that only passes everything on passes', async () => {
    const tests = suiteOf({
      async createHistory(place) {
        const made = await builtIn(place)
        return { ...made, history: forwarding(made.history) }
      },
    })
    for (const run of tests.values()) await run()
    expect(tests.size).toBeGreaterThan(50)
  })

  test.each(LAME)('an inability must be declared, and be one: %s', async (lacks, change, found) => {
    const createHistory = async (place: HistoryPlace): Promise<HistoryUnderTest> => {
      const made = await builtIn(place)
      return { ...made, history: await change(made.history, place) }
    }
    const declared = suiteOf({ createHistory, supports: { [lacks]: false } })
    const own = [...declared].filter(([name]) => name.startsWith('inability: '))
    expect(own).toHaveLength(1)
    await own[0]?.[1]()
    const undeclared = suiteOf({ createHistory })
    const needing = [...undeclared].filter(([name]) => name.includes(found))
    expect(needing).toHaveLength(1)
    expect(declared.has(needing[0]?.[0] ?? '')).toBe(false)
    await expect(needing[0]?.[1]()).rejects.toThrow(expect.any(Error))
    if (lacks === 'modes') return
    // And the built-in one, which can do it, may not declare that it cannot.
    const able = suiteOf({ createHistory: builtIn, supports: { [lacks]: false } })
    const wrong = [...able].find(([name]) => name.startsWith('inability: '))
    await expect(wrong?.[1]()).rejects.toThrow(expect.any(Error))
  })

  test('where nothing can be cut, the tests of interruption see nothing; without interruption that is not enough', async () => {
    const createHistory = async (place: HistoryPlace) => (await builtIn(place)).history
    for (const [name, run] of suiteOf({ createHistory })) if (name.includes('interrupted')) await run()
    const tests = suiteOf({ createHistory, supports: { interruption: false } })
    const run = tests.get(
      'inability: without a report of interruption, the same rewind again brings everything back',
    )
    await expect(run?.()).rejects.toThrow('needs cutNextRewind')
  })
})
