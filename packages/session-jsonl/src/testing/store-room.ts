import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
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

/** Fails unless the store gives exactly these entries, in this order, under the key; names the key and an entry. */
export async function assertHolds(
  store: SessionStore,
  key: SessionKey,
  expected: readonly SessionStoreEntry[],
): Promise<void> {
  const held: unknown = await store.load(key)
  const where = `under ${JSON.stringify(key)}`
  if (!Array.isArray(held)) {
    const gave = held === null ? 'null' : typeof held
    return assert.fail(`${where}, load gave ${gave} where ${told(expected[0])} was kept`)
  }
  const odd = expected.findIndex((one, at) => !isDeepStrictEqual(held[at], one))
  if (odd === -1 && held.length === expected.length) return
  const at = odd === -1 ? expected.length : odd
  const message = `${where}, ${told(held[at])} is where ${told(expected[at])} should be, the entry number ${at}`
  throw new assert.AssertionError({
    message,
    actual: held[at],
    expected: expected[at],
    operator: 'deepStrictEqual',
  })
}

/** An entry in a message: its text, cut, and what tells it from others of the same text. */
function told(given: unknown): string {
  if (given === undefined) return 'nothing'
  const { type, uuid, message } = given as { type?: unknown; uuid?: unknown; message?: { content?: unknown } }
  const text = JSON.stringify(message?.content ?? type)
  return `${text.length > 200 ? `${text.slice(0, 200)}…` : text} (${String(uuid ?? type)})`
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
