import { createStore, subscribeTo } from '@loci/app-state'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => void vi.restoreAllMocks())

interface Point {
  x: number
  y: number
}

const spy = <S>() => vi.fn<(slice: S, previous: S) => void>()

test('the listener hears only when its slice changed, with the slice and the one before', () => {
  const store = createStore<Point>({ x: 0, y: 0 })
  const listener = spy<number>()
  subscribeTo(store, (state) => state.x, listener)
  store.setState((point) => ({ ...point, y: 1 }))
  store.setState((point) => ({ ...point, x: 1 }))
  store.setState((point) => ({ ...point, x: 2 }))
  expect(listener.mock.calls).toEqual([
    [1, 0],
    [2, 1],
  ])
})

test('it is not called at once, and no more once the returned function was called', () => {
  const store = createStore(0)
  const listener = spy<number>()
  const unsubscribe = subscribeTo(store, (state) => state, listener)
  expect(listener).not.toHaveBeenCalled()
  unsubscribe()
  store.setState(() => 1)
  expect(listener).not.toHaveBeenCalled()
})

test('the selector runs once at the beginning and once a change', () => {
  const store = createStore(0)
  const selector = vi.fn<(state: number) => number>((state) => state)
  subscribeTo(store, selector, () => undefined)
  store.setState(() => 1)
  store.setState((state) => state)
  store.setState(() => 2)
  expect(selector.mock.calls).toEqual([[0], [1], [2]])
})

test('slices are compared by Object.is', () => {
  const store = createStore<{ value: number }>({ value: Number.NaN })
  const listener = spy<number>()
  subscribeTo(store, (state) => state.value, listener)
  for (const value of [Number.NaN, 0, -0, -0]) store.setState(() => ({ value }))
  expect(listener.mock.calls).toEqual([
    [0, Number.NaN],
    [-0, 0],
  ])
})

test('a new object is a change unless `equal` says otherwise; it gets the slice, then the one told last', () => {
  const store = createStore<Point>({ x: 0, y: 0 })
  const always = spy<number[]>()
  const seldom = spy<number[]>()
  const equal = vi.fn<(slice: number[], previous: number[]) => boolean>((a, b) => a[0] === b[0])
  subscribeTo(store, (state) => [state.x], always)
  subscribeTo(store, (state) => [state.x], seldom, equal)
  store.setState((point) => ({ ...point, y: 1 }))
  store.setState((point) => ({ ...point, x: 1 }))
  expect(always).toHaveBeenCalledTimes(2)
  expect(seldom.mock.calls).toEqual([[[1], [0]]])
  expect(equal.mock.calls).toEqual([
    [[0], [0]],
    [[1], [0]],
  ])
})

test('small steps that are equal one by one are told once they add up', () => {
  const store = createStore(0)
  const listener = spy<number>()
  subscribeTo(
    store,
    (state) => state,
    listener,
    (a, b) => Math.abs(a - b) < 10,
  )
  for (let step = 0; step < 25; step++) store.setState((n) => n + 1)
  expect(listener.mock.calls).toEqual([
    [10, 0],
    [20, 10],
  ])
})

test('changes made by listeners reach it once each and in order', () => {
  const store = createStore(0)
  const listener = spy<number>()
  store.subscribe((state) => {
    if (state < 3) store.setState((n) => n + 1)
  })
  subscribeTo(store, (state) => state * 10, listener)
  store.setState(() => 1)
  expect(listener.mock.calls).toEqual([
    [10, 0],
    [20, 10],
    [30, 20],
  ])
})

test('subscribed while listeners are told, it begins with the newest state and misses nothing after it', () => {
  const store = createStore(0)
  const listener = spy<number>()
  const remove = store.subscribe(() => {
    remove()
    store.setState(() => 2)
    subscribeTo(store, (state) => state, listener)
    store.setState(() => 3)
  })
  store.setState(() => 1)
  expect(listener.mock.calls).toEqual([[3, 2]])
})

test('the same function subscribed twice is two subscriptions', () => {
  const store = createStore(0)
  const listener = spy<number>()
  const selector = (state: number): number => state
  const first = subscribeTo(store, selector, listener)
  subscribeTo(store, selector, listener)
  store.setState(() => 1)
  first()
  store.setState(() => 2)
  expect(listener).toHaveBeenCalledTimes(3)
})

test('a listener that throws was told: it does not hear the same slice again', () => {
  const errors: unknown[] = []
  const store = createStore(0, { onListenerError: (error) => void errors.push(error) })
  const heard: [number, number][] = []
  subscribeTo(
    store,
    (state) => Math.floor(state / 10),
    (slice, previous) => {
      heard.push([slice, previous])
      throw new Error(`slice ${slice}`)
    },
  )
  for (const state of [10, 11, 20]) store.setState(() => state)
  expect(heard).toEqual([
    [1, 0],
    [2, 1],
  ])
  expect(errors).toEqual([new Error('slice 1'), new Error('slice 2')])
})

test('a selector that throws counts as a listener that throws; the next slice is compared with the one told last', () => {
  const errors: unknown[] = []
  const store = createStore<{ value: number } | null>(
    { value: 1 },
    { onListenerError: (e) => void errors.push(e) },
  )
  const listener = spy<number>()
  const other = vi.fn<() => void>()
  subscribeTo(
    store,
    (state) => {
      if (!state) throw new Error('nothing there')
      return state.value
    },
    listener,
  )
  store.subscribe(other)
  store.setState(() => null)
  store.setState(() => ({ value: 1 }))
  store.setState(() => ({ value: 2 }))
  expect(errors).toEqual([new Error('nothing there')])
  expect(other).toHaveBeenCalledTimes(3)
  expect(listener.mock.calls).toEqual([[2, 1]])
})

test('a selector that throws at the beginning throws out of subscribeTo and nothing is subscribed', () => {
  const store = createStore(0)
  const selector = vi.fn<(state: number) => number>(() => {
    throw new Error('selector')
  })
  expect(() => subscribeTo(store, selector, () => undefined)).toThrow('selector')
  store.setState(() => 1)
  expect(selector).toHaveBeenCalledTimes(1)
})

test('a promise that it returns and that rejects goes where a listener’s goes', async () => {
  const onListenerError = vi.fn<(error: unknown) => void>()
  const store = createStore(0, { onListenerError })
  const listener = (): unknown => Promise.reject(new Error('later'))
  subscribeTo(store, (state) => state, listener)
  store.setState(() => 1)
  await new Promise((resolve) => void setImmediate(resolve))
  expect(onListenerError.mock.calls).toEqual([[new Error('later')]])
})
