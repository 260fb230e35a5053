import assert from 'node:assert/strict'
import type { SessionKey, SessionStore } from '../store.ts'
import { assertHolds, assertUnwritten, entries, entry, errorOf, method } from './store-room.ts'
import type { OptionalMethod } from './store-room.ts'
import type { StoreSuiteOptions, StoreTest } from './store-suite.ts'

/** Lists and deletion, or that they are absent where that is declared. */
export function listTests(supports: NonNullable<StoreSuiteOptions['supports']>): StoreTest[] {
  return [...sessionTests, ...summaryTests, ...subkeyTests, ...deleteTests, ...inabilityTests(supports)]
}

const sessionTests: readonly StoreTest[] = [
  {
    name: 'listSessions gives each session of the project once, with a time in whole milliseconds',
    needs: 'listSessions',
    async run({ store, projectKey, newKey }) {
      const listSessions = method(store, 'listSessions')
      assert.deepStrictEqual(await listSessions(projectKey), [])
      const keys = [newKey(), newKey()]
      for (const key of keys) {
        await store.append(key, entries(2))
        await store.append({ ...key, subpath: 'subagents/agent-1' }, entries(1))
      }
      await store.append({ ...newKey(), projectKey: `${projectKey}-x` }, entries(1))
      const listed = await listSessions(projectKey)
      assert.deepStrictEqual(idsOf(listed), idsOf(keys))
      for (const { mtime } of listed)
        assert.ok(Number.isInteger(mtime) && mtime > 0, `mtime ${mtime} is no whole number of milliseconds`)
      const [first] = keys
      if (first) await store.append(first, entries(1))
      for (const { sessionId, mtime } of await listSessions(projectKey)) {
        const before = listed.find((one) => one.sessionId === sessionId)?.mtime ?? Infinity
        assert.ok(mtime >= before, 'mtime went back with an append')
      }
    },
  },
]

const summaryTests: readonly StoreTest[] = [
  {
    name: 'listSessionSummaries gives one for each session, with the time that listSessions has',
    needs: 'listSessionSummaries',
    async run({ store, projectKey, newKey }) {
      const listSessionSummaries = method(store, 'listSessionSummaries')
      assert.deepStrictEqual(await listSessionSummaries(projectKey), [])
      const keys = [newKey(), newKey()]
      for (const key of keys) {
        await store.append(key, entries(2))
        await store.append({ ...key, subpath: 'subagents/agent-1' }, entries(1))
      }
      const summaries = await listSessionSummaries(projectKey)
      assert.deepStrictEqual(idsOf(summaries), idsOf(keys))
      const listed = (await store.listSessions?.(projectKey)) ?? summaries
      for (const { sessionId, mtime, data } of summaries) {
        assert.equal(mtime, listed.find((one) => one.sessionId === sessionId)?.mtime, 'two clocks')
        assert.deepStrictEqual(JSON.parse(JSON.stringify(data)), data, 'data is not plain JSON')
      }
    },
  },
  {
    name: 'a summary tells the last title, wherever it stands, and is not the one of a subagent',
    needs: 'listSessionSummaries',
    async run({ store, projectKey, newKey }) {
      const listSessionSummaries = method(store, 'listSessionSummaries')
      const key = newKey()
      const titled = (customTitle: string) => ({ type: 'custom-title', customTitle })
      await store.append(key, [entry('begin'), titled('An older title')])
      await store.append(key, [titled('The last title'), ...entries(400, 'x'.repeat(500))])
      await store.append({ ...key, subpath: 'subagents/agent-1' }, [titled('Title of a subagent')])
      const read = async (): Promise<string> => JSON.stringify(await listSessionSummaries(projectKey))
      const text = await read()
      assert.ok(text.includes('The last title'), 'the last title is not told')
      assert.ok(!text.includes('An older title'), 'an older title is told')
      assert.ok(!text.includes('Title of a subagent'), 'the title of a subagent is told')
      const [summary] = await listSessionSummaries(projectKey)
      Object.assign(summary?.data ?? {}, { customTitle: 'changed' })
      assert.equal(await read(), text, 'a change to what was got changed what is kept')
    },
  },
]

