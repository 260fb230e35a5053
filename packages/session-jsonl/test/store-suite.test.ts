import type { SessionKey, SessionStore, SessionStoreEntry } from '@loci/session-jsonl'
import { memorySessionStore } from '@loci/session-jsonl'
import { testSessionStore } from '@loci/session-jsonl/testing'
import type { StoreSuiteOptions } from '@loci/session-jsonl/testing'
import { afterEach, expect, test } from 'vitest'
import { BROKEN } from './broken-stores.ts'
import { PlainStore } from './plain-store.ts'

// What a broken store does to all objects must not reach the tests that come after it.
afterEach(() => {
  for (const key of Object.keys(Object.prototype)) Reflect.deleteProperty(Object.prototype, key)
})

/** The name of the first test that fails, or `undefined`. */
async function firstFailure(options: Omit<StoreSuiteOptions, 'test'>): Promise<string | undefined> {
  const tests: { name: string; run: () => Promise<void> }[] = []
  testSessionStore({ ...options, test: (name, run) => tests.push({ name, run }) })
  for (const { name, run } of tests) {
    try {
      await run()
    } catch (error) {
      if (!(error instanceof Error)) throw error
      return name
    }
  }
  return undefined
}

test('a sound store passes', async () => {
  expect(await firstFailure({ createStore: () => new PlainStore() })).toBe(undefined)
})

test.each(BROKEN)('a store that %s fails', async (fault, found, make) => {
  const reopen = fault.includes('other handles') ? { reopen: make } : {}
  const createStore = () => ({ store: make(), ...reopen })
  expect(await firstFailure({ createStore, supports: supportOf(make()) })).toMatch(found)
})

/** A store that lacks optional methods says so. */
function supportOf(store: SessionStore): NonNullable<StoreSuiteOptions['supports']> {
  const names = ['delete', 'listSessions', 'listSessionSummaries', 'listSubkeys'] as const
  return Object.fromEntries(names.filter((name) => store[name] === undefined).map((name) => [name, false]))
}

test('what is absent must be declared, and what is declared absent must not answer', async () => {
  const none = { delete: false, listSessions: false, listSessionSummaries: false, listSubkeys: false }
  const bare = (): SessionStore => {
    const store = memorySessionStore()
    return { append: (key, batch) => store.append(key, batch), load: (key) => store.load(key) }
  }
  expect(await firstFailure({ createStore: bare, supports: none })).toBe(undefined)
  for (const name of Object.keys(none)) {
    expect(await firstFailure({ createStore: bare, supports: { ...none, [name]: true } })).toContain(name)
    expect(await firstFailure({ createStore: () => memorySessionStore(), supports: { [name]: false } })).toBe(
      `correctness: ${name} is declared to be absent: there is no such method, or it refuses and changes nothing`,
    )
    const refusing = () =>
      Object.assign(memorySessionStore(), { [name]: () => Promise.reject(new Error(`no ${name} here`)) })
    const supports = { [name]: false, ...(name === 'listSessions' ? { listSessionSummaries: false } : {}) }
    if (name === 'listSessionSummaries')
      expect(await firstFailure({ createStore: refusing, supports })).toBe(undefined)
  }
})

test('a batch that was cut must be whole or gone, as declared', async () => {
  /** Keeps half of a batch when it is told to fail, and after that all of it, or only the other half. */
  const cutting = (how: 'half' | 'nothing' | 'forgets') => () => {
    let cut = false
    const store = memorySessionStore()
    const append = async (key: SessionKey, batch: SessionStoreEntry[]): Promise<void> => {
      if (!cut) return store.append(key, batch)
      cut = false
      if (how === 'half') await store.append(key, batch.slice(0, 5))
      if (how === 'forgets') await store.delete(key)
      throw new Error('cut')
    }
    return { store: { ...bound(store), append }, cutNextAppend: () => (cut = true) }
  }
  expect(await firstFailure({ createStore: cutting('nothing') })).toBe(undefined)
  expect(await firstFailure({ createStore: cutting('half') })).toContain('keeps nothing of its batch')
  const supports = { wholeBatches: false }
  expect(await firstFailure({ createStore: cutting('half'), supports })).toBe(undefined)
  expect(await firstFailure({ createStore: cutting('forgets'), supports })).toContain(
    'declared not to be whole',
  )
  expect(await firstFailure({ createStore: () => memorySessionStore(), supports })).toContain(
    'declared not to be whole',
  )
})

function bound(store: Required<SessionStore>): Required<SessionStore> {
  return {
    append: (key, batch) => store.append(key, batch),
    load: (key) => store.load(key),
    listSessions: (projectKey) => store.listSessions(projectKey),
    listSessionSummaries: (projectKey) => store.listSessionSummaries(projectKey),
    delete: (key) => store.delete(key),
    listSubkeys: (key) => store.listSubkeys(key),
  }
}

test('a failure names the key, and the texts of the entries that differ', async () => {
  const tests: { name: string; run: () => Promise<void> }[] = []
  const lossy = (): SessionStore => {
    const store = bound(memorySessionStore())
    const load = async (key: SessionKey): Promise<SessionStoreEntry[] | null> =>
      (await store.load(key))?.filter(({ message }) => !JSON.stringify(message ?? '').includes('"of ')) ??
      null
    return { ...store, load }
  }
  testSessionStore({ test: (name, run) => tests.push({ name, run }), createStore: lossy })
  const hostile = tests.find(({ name }) => name.includes('a hostile session is refused'))
  const error: unknown = await hostile?.run().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ name: 'AssertionError' })
  expect(String(error)).toMatch(
    /under {"projectKey":"-suite-[-\w]+","sessionId":"a"}, nothing is where "of a plain key" \([-\w]{36}\) should be/,
  )
})
