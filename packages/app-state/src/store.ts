/** What a store is told about, besides its state. */
export interface StoreOptions<T> {
  /**
   * The one place for side effects: hears of every change before any listener does. Isolated like a listener:
   * what it throws keeps no listener from hearing and goes the same way as theirs.
   */
  onChange?: ((change: { state: T; previous: T }) => void) | undefined
  /**
   * Gets what `onChange` and the listeners throw, at once, and the reasons of promises of theirs that reject.
   * If it throws in turn, that is thrown from the outermost `setState`, as an error of a listener would be
   * without it; after a rejection there is no such call any more, and `console.error` gets it.
   */
  onListenerError?: ((error: unknown) => void) | undefined
}

/** One value, one way to replace it, and those who hear of it. The functions work without the object, too. */
export interface Store<T> {
  getState(this: void): T
  /**
   * Replaces the state by what `updater` makes of it, before it returns, also inside a listener. Where the
   * updater returns what it was given (`Object.is`) nothing happens and nobody hears; where it throws, neither.
   * An updater should not set the state itself; if it does, that change comes first and is told first.
   *
   * The outermost call returns when all were told. A call made by a listener returns at once: its change waits
   * until the present one was told, so that every listener hears every (state, previous) pair once, in order.
   *
   * @throws {Error} What a listener threw, after all were told, if there is no `onListenerError`; of several, an
   * AggregateError with all of them. The state is replaced all the same.
   * @throws {Error} STATE_REENTRANCY when the listeners of one outermost call have already made 1,000 changes.
   * This change is then not made; the 1,000 are and everyone hears of them. Left uncaught it counts as an error of
   * that listener, once for each outermost call. The next outermost call begins from 0.
   */
  setState(this: void, updater: (previous: T) => T): void
  /**
   * Calls `listener` after each change made from now on until the returned function is called, which takes the
   * same short time however many there are. The same function subscribed twice is two subscriptions.
   *
   * @throws {TypeError} when `listener` is no function.
   */
  subscribe(this: void, listener: (state: T, previous: T) => void): () => void
}

interface Subscription<T> {
  readonly listener: (state: T, previous: T) => void
  /** Counts up in the order of subscribing; 0 is `onChange`. */
  readonly nth: number
}

interface Change<T> {
  readonly state: T
  readonly previous: T
  /** The last subscription that was there when the change was made. */
  readonly nth: number
}

/**
 * A store that holds `initial`.
 *
 * A change is told to `onChange`, then to the listeners as they stood when it was made, minus those removed
 * meanwhile. Whatever one of them does (throw, set the state, subscribe, unsubscribe) the others hear of it. A
 * promise returned by one is never an unhandled rejection: without `onListenerError` its reason goes to
 * `console.error`.
 */
export function createStore<T>(
  initial: T,
  {
    onChange,
    onListenerError = (error) => {
      throw error
    },
  }: StoreOptions<NoInfer<T>> = {},
): Store<T> {
  // A Set can be walked while it changes: what is deleted is skipped, what is added comes last.
  const subscriptions = new Set<Subscription<T>>(
    onChange && [{ listener: (now, previous) => onChange({ state: now, previous }), nth: 0 }],
  )
  let subscribed = 0
  let state = initial
  let queue: Change<T>[] | undefined // there while listeners are being told: the outermost change and theirs
  let refusal: Error | undefined // the latest STATE_REENTRANCY

  return {
    getState: () => state,

    setState: (updater) => {
      const given = state
      const next = updater(given)
      // The two differ only where the updater set the state itself. Then, too, a no-op takes nothing back.
      if (Object.is(next, given) || Object.is(next, state)) return
      if (queue?.[1000]) {
        refusal = new Error('1000 changes by listeners: one always sets the state')
        throw Object.assign(refusal, { code: 'STATE_REENTRANCY' })
      }
      const change = { state: next, previous: state, nth: subscribed }
      state = next
      if (queue?.push(change)) return // the outermost call will come to it
      queue = [change]
      const errors: unknown[] = []
      let refusals = 0
      for (const { state: now, previous, nth } of queue) {
        for (const subscription of subscriptions) {
          if (subscription.nth > nth) break
          try {
            const result: unknown = subscription.listener(now, previous)
            if (typeof result === 'object')
              Promise.resolve(result).catch(onListenerError).catch(console.error)
          } catch (error) {
            // Where listeners drive each other, every change still queued is refused anew: one fault, said once.
            if (refusal && error === refusal && refusals++) continue
            try {
              Promise.resolve(onListenerError(error)).catch(console.error)
            } catch (unhandled) {
              errors.push(unhandled)
            }
          }
        }
      }
      queue = undefined
      if (errors.length)
        throw errors.length > 1 ? new AggregateError(errors, 'Several listeners threw') : errors[0]
    },

    subscribe: (listener) => {
      if (typeof listener !== 'function') throw new TypeError('listener is not a function')
      const subscription = { listener, nth: ++subscribed }
      subscriptions.add(subscription)
      return () => {
        subscriptions.delete(subscription)
      }
    },
  }
}
