import { createStore } from '@loci/app-state'
import { afterEach, describe, expect, test, vi } from 'vitest'

afterEach(() => void vi.restoreAllMocks())

const thrownBy = (run: () => void): unknown => {
  try {
    run()
  } catch (error) {
    return error
  }
  return 'nothing was thrown'
}

const throwing =
  (error: unknown): (() => never) =>
  () => {
    throw error
  }

/** A listener that returns a promise, as an `async` function given to `subscribe` does. */
const returning =
  (result: unknown): (() => unknown) =>
  () =>
    result

/** As an `async` function is given where a plain one is expected. */
const rejecting =
  (reason: (argument: unknown) => string): ((argument: unknown) => unknown) =>
  (argument) =>
    Promise.reject(new Error(reason(argument)))

const holding = (name: string, value: unknown): object => ({ [name]: value })

const silentConsole = () => vi.spyOn(console, 'error').mockImplementation(() => undefined)

/** Until every promise that can settle by now has settled, and Node has named those that nobody handled. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)))

const unhandledDuring = async (run: () => void): Promise<unknown[]> => {
  const unhandled: unknown[] = []
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (reason) => void unhandled.push(reason))
  try {
    run()
    await settled()
  } finally {
    process.removeAllListeners('unhandledRejection')
    for (const other of others) process.on('unhandledRejection', other)
  }
  return unhandled
}

describe('a listener that throws', () => {
  test('keeps no other from hearing, and its error comes out of setState after all were told', () => {
    const store = createStore(0)
    const error = new Error('listener')
    const told: number[] = []
    store.subscribe((state) => void told.push(state))
    store.subscribe(throwing(error))
    store.subscribe((state) => void told.push(state * 10))
    expect(thrownBy(() => store.setState(() => 1))).toBe(error)
    expect(told).toEqual([1, 10])
    expect(store.getState()).toBe(1)
  })

  test('stays subscribed', () => {
    const store = createStore(0)
    const listener = vi.fn<() => void>(throwing(new Error('always')))
    store.subscribe(listener)
    expect(() => store.setState(() => 1)).toThrow('always')
    expect(() => store.setState(() => 2)).toThrow('always')
    expect(listener).toHaveBeenCalledTimes(2)
  })

  test('several errors come out as an AggregateError, in the order they were thrown', () => {
    const store = createStore(0)
    store.subscribe(throwing('first'))
    store.subscribe(throwing('second'))
    const error = thrownBy(() => store.setState(() => 1))
    expect(error).toBeInstanceOf(AggregateError)
    expect(error).toMatchObject({ errors: ['first', 'second'], message: 'Several listeners threw' })
  })

  test('one error object thrown by two listeners counts as two', () => {
    const store = createStore(0)
    const error = new Error('shared')
    store.subscribe(throwing(error))
    store.subscribe(throwing(error))
    expect(thrownBy(() => store.setState(() => 1))).toMatchObject({ errors: [error, error] })
  })

  test('a thrown undefined is not swallowed, nor are two', () => {
    const store = createStore(0)
    store.subscribe(throwing(undefined))
    expect(thrownBy(() => store.setState(() => 1))).toBeUndefined()
    store.subscribe(throwing(undefined))
    expect(thrownBy(() => store.setState(() => 2))).toMatchObject({ errors: [undefined, undefined] })
  })

  test('errors of later changes come out of the outermost setState, not of the one inside a listener', () => {
    const store = createStore(0)
    const inside: unknown[] = []
    store.subscribe((state) => {
      if (state === 1) inside.push(thrownBy(() => store.setState(() => 2)))
    })
    store.subscribe((state) => {
      throw new Error(`told ${state}`)
    })
    const error = thrownBy(() => store.setState(() => 1))
    expect(inside).toEqual(['nothing was thrown'])
    expect(error).toMatchObject({ errors: [new Error('told 1'), new Error('told 2')] })
  })

  test('with onListenerError each error goes there, before the next listener is told, and setState does not throw', () => {
    const order: unknown[] = []
    const store = createStore(0, { onListenerError: (error) => void order.push(error) })
    store.subscribe(throwing('first'))
    store.subscribe((state) => void order.push(state))
    store.subscribe(throwing('second'))
    store.setState(() => 1)
    expect(order).toEqual(['first', 1, 'second'])
  })

  test('the store works as before afterwards', () => {
    const store = createStore(0)
    const remove = store.subscribe(throwing(new Error('once')))
    expect(() => store.setState(() => 1)).toThrow('once')
    remove()
    const told: number[] = []
    store.subscribe((state) => void told.push(state))
    store.setState(() => 2)
    expect(told).toEqual([2])
  })
})

describe('onChange that throws', () => {
  test('keeps no listener from hearing, and its error comes out of setState', () => {
    const error = new Error('onChange')
    const store = createStore(0, { onChange: throwing(error) })
    const told: number[] = []
    store.subscribe((state) => void told.push(state))
    expect(thrownBy(() => store.setState(() => 1))).toBe(error)
    expect(told).toEqual([1])
  })

  test('counts as the first of several', () => {
    const store = createStore(0, { onChange: throwing('onChange') })
    store.subscribe(throwing('listener'))
    expect(thrownBy(() => store.setState(() => 1))).toMatchObject({ errors: ['onChange', 'listener'] })
  })

  test('goes to onListenerError if there is one', () => {
    const onListenerError = vi.fn<(error: unknown) => void>()
    const store = createStore(0, { onChange: throwing('onChange'), onListenerError })
    store.setState(() => 1)
    expect(onListenerError.mock.calls).toEqual([['onChange']])
  })
})

describe('onListenerError that throws', () => {
  test('what it throws comes out of setState after all were told, in place of the error it was given', () => {
    const store = createStore(0, {
      onListenerError: (error) => {
        throw new Error(`handler of ${String(error)}`)
      },
    })
    const told: number[] = []
    store.subscribe(throwing('first'))
    store.subscribe((state) => void told.push(state))
    expect(thrownBy(() => store.setState(() => 1))).toEqual(new Error('handler of first'))
    expect(told).toEqual([1])
    store.subscribe(throwing('second'))
    expect(thrownBy(() => store.setState(() => 2))).toMatchObject({
      errors: [new Error('handler of first'), new Error('handler of second')],
    })
  })

  test('may pick: what it lets through is handled, what it rethrows comes out', () => {
    const store = createStore(0, {
      onListenerError: (error) => {
        if (error === 'fatal') throw error
      },
    })
    store.subscribe(throwing('harmless'))
    store.subscribe(throwing('fatal'))
    expect(thrownBy(() => store.setState(() => 1))).toBe('fatal')
  })

  test('after a rejection there is no setState to throw from: console.error gets it', async () => {
    const consoleError = silentConsole()
    const store = createStore(0, { onListenerError: throwing('handler') })
    store.subscribe(returning(Promise.reject(new Error('listener'))))
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(consoleError.mock.calls).toEqual([['handler']])
  })

  test('a promise of its own that rejects goes to console.error, wherever the error came from', async () => {
    const consoleError = silentConsole()
    const store = createStore(0, { onListenerError: rejecting((error) => `handler of ${String(error)}`) })
    store.subscribe(throwing('throw'))
    store.subscribe(returning(Promise.reject('rejection')))
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(consoleError.mock.calls).toHaveLength(2)
    expect(consoleError.mock.calls).toContainEqual([new Error('handler of rejection')])
    expect(consoleError.mock.calls).toContainEqual([new Error('handler of throw')])
  })
})

describe('a listener that returns a promise which rejects', () => {
  test('without onListenerError its reason goes to console.error and is no unhandled rejection', async () => {
    const consoleError = silentConsole()
    const store = createStore(0)
    const error = new Error('later')
    store.subscribe(returning(Promise.reject(error)))
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(consoleError.mock.calls).toEqual([[error]])
  })

  test('with onListenerError its reason goes there alone', async () => {
    const consoleError = silentConsole()
    const onListenerError = vi.fn<(error: unknown) => void>()
    const store = createStore(0, { onListenerError })
    const error = new Error('later')
    store.subscribe(returning(Promise.reject(error)))
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(onListenerError.mock.calls).toEqual([[error]])
    expect(consoleError).not.toHaveBeenCalled()
  })

  test('the same holds for onChange', async () => {
    const consoleError = silentConsole()
    const store = createStore(0, { onChange: rejecting(() => 'later') })
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(consoleError.mock.calls).toEqual([[new Error('later')]])
  })

  test('the same holds for promises that are not the engine’s own', async () => {
    const consoleError = silentConsole()
    const store = createStore(0)
    store.subscribe(
      returning(holding('then', (_: unknown, reject: (reason: unknown) => void) => reject('foreign'))),
    )
    store.setState(() => 1)
    await settled()
    expect(consoleError.mock.calls).toEqual([['foreign']])
  })

  test('nobody waits for it', () => {
    const store = createStore(0)
    const told: number[] = []
    store.subscribe(returning(new Promise(() => undefined)))
    store.subscribe((state) => void told.push(state))
    store.setState(() => 1)
    expect(told).toEqual([1])
  })

  test('other results of a listener mean nothing', async () => {
    const consoleError = silentConsole()
    const store = createStore(0)
    for (const result of [null, 0, 'text', [], holding('then', 'no function'), () => 1])
      store.subscribe(returning(result))
    expect(await unhandledDuring(() => store.setState(() => 1))).toEqual([])
    expect(consoleError).not.toHaveBeenCalled()
  })
})

describe('listeners that set the state again and again', () => {
  test('1,000 changes by listeners are made and told', () => {
    const store = createStore(0)
    const told: number[] = []
    store.subscribe((state) => {
      if (state < 1001) store.setState((n) => n + 1)
    })
    store.subscribe((state) => void told.push(state))
    store.setState(() => 1)
    expect(store.getState()).toBe(1001)
    expect(told).toEqual(Array.from({ length: 1001 }, (_, index) => index + 1))
  })

  test('one more is refused inside the listener with STATE_REENTRANCY and not made', () => {
    const store = createStore(0)
    const refused: unknown[] = []
    store.subscribe(() => {
      const error = thrownBy(() => store.setState((n) => n + 1))
      if (error !== 'nothing was thrown') refused.push(error, store.getState())
    })
    store.setState(() => 1)
    expect(refused).toEqual([expect.objectContaining({ code: 'STATE_REENTRANCY' }), 1001])
    expect(store.getState()).toBe(1001)
  })

  test('uncaught it comes out of the outermost setState, as a plain Error, after everyone heard of all that was made', () => {
    const store = createStore(0)
    const told: number[] = []
    store.subscribe(() => store.setState((n) => n + 1))
    store.subscribe((state, previous) => {
      expect(previous).toBe(state - 1)
      told.push(state)
    })
    const error = thrownBy(() => store.setState(() => 1))
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'Error', code: 'STATE_REENTRANCY' })
    expect(told).toHaveLength(1001)
    expect(told.at(-1)).toBe(store.getState())
  })

  test('listeners that drive each other are one fault, said once', () => {
    const store = createStore(0)
    store.subscribe(() => store.setState((n) => n + 1))
    store.subscribe(() => store.setState((n) => n + 1))
    expect(thrownBy(() => store.setState(() => 1))).toMatchObject({ name: 'Error', code: 'STATE_REENTRANCY' })

    const onListenerError = vi.fn<(error: unknown) => void>()
    const handled = createStore(0, { onListenerError })
    handled.subscribe(() => handled.setState((n) => n + 1))
    handled.subscribe(() => handled.setState((n) => n + 1))
    handled.setState(() => 1)
    expect(onListenerError.mock.calls).toEqual([[expect.objectContaining({ code: 'STATE_REENTRANCY' })]])
  })

  test('other errors come out beside it', () => {
    const store = createStore(0)
    store.subscribe((state) => {
      if (state === 1) throw new Error('other')
    })
    store.subscribe(() => store.setState((n) => n + 1))
    expect(thrownBy(() => store.setState(() => 1))).toMatchObject({
      errors: [new Error('other'), expect.objectContaining({ code: 'STATE_REENTRANCY' })],
    })
  })

  test('reading by a no-op updater is never refused', () => {
    const store = createStore(0)
    const read: number[] = []
    store.subscribe(() => {
      store.setState((n) => {
        read.push(n)
        return n
      })
      store.setState((n) => n + 1)
    })
    expect(() => store.setState(() => 1)).toThrow('1000 changes')
    expect(read).toEqual(Array.from({ length: 1001 }, (_, index) => index + 1))
  })

  test('onChange counts too', () => {
    const store = createStore(0, { onChange: () => store.setState((n) => n + 1) })
    expect(thrownBy(() => store.setState(() => 1))).toMatchObject({ code: 'STATE_REENTRANCY' })
  })

  test('the next outermost change begins from 0, and its refusal is a new error', () => {
    const store = createStore(0)
    const told: number[] = []
    store.subscribe((state) => void told.push(state))
    const remove = store.subscribe(() => store.setState((n) => n + 1))
    const first = thrownBy(() => store.setState(() => 1))
    const second = thrownBy(() => store.setState(() => 2001))
    expect(second).toMatchObject({ code: 'STATE_REENTRANCY' })
    expect(second).not.toBe(first)
    expect(told).toHaveLength(2002)
    remove()
    store.setState(() => 0)
    expect(told.at(-1)).toBe(0)
  })

  test('1,000 changes and more one after the other are no loop', () => {
    const store = createStore(0)
    store.subscribe(() => undefined)
    for (let change = 0; change < 3000; change++) store.setState((n) => n + 1)
    expect(store.getState()).toBe(3000)
  })
})

test('a stack that overflows anywhere inside the store does not leave it mute', () => {
  const store = createStore(0)
  store.subscribe(() => undefined)
  const setAtEveryDepth = (): void => {
    try {
      setAtEveryDepth()
    } catch {
      // Just below the limit the call that fails is one inside setState, a different one at each depth.
    }
    try {
      store.setState((n) => n + 1)
    } catch {
      // The overflow itself.
    }
  }
  setAtEveryDepth()
  const told: number[] = []
  store.subscribe((state) => void told.push(state))
  store.setState(() => -1)
  expect(told).toEqual([-1])
})
