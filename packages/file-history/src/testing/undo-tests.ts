import assert from 'node:assert/strict'
import { assertRefused, pathsOf } from './history-room.ts'
import type { Room } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** A project that was rewound: one file written, one deleted, one made again. */
async function rewound(
  room: Room,
): Promise<{ before: Record<string, string>; after: Record<string, string> }> {
  await room.write('a.txt', 'a1')
  await room.write('gone.txt', 'g1')
  await room.history.makeSnapshot('m1')
  await room.edit('a.txt', 'a2')
  await room.edit('gone.txt', null)
  await room.edit('made.txt', 'made')
  const before = await room.texts()
  const { undoable } = await room.history.rewind('m1')
  assert.equal(undoable, true, 'a rewind that changed something must be undoable')
  return { before, after: await room.texts() }
}

/** What a rewind overwrites is not lost. */
export const undoTests: readonly HistoryTest[] = [
  {
    name: 'an undo brings back what the rewind overwrote, deleted and made',
    needs: ['undo'],
    async run(room) {
      const { before } = await rewound(room)
      const result = await room.history.undoRewind()
      assert.deepStrictEqual(await room.texts(), before)
      assert.deepStrictEqual(result.restored, ['a.txt', 'made.txt'].map(room.path))
      assert.deepStrictEqual(result.deleted, [room.path('gone.txt')])
    },
  },
  {
    name: 'an undo brings permission bits back',
    needs: ['undo', 'modes'],
    async run(room) {
      await room.write('a.sh', 'a1', 0o755)
      await room.history.makeSnapshot('m1')
      await room.history.trackEdit('a.sh', 'edit')
      await room.write('a.sh', 'a2', 0o600)
      await room.history.recordEdit('a.sh', 'edit')
      await room.history.rewind('m1')
      await room.history.undoRewind()
      assert.equal(await room.mode('a.sh'), 0o600)
    },
  },
  {
    name: 'an undo can be undone, and that as well',
    needs: ['undo'],
    async run(room) {
      const { before, after } = await rewound(room)
      for (const expected of [before, after, before, after]) {
        const { undoable } = await room.history.undoRewind()
        assert.deepStrictEqual(await room.texts(), expected)
        assert.equal(undoable, true)
      }
    },
  },
  {
    name: 'an undo leaves and names what was changed since, unless it is told to overwrite',
    needs: ['undo'],
    async run(room) {
      const { before } = await rewound(room)
      await room.write('a.txt', 'by hand')
      const result = await room.history.undoRewind()
      assert.deepStrictEqual(pathsOf(result.conflicts), [room.path('a.txt')])
      assert.deepStrictEqual(await room.texts(), { ...before, 'a.txt': 'by hand' })
      const [newest] = room.history.rewinds().filter(({ kind }) => kind === 'rewind')
      assert.equal(newest?.undone, false, 'a file is left to be brought back')
      await room.history.undoRewind({ id: newest.id, onConflict: 'overwrite' })
      assert.deepStrictEqual(await room.texts(), before)
    },
  },
  {
    name: 'what older rewinds overwrote can be brought back by their ids',
    needs: ['undo'],
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      await room.history.rewind('m1')
      await room.edit('b.txt', 'b1')
      await room.history.rewind('m1', { paths: ['b.txt'] })
      const [newer, older] = room.history.rewinds()
      assert.equal(older?.messageId, 'm1')
      await room.history.undoRewind({ id: older.id })
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1' })
      await room.history.undoRewind({ id: newer?.id ?? '' })
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1', 'b.txt': 'b1' })
      await assertRefused(room.history.undoRewind({ id: older.id }), 'SNAPSHOT_NOT_FOUND')
    },
  },
  {
    name: 'nothing to undo is refused; a rewind that changed nothing says so',
    needs: ['undo'],
    async run(room) {
      await assertRefused(room.history.undoRewind(), 'SNAPSHOT_NOT_FOUND')
      await room.history.makeSnapshot('m1')
      assert.equal((await room.history.rewind('m1')).undoable, false)
      await assertRefused(room.history.undoRewind(), 'SNAPSHOT_NOT_FOUND')
      await assertRefused(room.history.undoRewind({ id: 'no-such-rewind' }), 'SNAPSHOT_NOT_FOUND')
    },
  },
  {
    name: 'what was kept for an undo outlives gc and opening again',
    needs: ['undo', 'reopening'],
    async run(room) {
      const { before } = await rewound(room)
      await room.history.gc()
      await room.reopen()
      await room.history.undoRewind()
      assert.deepStrictEqual(await room.texts(), before)
    },
  },
]
