import { type AppState, createStore, getDefaultAppState, subscribeTo } from '@loci/app-state'
import { describe, expect, test, vi } from 'vitest'

describe('A02: one failing listener keeps the rest from hearing of the change', () => {
  const three = (store: ReturnType<typeof createStore<number>>): string[] => {
    const heard: string[] = []
    store.subscribe((state) => void heard.push(`first ${state}`))
    store.subscribe((state) => {
      heard.push(`middle ${state}`)
      throw new Error(`middle ${state}`)
    })
    store.subscribe((state) => void heard.push(`last ${state}`))
    return heard
  }

  test('A02: the others run, the error is reported once, the state is committed', () => {
    const onListenerError = vi.fn<(error: unknown) => void>()
    const store = createStore(0, { onListenerError })
    const heard = three(store)
    store.setState(() => 1)
    store.setState(() => 2)
    expect(heard).toEqual(['first 1', 'middle 1', 'last 1', 'first 2', 'middle 2', 'last 2'])
    expect(onListenerError.mock.calls).toEqual([[new Error('middle 1')], [new Error('middle 2')]])
    expect(store.getState()).toBe(2)
  })

  test('A02: without a handler the error is thrown, once, after the others ran', () => {
    const store = createStore(0)
    const heard = three(store)
    expect(() => store.setState(() => 1)).toThrow(new Error('middle 1'))
    expect(heard).toEqual(['first 1', 'middle 1', 'last 1'])
    expect(store.getState()).toBe(1)
  })
})

describe('A03: unsubscribing inside a notification skips or drops others', () => {
  test('A03: each of five listeners removes itself when first told: each is called once', () => {
    const store = createStore(0)
    const heard: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const remove = store.subscribe((state) => {
        remove()
        heard.push(`${name}${state}`)
      })
    }
    store.setState(() => 1)
    store.setState(() => 2)
    expect(heard).toEqual(['a1', 'b1', 'c1', 'd1', 'e1'])
  })

  test('A03: each removes the next: every other one is called, the removed ones are not', () => {
    const store = createStore(0)
    const heard: string[] = []
    const removes: (() => void)[] = []
    for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries())
      removes.push(
        store.subscribe((state) => {
          heard.push(`${name}${state}`)
          removes[index + 1]?.()
        }),
      )
    store.setState(() => 1)
    store.setState(() => 2)
    expect(heard).toEqual(['a1', 'c1', 'e1', 'a2', 'c2', 'e2'])
  })

  test('A03: removing one that had its turn takes nothing from those after it', () => {
    const store = createStore(0)
    const heard: string[] = []
    const removeA = store.subscribe((state) => void heard.push(`a${state}`))
    store.subscribe((state) => {
      heard.push(`b${state}`)
      removeA()
    })
    store.subscribe((state) => void heard.push(`c${state}`))
    store.setState(() => 1)
    store.setState(() => 2)
    expect(heard).toEqual(['a1', 'b1', 'c1', 'b2', 'c2'])
  })
})

describe('A04: calls without change, or no call because the same object was altered in place', () => {
  const calls = <T>(initial: T, updater: (previous: T) => T): number => {
    const store = createStore(initial)
    const listener = vi.fn<(state: T, previous: T) => void>()
    const onSlice = vi.fn<(slice: T, previous: T) => void>()
    store.subscribe(listener)
    subscribeTo(store, (state) => state, onSlice)
    store.setState(updater)
    expect(onSlice).toHaveBeenCalledTimes(listener.mock.calls.length)
    return listener.mock.calls.length
  }

  test('A04: Object.is decides', () => {
    expect(calls({ n: 1 }, (previous) => previous)).toBe(0)
    expect(calls({ n: 1 }, (previous) => ({ ...previous }))).toBe(1)
    expect(calls(Number.NaN, () => Number.NaN)).toBe(0)
    expect(calls(0, () => -0)).toBe(1)
    expect(calls(-0, () => -0)).toBe(0)
    expect(calls('a', () => 'a')).toBe(0)
    expect(calls<undefined | null>(undefined, () => null)).toBe(1)
  })

  test('A04: an object altered in place is the same object: nobody hears, as the README says', () => {
    expect(
      calls({ n: 1 }, (previous) => {
        previous.n = 2
        return previous
      }),
    ).toBe(0)
  })

  test('A04: the compiler does not let the app state be altered in place', () => {
    // Never called: the compiler is what is tested.
    const alterInPlace = (state: AppState): void => {
      // @ts-expect-error read-only
      state.cwd = '/elsewhere'
      // @ts-expect-error read-only
      state.approvedTools.push('Bash')
      // @ts-expect-error read-only
      state.tasks['t1'] = {
        type: 'agent',
        description: '',
        status: 'running',
        startedAtMs: null,
        endedAtMs: null,
      }
      // @ts-expect-error read-only
      state.totalUsage.inputTokens += 1
    }
    expect(alterInPlace).toBeTypeOf('function')
  })
})

describe('A05: restore and rewind replace the state without telling; once-listeners are lost when they throw', () => {
  test('A05: there is one way to replace the state, so loading and rewinding are told like any change', () => {
    const earlier = getDefaultAppState({ sessionId: 'earlier', cwd: '/work' })
    const store = createStore(getDefaultAppState())
    expect(Object.keys(store).toSorted()).toEqual(['getState', 'setState', 'subscribe'])
    const listener = vi.fn<(state: AppState, previous: AppState) => void>()
    const onSession = vi.fn<(slice: string | null, previous: string | null) => void>()
    const initial = store.getState()
    store.subscribe(listener)
    subscribeTo(store, (state) => state.sessionId, onSession)
    store.setState(() => earlier)
    store.setState(() => initial)
    expect(listener.mock.calls).toEqual([
      [earlier, initial],
      [initial, earlier],
    ])
    expect(onSession.mock.calls).toEqual([
      ['earlier', null],
      [null, 'earlier'],
    ])
  })

  test('A05: a listener that removes itself first is called once, also if it throws then', () => {
    const store = createStore(0, { onListenerError: () => undefined })
    const heard: number[] = []
    const remove = store.subscribe((state) => {
      remove()
      heard.push(state)
      throw new Error('at the first call')
    })
    store.setState(() => 1)
    store.setState(() => 2)
    expect(heard).toEqual([1])
  })

  test('A05: a listener that removes itself last is called until it succeeds once', () => {
    const store = createStore(0, { onListenerError: () => undefined })
    const heard: number[] = []
    const remove = store.subscribe((state) => {
      heard.push(state)
      if (state === 1) throw new Error('at the first call')
      remove()
    })
    store.setState(() => 1)
    store.setState(() => 2)
    store.setState(() => 3)
    expect(heard).toEqual([1, 2])
  })
})
