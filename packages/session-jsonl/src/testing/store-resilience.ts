import assert from 'node:assert/strict'
import type { SessionStoreEntry } from '../store.ts'
import { assertHolds, assertUnwritten, entries, entry, errorOf, idOf, method } from './store-room.ts'
import type { StoreSuiteOptions, StoreTest } from './store-suite.ts'

/** What a store must bear. */
export function resilienceTests(supports: NonNullable<StoreSuiteOptions['supports']>): StoreTest[] {
  return [
    ...retryTests,
    ...crowdTests,
    ...contentTests,
    supports.wholeBatches === false ? cutBatchTest : wholeBatchTest,
  ]
}

const retryTests: readonly StoreTest[] = [
  {
    name: 'an entry whose uuid is there is not kept twice: in one batch, in another, through another handle',
    async run({ store, reopen, newKey }) {
      const key = newKey()
      const [a, b, c] = [entry('a'), entry('b'), entry('c')]
      await store.append(key, [a, b, a])
      await assertHolds(store, key, [a, b])
      await store.append(key, [b, c, b, c])
      await assertHolds(store, key, [a, b, c])
      await store.append(key, [a])
      await (await reopen()).append(key, [b, a, c])
      await store.append(key, [c])
      await assertHolds(store, key, [a, b, c])
    },
  },
  {
    name: 'an entry that comes again with other content does not replace the one that is there',
    async run({ store, newKey }) {
      const key = newKey()
      const first = entry('first')
      await store.append(key, [first])
      await store.append(key, [entry('second', { uuid: first.uuid })])
      await assertHolds(store, key, [first])
    },
  },
  {
    name: 'uuids are told apart to the last character, and by case',
    async run({ store, newKey }) {
      const key = newKey()
      const uuids = ['a', 'A', 'a ', 'aa', 'a%', 'a_', '__proto__', 'constructor', 'x'.repeat(300)]
      const given = uuids.map((uuid) => entry(uuid, { uuid }))
      for (const one of given) await store.append(key, [one])
      await store.append(key, given)
      await assertHolds(store, key, given)
    },
  },
  {
    name: 'a batch whose answer was lost can be sent again, also with more behind it',
    async run({ store, reopen, newKey }) {
      const key = newKey()
      const given = entries(6)
      await store.append(key, given.slice(0, 3))
      await store.append(key, given.slice(0, 3))
      await store.append(key, given.slice(0, 5))
      await (await reopen()).append(key, given)
      await assertHolds(store, key, given)
    },
  },
  {
    name: 'batches that come in another order, some again, are kept as they came',
    async run({ store, newKey }) {
      const key = newKey()
      const given = entries(6)
      const [first, second, third] = [given.slice(0, 2), given.slice(2, 4), given.slice(4)]
      for (const batch of [third, first, third, second, first]) await store.append(key, batch)
      await assertHolds(store, key, [...third, ...first, ...second])
    },
  },
]

const crowdTests: readonly StoreTest[] = [
  {
    name: 'many callers at once: every entry once, those of each caller in its order',
    async run({ store, reopen, newKey }) {
      const handles = [store, await reopen()]
      // A key that is new to all of them, and one that is not.
      for (const first of [[], entries(1, 'first')]) {
        const key = newKey()
        await store.append(key, first)
        // Each of these is new to the store while all of them bring it.
        const all = entries(4, 'of everybody')
        const callers = Array.from({ length: 8 }, (_, n) => entries(12, `caller ${n}`))
        await Promise.all(
          callers.map(async (own, n) => {
            const handle = handles[n % 2] ?? store
            for (const [round, shared] of all.entries())
              await handle.append(key, [...own.slice(round * 3, round * 3 + 3), shared])
          }),
        )
        const held = ((await store.load(key)) ?? []).map(idOf)
        assert.deepStrictEqual(held.toSorted(), [...first, ...callers.flat(), ...all].map(idOf).toSorted())
        for (const ids of callers.map((own) => own.map(idOf)))
          assert.deepStrictEqual(
            held.filter((id) => ids.includes(id)),
            ids,
            'a caller has lost its order',
          )
      }
    },
  },
  {
    name: 'delete during appends: each batch is there whole or not at all, and writing goes on',
    needs: 'delete',
    async run({ store, newKey }) {
      const remove = method(store, 'delete')
      const key = newKey()
      const keys = [key, { ...key, subpath: 'subagents/agent-1' }]
      const batches = Array.from({ length: 8 }, (_, n) => entries(3, `batch ${n}`))
      const calls: Promise<unknown>[] = []
      for (const [n, batch] of batches.entries()) {
        for (const one of keys) calls.push(errorOf(() => store.append(one, batch)))
        if (n % 3 === 1) calls.push(remove(key))
      }
      await Promise.all(calls)
      const last = entry('last')
      for (const one of keys) {
        await store.append(one, [last])
        const held = ((await store.load(one)) ?? []).map(idOf)
        const whole = batches.map((batch) => batch.map(idOf)).filter(([first]) => held.includes(first ?? ''))
        assert.deepStrictEqual(held, [...whole.flat(), last.uuid], 'half a batch, or in another order')
      }
      await remove(key)
      for (const one of keys) await assertUnwritten(store, one)
    },
  },
]

