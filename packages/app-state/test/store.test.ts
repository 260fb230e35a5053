import { createStore } from '@loci/app-state'
import { describe, expect, test, vi } from 'vitest'

type Told<T> = [state: T, previous: T]

const listening = <T>(): { told: Told<T>[]; listener: (state: T, previous: T) => void } => {
  const told: Told<T>[] = []
  return { told, listener: (state, previous) => void told.push([state, previous]) }
}

describe('getState and setState', () => {
  test('the state is what the store was created with, by reference', () => {
    const initial = { n: 1 }
    expect(createStore(initial).getState()).toBe(initial)
  })

  test('the updater gets the state and what it returns is the state when setState returns', () => {
    const store = createStore({ n: 1, kept: 'yes' })
    const before = store.getState()
    store.setState((previous) => {
      expect(previous).toBe(before)
      return { ...previous, n: 2 }
    })
    expect(store.getState()).toEqual({ n: 2, kept: 'yes' })
  })

  test('setState returns nothing', () => {
    const store: { setState(updater: (n: number) => number): unknown } = createStore(0)
    expect(store.setState((n) => n + 1)).toBeUndefined()
    expect(store.setState((n) => n)).toBeUndefined()
  })

  test('the functions work without the object', () => {
    const { getState, setState, subscribe } = createStore(0)
    const { told, listener } = listening<number>()
    const unsubscribe = subscribe(listener)
    setState(() => 1)
    unsubscribe()
    setState(() => 2)
    expect(getState()).toBe(2)
    expect(told).toEqual([[1, 0]])
  })

  test('a state may be a function, undefined or null: the store never calls or interprets it', () => {
    const state = vi.fn<() => void>()
    const store = createStore<(() => void) | undefined | null>(state)
    const { told, listener } = listening<(() => void) | undefined | null>()
    store.subscribe(listener)
    store.setState(() => undefined)
    store.setState(() => null)
    store.setState(() => state)
    expect(told).toEqual([
      [undefined, state],
      [null, undefined],
      [state, null],
    ])
    expect(state).not.toHaveBeenCalled()
  })

  test('an updater that throws changes nothing, tells nobody, and its error comes out of setState', () => {
    const onListenerError = vi.fn<(error: unknown) => void>()
    const store = createStore(1, { onListenerError })
    const { told, listener } = listening<number>()
    store.subscribe(listener)
    const error = new Error('updater')
    expect(() =>
      store.setState(() => {
        throw error
      }),
    ).toThrow(error)
    expect(store.getState()).toBe(1)
    expect(told).toEqual([])
    expect(onListenerError).not.toHaveBeenCalled()
    store.setState(() => 2)
    expect(told).toEqual([[2, 1]])
  })

  test('an updater that throws inside a listener changes nothing and the telling goes on', () => {
    const store = createStore(0)
    const { told, listener } = listening<number>()
    let caught: unknown
    store.subscribe(() => {
      try {
        store.setState(() => {
          throw new Error('updater')
        })
      } catch (error) {
        caught = error
      }
    })
    store.subscribe(listener)
    store.setState(() => 1)
    expect(caught).toEqual(new Error('updater'))
    expect(told).toEqual([[1, 0]])
    expect(store.getState()).toBe(1)
  })

  test('what is no function is a TypeError and changes nothing', () => {
    const store = createStore(0)
    expect(() => Reflect.apply(store.setState, undefined, [1])).toThrow(TypeError)
    expect(() => Reflect.apply(store.subscribe, undefined, [undefined])).toThrow(TypeError)
    store.setState((n) => n + 1)
    expect(store.getState()).toBe(1)
  })

  test('an updater that sets the state itself: both changes are made and told in the order they were made', () => {
    const store = createStore('a')
    const { told, listener } = listening<string>()
    store.subscribe(listener)
    store.setState((previous) => {
      store.setState(() => 'inner')
      return `${previous}+outer`
    })
    expect(told).toEqual([
      ['inner', 'a'],
      ['a+outer', 'inner'],
    ])
  })

  test('an updater that sets the state itself and returns what it was given takes nothing back', () => {
    const store = createStore('a')
    const { told, listener } = listening<string>()
    store.subscribe(listener)
    store.setState((previous) => {
      store.setState(() => 'inner')
      return previous
    })
    expect(store.getState()).toBe('inner')
    expect(told).toEqual([['inner', 'a']])
  })

  test('an updater that sets the state itself to what it returns is one change', () => {
    const store = createStore('a')
    const { told, listener } = listening<string>()
    store.subscribe(listener)
    store.setState(() => {
      store.setState(() => 'b')
      return 'b'
    })
    expect(told).toEqual([['b', 'a']])
  })
})

