import assert from 'node:assert/strict'
import { files } from '@loci/disk'
import type { RewindPlan } from '../plan-rewind.ts'
import { assertRefused, pathsOf } from './history-room.ts'
import type { Room } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** Three files as an agent left them, after a snapshot. */
async function edited(room: Room): Promise<void> {
  await room.write('a.txt', 'a1')
  await room.write('b.txt', 'b1')
  await room.write('gone.txt', 'g1')
  await room.history.makeSnapshot('m1')
  await room.edit('a.txt', 'a2')
  await room.edit('b.txt', 'b2')
  await room.edit('gone.txt', null)
}

/** Fails unless the rewind stops for these files and touches nothing. */
async function assertStops(room: Room, ...names: string[]): Promise<void> {
  const before = await room.texts()
  const plan = await room.history.planRewind('m1')
  assert.deepStrictEqual(pathsOf(plan.conflicts), names.map(room.path))
  const error = await assertRefused(room.history.rewind('m1'), 'REWIND_CONFLICT')
  const { details } = error as Error & { details?: { plan?: RewindPlan } }
  assert.deepStrictEqual(pathsOf(details?.plan?.conflicts ?? []), names.map(room.path))
  assert.deepStrictEqual(await room.texts(), before, 'the rewind was refused, and something was touched')
}

/** What somebody did after the agent. */
export const conflictTests: readonly HistoryTest[] = [
  {
    name: 'a file that was changed after the agent stops the rewind, and nothing is touched',
    async run(room) {
      await edited(room)
      await room.write('a.txt', 'by hand')
      await assertStops(room, 'a.txt')
    },
  },
  {
    name: 'a file whose bits were changed after the agent stops the rewind',
    needs: ['modes'],
    async run(room) {
      await edited(room)
      await files.chmod(room.path('a.txt'), 0o600)
      await assertStops(room, 'a.txt')
      assert.equal(await room.mode('a.txt'), 0o600)
    },
  },
  {
    name: 'a file that was deleted after the agent stops the rewind',
    async run(room) {
      await edited(room)
      await room.remove('a.txt')
      await assertStops(room, 'a.txt')
    },
  },
  {
    name: 'a file that was made after the agent deleted it stops the rewind',
    async run(room) {
      await edited(room)
      await room.write('gone.txt', 'by hand')
      await assertStops(room, 'gone.txt')
    },
  },
  {
    name: 'told to skip, conflicts are left and named, and the rest is brought back',
    async run(room) {
      await edited(room)
      await room.write('a.txt', 'by hand')
      const result = await room.history.rewind('m1', { onConflict: 'skip' })
      assert.deepStrictEqual(pathsOf(result.conflicts), [room.path('a.txt')])
      assert.deepStrictEqual(result.restored, ['b.txt', 'gone.txt'].map(room.path))
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'by hand', 'b.txt': 'b1', 'gone.txt': 'g1' })
    },
  },
  {
    name: 'told to overwrite, conflicts are brought back, and an undo brings the work of others back',
    needs: ['undo'],
    async run(room) {
      await edited(room)
      await room.write('a.txt', 'by hand')
      const result = await room.history.rewind('m1', { onConflict: 'overwrite' })
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1', 'b.txt': 'b1', 'gone.txt': 'g1' })
      assert.deepStrictEqual(pathsOf(result.conflicts), [])
      await room.history.undoRewind()
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'by hand', 'b.txt': 'b2' })
    },
  },
  {
    name: 'a change that a later snapshot knows is no conflict',
    async run(room) {
      await edited(room)
      await room.write('a.txt', 'by hand')
      await room.history.makeSnapshot('m2')
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'a1')
      await room.history.rewind('m2')
      assert.equal(await room.read('a.txt'), 'by hand')
    },
  },
  {
    name: 'a file that stands as it should is no conflict, whoever put it there',
    async run(room) {
      await edited(room)
      await room.write('a.txt', 'a1')
      const result = await room.history.rewind('m1')
      assert.deepStrictEqual(result.unchanged, [room.path('a.txt')])
      assert.deepStrictEqual(pathsOf(result.conflicts), [])
    },
  },
  {
    name: 'an edit that was only announced is no conflict',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.history.trackEdit('a.txt', 'edit')
      await room.write('a.txt', 'a2')
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
]
