import type { Store, StoreOptions } from '@loci/app-state'

interface Entry<T> {
  listener: (state: T, previous: T) => void
}

/**
 * The promises of a store in the plainest way: at each change the whole list of listeners is copied into the change. Slow, and
 * without promises and the limit on changes; what `createStore` is compared with.
 */
export function naiveStore<T>(initial: T, options: StoreOptions<T> = {}): Store<T> {
  let state = initial
  let entries: Entry<T>[] = []
  const waiting: { state: T; previous: T; audience: Entry<T>[] }[] = []
  let telling = false

  const { onChange, onListenerError } = options
  if (onChange) entries.push({ listener: (now, previous) => onChange({ state: now, previous }) })

  return {
    getState: () => state,
    setState(updater) {
      const previous = state
      const next = updater(previous)
      if (Object.is(next, previous)) return
      state = next
      waiting.push({ state, previous, audience: [...entries] })
      if (telling) return
      telling = true
      const errors: unknown[] = []
      for (let change = waiting.shift(); change; change = waiting.shift())
        for (const entry of change.audience) {
          if (!entries.includes(entry)) continue
          try {
            entry.listener(change.state, change.previous)
          } catch (error) {
            if (onListenerError) onListenerError(error)
            else errors.push(error)
          }
        }
      telling = false
      if (errors.length === 1) throw errors[0]
      if (errors.length > 1) throw new AggregateError(errors)
    },
    subscribe(listener) {
      const entry = { listener }
      entries.push(entry)
      return () => {
        entries = entries.filter((other) => other !== entry)
      }
    },
  }
}