const subkeyTests: readonly StoreTest[] = [
  {
    name: 'listSubkeys gives the subpaths of the session, not the session, not those of others',
    needs: 'listSubkeys',
    async run({ store, projectKey, newKey }) {
      const listSubkeys = method(store, 'listSubkeys')
      const key = newKey()
      const twin = { projectKey, sessionId: `${key.sessionId}-x` }
      assert.deepStrictEqual(await listSubkeys(key), [])
      await store.append(key, entries(1))
      assert.deepStrictEqual(await listSubkeys(key), [])
      const subpaths = ['subagents/agent-1', 'subagents/agent-2', 'subagents/deep/agent-3', 'other']
      for (const subpath of subpaths) await store.append({ ...key, subpath }, entries(1))
      await store.append({ ...twin, subpath: 'subagents/agent-4' }, entries(1))
      assert.deepStrictEqual((await listSubkeys(key)).toSorted(), subpaths.toSorted())
      assert.deepStrictEqual(await listSubkeys(twin), ['subagents/agent-4'])
    },
  },
]

const deleteTests: readonly StoreTest[] = [
  {
    name: 'delete removes a session with everything below it, and nothing else',
    needs: 'delete',
    async run({ store, projectKey, newKey }) {
      const remove = method(store, 'delete')
      const key = newKey()
      const others: SessionKey[] = [
        { projectKey, sessionId: `${key.sessionId}-x` },
        { projectKey, sessionId: `${key.sessionId}-x`, subpath: 'subagents/agent-1' },
        { projectKey: `${projectKey}-x`, sessionId: key.sessionId },
        { projectKey: `${projectKey}-x`, sessionId: key.sessionId, subpath: 'subagents/agent-1' },
      ]
      const kept = entries(2)
      const below = { ...key, subpath: 'subagents/agent-1' }
      for (const one of [key, below, ...others]) await store.append(one, kept)
      await remove(key)
      await assertUnwritten(store, key)
      await assertUnwritten(store, below)
      for (const one of others) await assertHolds(store, one, kept)
      assert.deepStrictEqual((await store.listSubkeys?.(key)) ?? [], [])
      const ids = (await store.listSessions?.(projectKey))?.map(({ sessionId }) => sessionId)
      assert.ok(ids === undefined || !ids.includes(key.sessionId), 'a deleted session is listed')
    },
  },
  {
    name: 'delete with a subpath removes that only; what is not there is no error',
    needs: 'delete',
    async run({ store, newKey }) {
      const remove = method(store, 'delete')
      const key = newKey()
      await remove(key)
      await remove({ ...key, subpath: 'subagents/agent-1' })
      const kept = entries(2)
      const subpaths = ['subagents/agent-1', 'subagents/agent-10', 'subagents/agent-1/agent-2']
      for (const one of [key, ...subpaths.map((subpath) => ({ ...key, subpath }))])
        await store.append(one, kept)
      await remove({ ...key, subpath: 'subagents/agent-1' })
      await assertUnwritten(store, { ...key, subpath: 'subagents/agent-1' })
      await assertHolds(store, key, kept)
      for (const subpath of subpaths.slice(1)) await assertHolds(store, { ...key, subpath }, kept)
    },
  },
  {
    name: 'a deleted session can be written anew, with the uuids that it had',
    needs: 'delete',
    async run({ store, newKey }) {
      const remove = method(store, 'delete')
      const key = newKey()
      const given = entries(3)
      for (const batch of [given, given.slice(1), given]) {
        await store.append(key, batch)
        await assertHolds(store, key, batch)
        await remove(key)
        await assertUnwritten(store, key)
      }
    },
  },
]

function idsOf(keys: readonly { sessionId: string }[]): string[] {
  return keys.map(({ sessionId }) => sessionId).toSorted()
}

const CALLS: Record<OptionalMethod, (store: SessionStore, key: SessionKey) => Promise<unknown> | undefined> =
  {
    delete: (store, key) => store.delete?.(key),
    listSessions: (store, { projectKey }) => store.listSessions?.(projectKey),
    listSessionSummaries: (store, { projectKey }) => store.listSessionSummaries?.(projectKey),
    listSubkeys: (store, key) => store.listSubkeys?.(key),
  }

function inabilityTests(supports: NonNullable<StoreSuiteOptions['supports']>): StoreTest[] {
  return Object.entries(CALLS)
    .filter(([name]) => supports[name as OptionalMethod] === false)
    .map(([name, call]) => ({
      name: `${name} is declared to be absent: there is no such method, or it refuses and changes nothing`,
      async run({ store, newKey }) {
        const key = newKey()
        const kept = entries(2)
        await store.append(key, kept)
        if (store[name as OptionalMethod] !== undefined) {
          const error = await errorOf(async () => call(store, key))
          assert.ok(error, `${name} is declared to be absent and answers`)
        }
        await assertHolds(store, key, kept)
      },
    }))
}
