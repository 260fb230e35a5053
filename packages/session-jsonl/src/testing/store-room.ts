import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { SessionKey, SessionStore, SessionStoreEntry } from '../store.ts'
import type { StoreSuiteOptions, StoreUnderTest } from './store-suite.ts'

/** The optional methods of a store. */
export type OptionalMethod = 'listSessions' | 'listSessionSummaries' | 'delete' | 'listSubkeys'

/** What one test works with: a store, and keys that no other test uses. */
export interface Room {
  store: SessionStore
  /** A second handle; the same one where the store has none. */
  reopen: () => Promise<SessionStore>
  cutNextAppend: (() => void) | undefined
  projectKey: string
  /** A key of a new session in the room's project. */
  newKey: () => SessionKey
  close: () => Promise<void>
}

/** Makes the room of a test. */
export async function openRoom(createStore: StoreSuiteOptions['createStore']): Promise<Room> {
  const made = await createStore()
  const { store, reopen, cutNextAppend, close }: StoreUnderTest = 'store' in made ? made : { store: made }
  const projectKey = `-suite-${randomUUID()}`
  return {
    store,
    reopen: async () => (reopen ? reopen() : store),
    cutNextAppend,
    projectKey,
    newKey: () => ({ projectKey, sessionId: randomUUID() }),
    close: async () => close?.(),
  }
}

/** An entry as a transcript has it, with a uuid of its own. */
export function entry(
  text: string,
  fields: Record<string, unknown> = {},
): SessionStoreEntry & { uuid: string } {
  return {
    type: 'user',
    uuid: randomUUID(),
    timestamp: '2026-01-01T00:00:00.000Z',
    message: { role: 'user', content: text },
    ...fields,
  }
}

/** That many entries. */
export function entries(count: number, text = 'entry'): (SessionStoreEntry & { uuid: string })[] {
  return Array.from({ length: count }, (_, n) => entry(`${text} ${n}`))
}

/** Fails unless the store gives exactly these entries, in this order, under the key. */
export async function assertHolds(
  store: SessionStore,
  key: SessionKey,
  expected: readonly SessionStoreEntry[],
): Promise<void> {
  const held = await store.load(key)
  assert.ok(Array.isArray(held), `load gave ${held === null ? 'null' : typeof held} where entries were kept`)
  assert.deepStrictEqual(held.map(idOf), expected.map(idOf), 'other entries, or in another order')
  assert.deepStrictEqual(held, expected)
}

/** Fails unless the store gives `null` for the key. */
export async function assertUnwritten(store: SessionStore, key: SessionKey): Promise<void> {
  assert.equal(await store.load(key), null, 'load must give null for a key that was never written')
}

/** What tells an entry in a message of a failed test. */
export function idOf(given: SessionStoreEntry): string {
  return given.uuid ?? given.type
}

/** An optional method, bound; fails where it is absent and that was not declared. */
export function method<M extends OptionalMethod>(store: SessionStore, name: M): NonNullable<SessionStore[M]> {
  const found: unknown = store[name]
  if (typeof found !== 'function')
    assert.fail(`${name} is absent; declare that with supports: { ${name}: false }`)
  const bound: unknown = found.bind(store)
  return bound as NonNullable<SessionStore[M]>
}

/** What a call threw or rejected with; `undefined` if it did not. Nothing that is no Error is let through. */
export async function errorOf(call: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await call()
    return undefined
  } catch (error) {
    assert.ok(error instanceof Error, 'what is thrown must be an Error')
    assert.notEqual(error.message.trim(), '', 'an error must say what is wrong')
    return error
  }
}
