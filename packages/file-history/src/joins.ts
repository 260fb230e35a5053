import type { Backup, FileHistoryState, Snapshot } from './snapshot.ts'

/**
 * Entries that are added one by one. Each addition makes a new value and leaves the former as it was, without copying:
 * all of them share one map, of which each sees the beginning.
 */
class Additions<V> {
  readonly #shared: Map<string, { value: V; place: number }>
  readonly #count: number

  constructor(shared: Map<string, { value: V; place: number }> = new Map(), count = 0) {
    this.#shared = shared
    this.#count = count
  }

  get(key: string): V | undefined {
    const found = this.#shared.get(key)
    return found !== undefined && found.place < this.#count ? found.value : undefined
  }

  /** With an entry of a key that has none. */
  with(key: string, value: V): Additions<V> {
    // Where something else was added after these, that stays with those who saw it added.
    const isLast = this.#shared.size === this.#count
    const shared = isLast ? this.#shared : new Map([...this.#shared].slice(0, this.#count))
    shared.set(key, { value, place: this.#count })
    return new Additions(shared, this.#count + 1)
  }

  /** In the order in which they were added. */
  entries(): [string, V][] {
    return Array.from(this.#shared, ([key, { value }]): [string, V] => [key, value]).slice(0, this.#count)
  }
}

/** Of snapshots and states that files joined: what they held at first, and what joined since. */
const snapshotJoins = new WeakMap<Snapshot, { first: Record<string, Backup>; joined: Additions<Backup> }>()
const stateJoins = new WeakMap<FileHistoryState, { first: ReadonlySet<string>; joined: Additions<true> }>()

/** What a snapshot held before the first file joined it, and what joined; `undefined`: nothing did. */
export function joinedTo(
  snapshot: Snapshot,
): { first: Record<string, Backup>; joined: { get(key: string): Backup | undefined } } | undefined {
  return snapshotJoins.get(snapshot)
}

/** The record is put together when it is asked for: of a thousand files that join at once, once and not a thousand times. */
export function withJoined(snapshot: Snapshot, key: string, backup: Backup): Snapshot {
  const { messageId, timestamp } = snapshot
  const known = snapshotJoins.get(snapshot)
  const first = known?.first ?? snapshot.trackedFileBackups
  const joined = (known?.joined ?? new Additions<Backup>()).with(key, backup)
  let whole: Record<string, Backup> | undefined
  const result: Snapshot = {
    messageId,
    get trackedFileBackups() {
      whole ??= { ...first, ...Object.fromEntries(joined.entries()) }
      return whole
    },
    timestamp,
  }
  snapshotJoins.set(result, { first, joined })
  return result
}

/** As {@link withJoined}, of the tracked files. */
export function withTracked(
  state: FileHistoryState,
  snapshots: readonly Snapshot[],
  key: string,
): FileHistoryState {
  const known = stateJoins.get(state)
  const first = known?.first ?? state.trackedFiles
  const earlier = known?.joined ?? new Additions<true>()
  const joined = first.has(key) || earlier.get(key) ? earlier : earlier.with(key, true)
  let whole: ReadonlySet<string> | undefined
  const result: FileHistoryState = {
    snapshots,
    evictedIds: state.evictedIds,
    get trackedFiles() {
      whole ??= withKeys(
        first,
        joined.entries().map(([added]) => added),
      )
      return whole
    },
  }
  stateJoins.set(result, { first, joined })
  return result
}

/** The same set where it has all of these keys: most snapshots hold the files of the one before. */
export function withKeys(tracked: ReadonlySet<string>, keys: readonly string[]): ReadonlySet<string> {
  return keys.every((key) => tracked.has(key)) ? tracked : new Set([...tracked, ...keys])
}
