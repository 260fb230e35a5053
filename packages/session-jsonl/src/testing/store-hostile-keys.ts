import assert from 'node:assert/strict'
import type { SessionKey } from '../store.ts'
import { assertHolds, entry, errorOf } from './store-room.ts'
import type { Room } from './store-room.ts'
import type { StoreTest } from './store-suite.ts'

/** Names that lead elsewhere where a name is a path, a pattern, a statement, or a field of an object. */
const HOSTILE_NAMES: readonly string[] = [
  ...String.raw`. .. ... / \ /etc /etc/passwd ../x ..\x a/../b a/../../b a\..\b ./b b/ b//c b/./c ~ ~/x`.split(
    ' ',
  ),
  ...String.raw`C:\x C: CON nul.jsonl b:stream b. .hidden .git - --help % _ * ? %2e%2e %2e%2e%2fb`.split(' '),
  ...'" $1 {} null undefined 0 [] __proto__ constructor prototype toString hasOwnProperty'.split(' '),
  ...'memory subagents b.jsonl B ｂ é e\u0301 \uD800 \uDC00 🙂 \u202Eb'.split(' '),
  ...['', ' b', 'b ', 'b\0', '\0', 'b\0c', 'b\nc', "'; DROP TABLE entries; --", '\uFEFFb'].concat(
    [300, 5_000].map((length) => 'x'.repeat(length)),
  ),
]

/** Keys as somebody would make them who wants to get at the data of others. */
export const hostileKeyTests: readonly StoreTest[] = [
  {
    name: 'a hostile project is refused, or kept apart from all others',
    run: (room) => tryKeys(room, (name) => ({ projectKey: name, sessionId: 'b' })),
  },
  {
    name: 'a hostile session is refused, or kept apart from all others',
    run: (room) => tryKeys(room, (name) => ({ projectKey: room.projectKey, sessionId: name })),
  },
  {
    name: 'a hostile subpath is refused, or kept apart from all others',
    run: (room) => tryKeys(room, (name) => ({ projectKey: room.projectKey, sessionId: 'b', subpath: name })),
  },
  {
    name: 'a hostile subpath that leads to another session or project is refused, or kept apart',
    run: (room) =>
      tryKeys(room, (name) => ({ projectKey: room.projectKey, sessionId: 'a', subpath: `../${name}` })),
  },
  {
    name: 'what is no key is refused',
    async run({ store }) {
      for (const key of [undefined, null] as unknown[]) {
        assert.ok(await errorOf(() => store.append(key as SessionKey, [entry('x')])), 'it was accepted')
      }
    },
  },
]

async function tryKeys(room: Room, keyOf: (name: string) => SessionKey): Promise<void> {
  const { store, projectKey } = room
  const kept = new Map<string, { key: SessionKey; entry: ReturnType<typeof entry> }>()
  const keep = async (key: SessionKey, own: ReturnType<typeof entry>): Promise<void> => {
    await store.append(key, [own])
    kept.set(JSON.stringify(key), { key, entry: own })
  }
  // What the hostile ones may be taken for.
  for (const key of [
    { projectKey, sessionId: 'a' },
    { projectKey, sessionId: 'b' },
    { projectKey, sessionId: 'a', subpath: 'b' },
    { projectKey, sessionId: 'b', subpath: 'b' },
    { projectKey, sessionId: 'b', subpath: 'b/c' },
    { projectKey, sessionId: 'c', subpath: 'b' },
  ])
    await keep(key, entry('of a plain key'))
  const refused: SessionKey[] = []
  for (const name of HOSTILE_NAMES) {
    const key = keyOf(name)
    if (kept.has(JSON.stringify(key))) continue
    // The data may be shared with earlier runs: a name such as `..` is the same project for all of them.
    const before = await loadOrRefused(room, key)
    const error = await errorOf(() => keep(key, entry(`of ${JSON.stringify(key)}`)))
    if (error) refused.push(key)
    else if (before !== null) {
      kept.delete(JSON.stringify(key))
      await store.delete?.(key)
    }
  }
  for (const key of refused) {
    const held = await loadOrRefused(room, key)
    assert.ok(held === null, `${JSON.stringify(key)} was refused, and gives entries`)
  }
  for (const { key, entry: own } of kept.values()) await assertHolds(store, key, [own])
  if (store.delete) for (const { key } of kept.values()) await store.delete(key)
}

/** What is under a key; `null` also where reading it is refused. */
async function loadOrRefused({ store }: Room, key: SessionKey): Promise<unknown> {
  let held: unknown = null
  await errorOf(async () => {
    held = await store.load(key)
  })
  return held
}
