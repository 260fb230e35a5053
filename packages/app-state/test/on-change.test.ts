import {
  type AppState,
  type AppStateEffects,
  createStore,
  getDefaultAppState,
  onChangeAppState,
} from '@loci/app-state'
import { afterEach, describe, expect, test, vi } from 'vitest'

afterEach(() => void vi.restoreAllMocks())

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const rejecting = (reason: string) => (): unknown => Promise.reject(new Error(reason))

const throwing = (reason: string) => (): never => {
  throw new Error(reason)
}

const change = (next: Partial<AppState>) => {
  const previous = getDefaultAppState()
  return { state: { ...previous, ...next }, previous }
}

test('an effect runs when its field changed, with the value, the one before, and the whole change', () => {
  const calls: unknown[][] = []
  const store = createStore(getDefaultAppState(), {
    onChange: onChangeAppState({
      cwd: (...given) => void calls.push(given),
      sessionId: () => void calls.push(['not expected']),
    }),
  })
  const previous = store.getState()
  store.setState((state) => ({ ...state, cwd: '/work' }))
  expect(calls).toEqual([['/work', null, { state: store.getState(), previous }]])
  store.setState((state) => ({ ...state, statusLineText: 'other' }))
  expect(calls).toHaveLength(1)
})

test('effects run before any listener, in the order they are written', () => {
  const order: string[] = []
  const store = createStore(getDefaultAppState(), {
    onChange: onChangeAppState({
      sessionId: () => void order.push('sessionId'),
      cwd: () => void order.push('cwd'),
    }),
  })
  store.subscribe(() => void order.push('listener'))
  store.setState((state) => ({ ...state, cwd: '/work', sessionId: 's' }))
  expect(order).toEqual(['sessionId', 'cwd', 'listener'])
})

test('values are compared by Object.is: a new equal object is a change, NaN after NaN is none', () => {
  const changed: string[] = []
  const handler = onChangeAppState({
    tasks: () => void changed.push('tasks'),
    companionPetAt: () => void changed.push('companionPetAt'),
  })
  const previous = getDefaultAppState({ companionPetAt: Number.NaN })
  handler({ state: { ...previous, tasks: {}, companionPetAt: Number.NaN }, previous })
  expect(changed).toEqual(['tasks'])
})

test('the same handler given the same change twice runs twice: it remembers nothing', () => {
  const effect = vi.fn<() => void>()
  const handler = onChangeAppState({ cwd: effect })
  const once = change({ cwd: '/work' })
  handler(once)
  handler(once)
  expect(effect).toHaveBeenCalledTimes(2)
})

test('an effect may set the state: its change is told after the present one, to effects first', () => {
  const order: string[] = []
  const store = createStore(getDefaultAppState(), {
    onChange: onChangeAppState({
      sessionId: (sessionId) => {
        order.push(`session ${sessionId}`)
        store.setState((state) => ({ ...state, statusLineText: `session ${sessionId}` }))
      },
      statusLineText: (text) => void order.push(`status line: ${text}`),
    }),
  })
  store.subscribe((state) => void order.push(`listener: ${state.statusLineText}`))
  store.setState((state) => ({ ...state, sessionId: 's1' }))
  expect(order).toEqual(['session s1', 'listener: null', 'status line: session s1', 'listener: session s1'])
})

describe('effects that fail', () => {
  test('an effect that throws keeps no other and no listener from running; its error comes out of setState', () => {
    const ran: string[] = []
    const store = createStore(getDefaultAppState(), {
      onChange: onChangeAppState({ cwd: throwing('cwd'), sessionId: () => void ran.push('sessionId') }),
    })
    store.subscribe(() => void ran.push('listener'))
    expect(() => store.setState((state) => ({ ...state, cwd: '/work', sessionId: 's' }))).toThrow(
      new Error('cwd'),
    )
    expect(ran).toEqual(['sessionId', 'listener'])
    expect(store.getState().cwd).toBe('/work')
  })

  test('several errors come as an AggregateError, to onListenerError of the store if there is one', () => {
    const onListenerError = vi.fn<(error: unknown) => void>()
    const onChange = onChangeAppState({ cwd: throwing('cwd'), sessionId: throwing('sessionId') })
    const store = createStore(getDefaultAppState(), { onChange, onListenerError })
    store.setState((state) => ({ ...state, cwd: '/work', sessionId: 's' }))
    expect(onListenerError.mock.calls).toEqual([
      [expect.objectContaining({ errors: [new Error('cwd'), new Error('sessionId')] })],
    ])
  })

  test('with onEffectError each error goes there alone', () => {
    const onEffectError = vi.fn<(error: unknown) => void>()
    const handler = onChangeAppState(
      { cwd: throwing('cwd'), sessionId: throwing('sessionId') },
      { onEffectError },
    )
    handler(change({ cwd: '/work', sessionId: 's' }))
    expect(onEffectError.mock.calls).toEqual([[new Error('cwd')], [new Error('sessionId')]])
  })

  test('a promise that rejects goes to onEffectError, without one to console.error', async () => {
    const consoleError = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const onEffectError = vi.fn<(error: unknown) => void>()
    onChangeAppState({ cwd: rejecting('handled') }, { onEffectError })(change({ cwd: '/work' }))
    onChangeAppState({ cwd: rejecting('logged') })(change({ cwd: '/work' }))
    await turn()
    expect(onEffectError.mock.calls).toEqual([[new Error('handled')]])
    expect(consoleError.mock.calls).toEqual([[new Error('logged')]])
  })
})

describe('what is given wrong', () => {
  const given = (effects: object): AppStateEffects => effects

  test('a name that is no field of the state is a TypeError that says it', () => {
    expect(() => onChangeAppState(given({ cdw: () => undefined }))).toThrow(
      new TypeError("onChangeAppState: the state has no field 'cdw'"),
    )
    expect(() => onChangeAppState(given({ toString: () => undefined }))).toThrow(TypeError)
  })

  test('an effect that is no function is a TypeError that says it', () => {
    expect(() => Reflect.apply(onChangeAppState, undefined, [{ cwd: 'echo' }])).toThrow(
      new TypeError("onChangeAppState: the effect of 'cwd' is no function"),
    )
  })

  test('an effect of undefined is none', () => {
    expect(() =>
      Reflect.apply(onChangeAppState, undefined, [{ cwd: undefined }])(change({ cwd: '/' })),
    ).not.toThrow()
  })
})
