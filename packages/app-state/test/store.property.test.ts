import { createStore, type Store, type StoreOptions } from '@loci/app-state'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { naiveStore } from './naive-store.ts'

const LISTENERS = 4

type Step =
  | { do: 'set'; to: number }
  | { do: 'set and fail' }
  | { do: 'subscribe'; who: number }
  | { do: 'unsubscribe'; which: number }
  | { do: 'throw' }

interface Program {
  /** From outside of any listener. */
  steps: Step[]
  /** What each listener does the first, second, … time that it is told; nothing after that. */
  scripts: Step[][][]
  /** The same for onChange; `null`: there is none. */
  onChange: Step[][] | null
  handlesErrors: boolean
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('set' as const), to: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('subscribe' as const), who: fc.nat(LISTENERS - 1) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unsubscribe' as const), which: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'throw' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'set and fail' }) },
)

const script = fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 6 })

const program: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(step, { minLength: 4, maxLength: 20 }),
  scripts: fc.array(script, { minLength: LISTENERS, maxLength: LISTENERS }),
  onChange: fc.option(script),
  handlesErrors: fc.boolean(),
})

/** Runs a program and writes down all that can be seen of the store. */
function run(
  create: (initial: number, options: StoreOptions<number>) => Store<number>,
  given: Program,
): string[] {
  const log: string[] = []
  const subscriptions: (() => void)[] = []
  const turns = new Map<unknown, number>()
  let nthError = 0

  const next = (lines: Step[][]): Step[] => {
    const turn = turns.get(lines) ?? 0
    turns.set(lines, turn + 1)
    return lines[turn] ?? []
  }

  const text = (error: unknown): string =>
    error instanceof AggregateError ? `[${error.errors.map(text).join(', ')}]` : String(error)

  const perform = (steps: Step[]): void => {
    for (const todo of steps)
      if (todo.do === 'throw') throw new Error(`error ${nthError++}`)
      else if (todo.do === 'subscribe') {
        const nth = subscriptions.length
        const lines = given.scripts[todo.who] ?? []
        subscriptions.push(
          store.subscribe((state, previous) => {
            log.push(`${nth} (listener ${todo.who}) hears ${previous}→${state}, state is ${store.getState()}`)
            perform(next(lines))
          }),
        )
      } else if (todo.do === 'unsubscribe') subscriptions[todo.which]?.()
      else {
        try {
          store.setState((previous) => {
            log.push(`updater gets ${previous}`)
            if (todo.do === 'set and fail') throw new Error('updater')
            return todo.to
          })
        } catch (error) {
          log.push(`setState throws ${text(error)}`)
        }
        log.push(`state is ${store.getState()}`)
      }
  }

  const { onChange } = given
  const store = create(0, {
    ...(onChange && {
      onChange: ({ state, previous }) => {
        log.push(`onChange hears ${previous}→${state}`)
        perform(next(onChange))
      },
    }),
    ...(given.handlesErrors && { onListenerError: (error) => void log.push(`handler gets ${text(error)}`) }),
  })

  for (const todo of given.steps)
    try {
      perform([todo])
    } catch (error) {
      log.push(`outside: ${text(error)}`)
    }
  return log
}

test('whatever listeners do while they are told, the store does what the plain model does', () => {
  fc.assert(
    fc.property(program, (given) => {
      expect(run(createStore, given)).toEqual(run(naiveStore, given))
    }),
    { numRuns: 3000 },
  )
})

test('programs reach deep: some have queued changes, removals, late subscribers and several errors at once', () => {
  const logs = fc.sample(program, { numRuns: 2000, seed: 1 }).map((given) => run(createStore, given))
  const reached = (pattern: RegExp): number => logs.filter((log) => pattern.test(log.join('\n'))).length
  expect(reached(/setState throws \[/)).toBeGreaterThan(20)
  expect(reached(/handler gets/)).toBeGreaterThan(20)
  // A listener hears of a change while the state is already another: changes were waiting.
  expect(reached(/hears \d→0, state is [123]/)).toBeGreaterThan(50)
})
