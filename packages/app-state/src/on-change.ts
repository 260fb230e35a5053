import { type AppState, getDefaultAppState } from './app-state.ts'
import { createStore } from './store.ts'

/** A change of the whole state. */
export interface AppStateChange {
  readonly state: AppState
  readonly previous: AppState
}

/** What to do when a field of the state has changed, by the field's name. */
export type AppStateEffects = {
  readonly [K in keyof AppState]?: (value: AppState[K], previous: AppState[K], change: AppStateChange) => void
}

const isField = (name: string): name is keyof AppState => Object.hasOwn(getDefaultAppState(), name)

/**
 * A handler for `createStore`'s `onChange` that runs the effect of every field which changed (`Object.is`), in the
 * order they are written in `effects`.
 *
 * Effects are isolated as listeners are: one that throws keeps no other from running; its error is thrown after all ran
 * (of several: an AggregateError), and the store passes it on as a listener's. The reason of a promise that rejects goes
 * to `onEffectError`, without one to `console.error`; with one, what is thrown goes there too.
 *
 * @throws {TypeError} when `effects` names something that is no field of the state, or holds no function.
 */
export function onChangeAppState(
  effects: AppStateEffects,
  options: { onEffectError?: ((error: unknown) => void) | undefined } = {},
): (change: AppStateChange) => void {
  // A store of changes gives the effects all that listeners are promised.
  const changes = createStore<AppStateChange | undefined>(undefined, {
    onListenerError: options.onEffectError,
  })
  for (const name of Object.keys(effects)) {
    if (!isField(name)) throw new TypeError(`onChangeAppState: the state has no field '${name}'`)
    runOnChange(name, effects[name])
  }
  return (change) => changes.setState(() => ({ ...change }))

  function runOnChange<K extends keyof AppState>(name: K, effect: AppStateEffects[K]): void {
    if (effect === undefined) return
    if (typeof effect !== 'function')
      throw new TypeError(`onChangeAppState: the effect of '${name}' is no function`)
    changes.subscribe((change) => {
      if (!change) return undefined
      const value = change.state[name]
      const previous = change.previous[name]
      if (Object.is(value, previous)) return undefined
      return effect(value, previous, change)
    })
  }
}
