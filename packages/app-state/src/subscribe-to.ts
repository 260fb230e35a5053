import type { Store } from './store.ts'

/**
 * Calls `listener` after each change that changes what `selector` makes of the state, until the returned
 * function is called.
 *
 * The selector runs once now and once a change. `previous` is the slice told last, or at first the one of now;
 * `equal` (default `Object.is`) compares with it, so that small steps which are equal one by one are told once
 * they add up. A selector that returns a new object each time needs an `equal`, or every change is told. What
 * the three functions throw, and a promise that `listener` returns, count as a listener's (see `createStore`);
 * what the selector throws now comes out of this call. A change whose slice was not found is skipped, and the next
 * one is compared with the slice told last.
 */
export function subscribeTo<T, S>(
  store: Store<T>,
  selector: (state: T) => S,
  listener: (slice: S, previous: S) => void,
  equal: (slice: S, previous: S) => boolean = Object.is,
): () => void {
  let told = selector(store.getState())
  return store.subscribe((state) => {
    const slice = selector(state)
    const previous = told
    if (equal(slice, previous)) return undefined
    told = slice
    return listener(slice, previous)
  })
}