const contentTests: readonly StoreTest[] = [
  {
    name: 'entries of megabytes, and ten thousand in one batch',
    async run({ store, newKey }) {
      const [large, many] = [newKey(), newKey()]
      const huge = [entry('é'.repeat(1_000_000)), entry('x'.repeat(4_000_000)), entry('small')]
      await store.append(large, huge)
      await assertHolds(store, large, huge)
      const batch = entries(10_000)
      await store.append(many, batch)
      await store.append(many, batch.slice(9_000))
      await assertHolds(store, many, batch)
    },
  },
  {
    name: 'text that is not well-formed, line ends that are none, field names that mean something elsewhere',
    async run({ store, newKey }) {
      const key = newKey()
      const strange = JSON.parse(
        '{"type":"user","uuid":"strange","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"x","length":-1,"":"empty","10":"ten","2":"two","$ref":"#","a.b":1,"emoji 🙂":"🙂"}',
      ) as SessionStoreEntry
      const given = [
        strange,
        entry('lone \uD800 and \uDC00, a pair 🙂, noncharacter \uFFFF, mark \uFEFF'),
        entry('ends \u2028 of \u2029 lines \u0085 that \r\n are \n none \v \f'),
        entry('zero \0 and \u0001 and \u007F and \\ " \\u0000 %00 \\\\n'),
        entry('', {
          parentUuid: '',
          timestamp: '',
          deep: JSON.parse('['.repeat(200) + ']'.repeat(200)) as unknown,
        }),
        entry('{"type":"user","uuid":"inside"}\n{"type":"user","uuid":"inside"}'),
      ]
      await store.append(key, structuredClone(given))
      await assertHolds(store, key, given)
      assert.equal(
        ({} as { polluted?: boolean }).polluted,
        undefined,
        'the prototype of all objects was changed',
      )
    },
  },
  {
    name: 'a batch with an entry that JSON has no form for is refused as a whole',
    async run({ store, newKey }) {
      const key = newKey()
      const ring: Record<string, unknown> = { type: 'user' }
      ring['self'] = ring
      for (const bad of [ring, { type: 'user', big: 1n }]) {
        const batch = [entry('before'), bad as SessionStoreEntry, entry('after')]
        assert.ok(await errorOf(() => store.append(key, batch)), 'an entry that cannot be kept was accepted')
        await assertUnwritten(store, key)
      }
      const good = entry('good')
      await store.append(key, [good])
      await assertHolds(store, key, [good])
    },
  },
]

const wholeBatchTest: StoreTest = {
  name: 'a call that fails in its middle keeps nothing of its batch, and the same call again keeps all of it',
  async run({ store, cutNextAppend, newKey }) {
    // Where nothing can be cut there is nothing to see.
    if (cutNextAppend === undefined) return
    const key = newKey()
    const before = entries(2, 'before')
    const batch = entries(20, 'cut')
    await store.append(key, before)
    cutNextAppend()
    assert.ok(await errorOf(() => store.append(key, batch)), 'cutNextAppend() did not make the call fail')
    await assertHolds(store, key, before)
    await store.append(key, batch)
    await assertHolds(store, key, [...before, ...batch])
  },
}

const cutBatchTest: StoreTest = {
  name: 'batches are declared not to be whole: a call that fails in its middle keeps a beginning, and the same call again the rest',
  async run({ store, reopen, cutNextAppend, newKey }) {
    assert.ok(
      cutNextAppend,
      'a store without wholeBatches needs cutNextAppend, to show that a retry puts it right',
    )
    const key = newKey()
    const before = entries(2, 'before')
    const batch = entries(20, 'cut')
    await store.append(key, before)
    cutNextAppend()
    assert.ok(await errorOf(() => store.append(key, batch)), 'cutNextAppend() did not make the call fail')
    const held = ((await store.load(key)) ?? []).map(idOf)
    assert.deepStrictEqual(held, [...before, ...batch].map(idOf).slice(0, held.length), 'no beginning')
    assert.ok(held.length >= before.length, 'what was kept before is gone')
    await (await reopen()).append(key, batch)
    await assertHolds(store, key, [...before, ...batch])
  },
}
