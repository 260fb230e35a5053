import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react'
import type { AppState } from './app-state.ts'
import type { Store } from './store.ts'

const StoreContext = createContext<{ store: Store<AppState>; firstState: AppState } | null>(null)

/**
 * Gives `store` to the components below.
 *
 * While a page that was rendered on a server is being hydrated, components see the state as it was when the provider
 * first rendered, however much later they come to life, so that they match what the server sent.
 */
export function StoreProvider({
  store,
  children,
}: {
  store: Store<AppState>
  children?: ReactNode
}): ReactElement {
  const value = useMemo(() => ({ store, firstState: store.getState() }), [store])
  return createElement(StoreContext.Provider, { value }, children)
}

/**
 * The store of the nearest provider, for its `setState`.
 *
 * @throws {Error} when there is no StoreProvider above.
 */
export function useAppStore(): Store<AppState> {
  return useProvided().store
}

/**
 * What `selector` makes of the state; the component renders again when that changes.
 *
 * A selector may be written in place, and may return a new object: it runs once for each state that the component
 * sees, so that there is no endless rendering. But new is different (`Object.is`): such a component renders at every
 * change of the state, unless `equal` says that nothing changed. Then the object it had stays.
 *
 * @throws {Error} when there is no StoreProvider above. What the selector throws comes out of rendering.
 */
export function useAppState<S>(
  selector: (state: AppState) => S,
  equal: (slice: S, previous: S) => boolean = Object.is,
): S {
  const { store, firstState } = useProvided()
  const rendered = useRef<{ slice: S } | undefined>(undefined)

  const select = useMemo(() => {
    let last: { state: AppState; slice: S } | undefined
    return (state: AppState): S => {
      if (last && Object.is(last.state, state)) return last.slice
      const slice = selector(state)
      // A selector written in place is new at each rendering and remembers nothing: what was rendered is the measure.
      const known = last ?? rendered.current
      last = { state, slice: known && equal(slice, known.slice) ? known.slice : slice }
      return last.slice
    }
  }, [selector, equal])

  const slice = useSyncExternalStore(
    store.subscribe,
    () => select(store.getState()),
    () => select(firstState),
  )
  useEffect(() => {
    rendered.current = { slice }
  }, [slice])
  return slice
}

function useProvided(): { store: Store<AppState>; firstState: AppState } {
  const provided = useContext(StoreContext)
  if (!provided) throw new Error('useAppState: put a <StoreProvider store={…}> above this component')
  return provided
}
