import assert from 'node:assert/strict'
import { assertRefused } from './history-room.ts'
import type { Room } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** A history whose rewind to m1 was cut short; `before` is what the project held when it began. */
async function cutShort(room: Room, cut: () => void): Promise<{ before: Record<string, string> }> {
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await room.write(name, 'before')
  await room.history.makeSnapshot('m1')
  for (const name of ['a.txt', 'b.txt', 'c.txt']) await room.edit(name, `edited ${name}`)
  const before = await room.texts()
  cut()
  await room.history.rewind('m1').catch(() => undefined)
  const half = await room.texts()
  assert.notDeepEqual(half, before, 'cutNextRewind() let the rewind write nothing')
  assert.ok(
    Object.values(half).some((text) => text.startsWith('edited')),
    'cutNextRewind() cut nothing',
  )
  await room.reopen('died')
  assert.deepStrictEqual(await room.texts(), half, 'opening has written into the project')
  return { before }
}

const REWOUND = { 'a.txt': 'before', 'b.txt': 'before', 'c.txt': 'before' }

async function assertPending(room: Room): Promise<void> {
  const pending = room.history.pendingRewind
  assert.ok(pending, 'an interrupted rewind must be told as pendingRewind')
  assert.equal(pending.messageId, 'm1')
  assert.deepStrictEqual([...pending.done, ...pending.left].toSorted(), Object.keys(REWOUND).map(room.path))
  const { history } = room
  for (const call of [
    () => history.trackEdit('d.txt', 'edit'),
    () => history.makeSnapshot('m2'),
    () => history.rewind('m1'),
  ])
    await assertRefused(call(), 'REWIND_INCOMPLETE')
}

/** From opening to closing, and after an end that nobody wanted. */
export const lifetimeTests: readonly HistoryTest[] = [
  {
    name: 'opened again, it has the same snapshots, and knows conflicts',
    needs: ['reopening'],
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a2')
      await room.history.makeSnapshot('m2')
      await room.edit('a.txt', 'a3')
      const snapshots = room.history.snapshots()
      await room.reopen()
      assert.deepStrictEqual(room.history.snapshots(), snapshots)
      await room.write('a.txt', 'by hand')
      await assertRefused(room.history.rewind('m1'), 'REWIND_CONFLICT')
      await room.write('a.txt', 'a3')
      await room.history.rewind('m2')
      assert.equal(await room.read('a.txt'), 'a2')
      await room.reopen()
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'the oldest snapshots make room, are refused as evicted, and the others are as they were',
    needs: ['eviction'],
    maxSnapshots: 3,
    async run(room) {
      await room.write('late.txt', 'late')
      for (const n of [1, 2, 3, 4, 5]) {
        await room.history.makeSnapshot(`m${n}`)
        await room.edit('a.txt', `a${n}`)
      }
      await room.edit('late.txt', 'edited')
      assert.deepStrictEqual(
        room.history.snapshots().map(({ messageId }) => messageId),
        ['m3', 'm4', 'm5'],
      )
      const before = await room.texts()
      for (const id of ['m1', 'm2']) await assertRefused(room.history.rewind(id), 'SNAPSHOT_EVICTED')
      assert.deepStrictEqual(await room.texts(), before)
      await room.history.gc()
      for (const n of [5, 3, 4]) {
        await room.history.rewind(`m${n}`)
        assert.deepStrictEqual(await room.texts(), { 'a.txt': `a${n - 1}`, 'late.txt': 'late' })
      }
    },
  },
  {
    name: 'an evicted snapshot is refused as such when it is opened again',
    needs: ['eviction', 'reopening'],
    maxSnapshots: 2,
    async run(room) {
      for (const id of ['m1', 'm2', 'm3']) await room.history.makeSnapshot(id)
      await room.reopen()
      await assertRefused(room.history.rewind('m1'), 'SNAPSHOT_EVICTED')
      assert.equal(room.history.snapshots().length, 2)
    },
  },
  {
    name: 'closed, it refuses what would change something',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      const { history } = room
      await history.close()
      for (const call of [
        () => history.trackEdit('a.txt', 'edit'),
        () => history.makeSnapshot('m2'),
        () => history.rewind('m1'),
      ])
        await assertRefused(call(), 'HISTORY_LOCKED')
      assert.equal(await room.read('a.txt'), 'a1')
      await history.close()
    },
  },
  {
    name: 'as long as no rewind was interrupted, none is pending and there is nothing to resolve',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      await room.history.rewind('m1')
      assert.equal(room.history.pendingRewind, null)
      for (const how of ['finish', 'undo'] as const) {
        await assertRefused(room.history.resolveRewind(how), 'SNAPSHOT_NOT_FOUND')
      }
      assert.deepStrictEqual(await room.texts(), {})
    },
  },
  {
    name: 'an interrupted rewind is told, stops what would come after it, and can be finished',
    needs: ['interruption', 'reopening'],
    async run(room) {
      const { cutNextRewind } = room
      // Where nothing can be cut there is nothing to see.
      if (cutNextRewind === undefined) return
      await cutShort(room, cutNextRewind)
      await assertPending(room)
      const result = await room.history.resolveRewind('finish')
      assert.deepStrictEqual(await room.texts(), REWOUND)
      assert.deepStrictEqual(result.restored, Object.keys(REWOUND).map(room.path))
      assert.equal(room.history.pendingRewind, null)
    },
  },
  {
    name: 'what an interrupted rewind overwrote can be undone once it is finished, not before',
    needs: ['interruption', 'reopening', 'undo'],
    async run(room) {
      const { cutNextRewind } = room
      if (cutNextRewind === undefined) return
      const { before } = await cutShort(room, cutNextRewind)
      await assertRefused(room.history.undoRewind(), 'REWIND_INCOMPLETE')
      await room.history.resolveRewind('finish')
      await room.history.undoRewind()
      assert.deepStrictEqual(await room.texts(), before)
    },
  },
  {
    name: 'an interrupted rewind can be taken back, and what somebody did since is left and named',
    needs: ['interruption', 'reopening'],
    async run(room) {
      const { cutNextRewind } = room
      if (cutNextRewind === undefined) return
      const { before } = await cutShort(room, cutNextRewind)
      await assertPending(room)
      const texts = await room.texts()
      const done = Object.keys(REWOUND).find((name) => texts[name] === 'before') ?? ''
      await room.write(done, 'by hand')
      const result = await room.history.resolveRewind('undo')
      assert.deepStrictEqual(
        result.conflicts.map(({ path }) => path),
        [room.path(done)],
      )
      assert.deepStrictEqual(await room.texts(), { ...before, [done]: 'by hand' })
      assert.equal(room.history.pendingRewind, null)
      await room.history.makeSnapshot('m2')
    },
  },
]
