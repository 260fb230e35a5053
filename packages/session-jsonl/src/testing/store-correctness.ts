import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { SessionKey } from '../store.ts'
import { assertHolds, assertUnwritten, entries, entry } from './store-room.ts'
import type { StoreTest } from './store-suite.ts'

/** What every store must do with `append` and `load`. */
export const correctnessTests: readonly StoreTest[] = [
  {
    name: 'a key that was never written is null, also beside one that was',
    async run({ store, newKey, projectKey }) {
      const key = newKey()
      await assertUnwritten(store, key)
      await assertUnwritten(store, { ...key, subpath: 'subagents/agent-1' })
      await store.append(key, [entry('one')])
      await assertUnwritten(store, { ...key, subpath: 'subagents/agent-1' })
      await assertUnwritten(store, newKey())
      await assertUnwritten(store, { ...key, projectKey: `${projectKey}-other` })
      const other = newKey()
      await store.append({ ...other, subpath: 'subagents/agent-1' }, [entry('one')])
      await assertUnwritten(store, other)
    },
  },
  {
    name: 'entries come back deep-equal, of every kind, known or not',
    async run({ store, newKey }) {
      const key = newKey()
      const given = [
        { type: 'queue-operation', operation: 'enqueue', timestamp: '2026-01-01T00:00:00.000Z' },
        entry('prompt', { parentUuid: null, isSidechain: false, cwd: '/home/user/project' }),
        entry('answer', {
          type: 'assistant',
          message: { role: 'assistant', content: [{ type: 'text', text: 'x' }] },
        }),
        { type: 'file-history-snapshot', messageId: 'm', snapshot: { trackedFileBackups: {} } },
        { type: 'agent_metadata', agentType: 'general-purpose', description: 'look', finished: true },
        {
          type: 'nobody-knows-this',
          empty: {},
          none: null,
          list: [[], [1, 'a', null, false]],
          uuid: randomUUID(),
        },
        { type: 'numbers', values: [0, -1, 0.1, 1e21, 9_007_199_254_740_991, 5e-324] },
      ]
      await store.append(key, structuredClone(given))
      await assertHolds(store, key, given)
    },
  },
  {
    name: 'entries are in the order of the calls, awaited or not',
    async run({ store, newKey }) {
      const key = newKey()
      const given = entries(60)
      await store.append(key, given.slice(0, 1))
      await store.append(key, given.slice(1, 20))
      await Promise.all(given.slice(20).map((one) => store.append(key, [one])))
      await assertHolds(store, key, given)
    },
  },
  {
    name: 'an entry without uuid is kept as often as it was given',
    async run({ store, newKey }) {
      const key = newKey()
      const mode = { type: 'mode', mode: 'default' }
      await store.append(key, [mode])
      await store.append(key, [mode])
      await store.append(key, [mode, mode])
      await assertHolds(store, key, [mode, mode, mode, mode])
    },
  },
  {
    name: 'a batch without entries changes nothing',
    async run({ store, newKey }) {
      const key = newKey()
      await store.append(key, [])
      const held = await store.load(key)
      assert.ok(held === null || held.length === 0, 'nothing was appended, and something is there')
      const one = entry('one')
      await store.append(key, [one])
      await store.append(key, [])
      await assertHolds(store, key, [one])
    },
  },
  {
    name: 'what was given and what was got can be changed without changing what is kept',
    async run({ store, newKey }) {
      const key = newKey()
      const given = entry('one', { nested: { list: [1] } })
      const expected = structuredClone(given)
      const batch = [given]
      const pending = store.append(key, batch)
      batch.push(entry('added while the call waits'))
      Object.assign(given, { type: 'changed', nested: 0 })
      await pending
      const [got] = (await store.load(key)) ?? []
      assert.deepStrictEqual(got, expected, 'a change to what was given changed what is kept')
      Object.assign(got ?? {}, { type: 'changed' })
      Object.assign((got?.['nested'] as object | undefined) ?? {}, { list: [] })
      await assertHolds(store, key, [expected])
    },
  },
  {
    name: 'projects, sessions and subpaths are apart, also where one name begins with another',
    async run({ store, projectKey, newKey }) {
      const { sessionId } = newKey()
      const keys: SessionKey[] = [
        { projectKey, sessionId },
        { projectKey: `${projectKey}-x`, sessionId },
        { projectKey, sessionId: `${sessionId}-x` },
        // Joined without care these two are one name.
        { projectKey: `${projectKey}-a`, sessionId: 'b' },
        { projectKey, sessionId: 'a-b' },
        // `_` stands for any character in some query languages.
        { projectKey, sessionId: 'a_b' },
        { projectKey, sessionId: 'subagents' },
        { projectKey, sessionId, subpath: 'subagents/agent-1' },
        { projectKey, sessionId, subpath: 'subagents/agent-10' },
        { projectKey, sessionId, subpath: 'subagents-agent-1' },
        { projectKey, sessionId, subpath: 'agent-1' },
        { projectKey, sessionId, subpath: 'subagents/agent-1/agent-2' },
        { projectKey, sessionId: 'subagents', subpath: 'agent-1' },
      ]
      // One uuid in all of them: it is unique in its transcript only.
      const uuid = randomUUID()
      for (const [n, key] of keys.entries()) await store.append(key, [entry(`of key ${n}`, { uuid })])
      for (const [n, key] of keys.entries()) {
        const held = await store.load(key)
        const content = held?.map(({ message }) => (message as { content?: unknown }).content)
        assert.deepStrictEqual(content, [`of key ${n}`], `the key ${JSON.stringify(key)} is not apart`)
      }
    },
  },
  {
    name: 'another handle on the same data sees what was kept',
    async run({ store, reopen, newKey }) {
      const key = newKey()
      const given = entries(3)
      await store.append(key, given)
      await assertHolds(await reopen(), key, given)
    },
  },
]