describe('subscribe', () => {
  test('a listener hears of each change made after it subscribed, with the state and the one before', () => {
    const store = createStore(0)
    store.setState(() => 1)
    const { told, listener } = listening<number>()
    store.subscribe(listener)
    store.setState(() => 2)
    store.setState(() => 3)
    expect(told).toEqual([
      [2, 1],
      [3, 2],
    ])
  })

  test('listeners are told in the order of subscribing', () => {
    const store = createStore(0)
    const order: string[] = []
    store.subscribe(() => void order.push('a'))
    const removeB = store.subscribe(() => void order.push('b'))
    store.subscribe(() => void order.push('c'))
    removeB()
    store.subscribe(() => void order.push('b'))
    store.setState(() => 1)
    expect(order).toEqual(['a', 'c', 'b'])
  })

  test('the same function subscribed twice is two subscriptions, removed one at a time', () => {
    const store = createStore(0)
    const { told, listener } = listening<number>()
    const first = store.subscribe(listener)
    const second = store.subscribe(listener)
    store.setState(() => 1)
    expect(told).toHaveLength(2)
    first()
    first()
    store.setState(() => 2)
    expect(told).toHaveLength(3)
    second()
    store.setState(() => 3)
    expect(told).toHaveLength(3)
  })

  test('a listener subscribed while being told hears of changes made after that only', () => {
    const store = createStore(0)
    const late = listening<number>()
    let subscribed = false
    store.subscribe((state) => {
      if (state === 1) store.setState(() => 2)
      if (subscribed) return
      subscribed = true
      store.subscribe(late.listener) // 1 is being told, 2 is made and waits
      store.setState(() => 3)
    })
    store.setState(() => 1)
    expect(late.told).toEqual([[3, 2]])
  })

  test('a listener that subscribes another each time it is told does not go on for ever', () => {
    const store = createStore(0)
    let subscribed = 0
    const again = (): void => {
      subscribed++
      store.subscribe(again)
    }
    store.subscribe(again)
    store.setState(() => 1)
    expect(subscribed).toBe(1)
    store.setState(() => 2)
    expect(subscribed).toBe(3)
  })

  test('a listener removed before its turn hears neither the present change nor those that wait', () => {
    const store = createStore(0)
    const { told, listener } = listening<number>()
    const log: number[] = []
    store.subscribe((state) => {
      if (state !== 1) return
      store.setState(() => 2)
      remove()
    })
    const remove = store.subscribe(listener)
    store.subscribe((state) => void log.push(state))
    store.setState(() => 1)
    expect(told).toEqual([])
    expect(log).toEqual([1, 2])
  })

  test('a listener removed and subscribed anew while being told hears of neither the present change nor those that wait', () => {
    const store = createStore(0)
    const { told, listener } = listening<number>()
    store.subscribe((state) => {
      if (state !== 1) return
      store.setState(() => 2)
      remove()
      store.subscribe(listener)
    })
    const remove = store.subscribe(listener)
    store.setState(() => 1)
    expect(told).toEqual([])
    store.setState(() => 3)
    expect(told).toEqual([[3, 2]])
  })
})

describe('setting the state inside a listener', () => {
  test('the updater runs and the state is replaced before setState returns; only the telling waits', () => {
    const store = createStore(0)
    const log: string[] = []
    store.subscribe((state) => {
      if (state !== 1) return
      store.setState((previous) => {
        log.push(`updater gets ${previous}`)
        return previous + 10
      })
      log.push(`state is ${store.getState()}`)
      store.setState((previous) => previous + 100)
      log.push(`state is ${store.getState()}`)
    })
    store.subscribe((state, previous) => void log.push(`told ${state} after ${previous}`))
    store.setState(() => 1)
    expect(log).toEqual([
      'updater gets 1',
      'state is 11',
      'state is 111',
      'told 1 after 0',
      'told 11 after 1',
      'told 111 after 11',
    ])
  })

  test('every listener hears every pair once and in order, whoever sets the state', () => {
    const store = createStore(0)
    const heard: number[][] = [[], [], []]
    for (const [index, states] of heard.entries())
      store.subscribe((state, previous) => {
        expect(previous).toBe(states.at(-1) ?? 0)
        states.push(state)
        if (states.length < 4) store.setState((n) => n * 10 + index)
      })
    store.setState(() => 1)
    expect(heard[0]).toHaveLength(10)
    expect(heard[1]).toEqual(heard[0])
    expect(heard[2]).toEqual(heard[0])
    expect(heard[0]?.at(-1)).toBe(store.getState())
  })

  test('a change back to the state before is told too: nothing is merged away', () => {
    const store = createStore('a')
    const { told, listener } = listening<string>()
    store.subscribe((state) => {
      if (state === 'b') store.setState(() => 'a')
    })
    store.subscribe(listener)
    store.setState(() => 'b')
    expect(told).toEqual([
      ['b', 'a'],
      ['a', 'b'],
    ])
  })

  test('the outermost setState returns when all were told', () => {
    const store = createStore(0)
    const { told, listener } = listening<number>()
    store.subscribe((state) => {
      if (state < 5) store.setState((n) => n + 1)
    })
    store.subscribe(listener)
    store.setState(() => 1)
    expect(told.map(([state]) => state)).toEqual([1, 2, 3, 4, 5])
  })
})

describe('onChange', () => {
  test('it hears of every change before any listener, with nothing but state and previous', () => {
    const order: unknown[] = []
    const store = createStore(0, { onChange: (change) => void order.push(change) })
    store.subscribe((state) => {
      order.push(`first ${state}`)
      if (state === 1) store.setState(() => 2)
    })
    store.subscribe((state) => void order.push(`second ${state}`))
    store.setState(() => 1)
    expect(order).toEqual([
      { state: 1, previous: 0 },
      'first 1',
      'second 1',
      { state: 2, previous: 1 },
      'first 2',
      'second 2',
    ])
  })

  test('it may set the state: the change waits until the present one was told', () => {
    const order: string[] = []
    const store = createStore(0, {
      onChange: ({ state, previous }) => {
        order.push(`onChange ${previous}→${state}`)
        if (state === 1) store.setState(() => 2)
      },
    })
    store.subscribe((state, previous) => void order.push(`listener ${previous}→${state}`))
    store.setState(() => 1)
    expect(order).toEqual(['onChange 0→1', 'listener 0→1', 'onChange 1→2', 'listener 1→2'])
  })

  test('a listener that it subscribes does not hear of the change it is being told', () => {
    const { told, listener } = listening<number>()
    const store = createStore(0, {
      onChange: ({ state }) => {
        if (state === 1) store.subscribe(listener)
      },
    })
    store.setState(() => 1)
    store.setState(() => 2)
    expect(told).toEqual([[2, 1]])
  })
})
