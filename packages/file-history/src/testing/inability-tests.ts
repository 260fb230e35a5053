import assert from 'node:assert/strict'
import type { HistoryAbility, HistoryTest } from './history-suite.ts'

/** A refusal of what is declared to be absent: any error that says something. */
async function assertRefuses(what: string, call: () => Promise<unknown>): Promise<void> {
  let error: unknown
  try {
    await call()
  } catch (thrown) {
    error = thrown
  }
  assert.ok(error instanceof Error && error.message !== '', `${what} is declared to be absent and answers`)
}

/** What a history that declares an inability must do all the same. */
export const inabilityTests: readonly (HistoryTest & { lacks: HistoryAbility })[] = [
  {
    lacks: 'modes',
    name: 'without permission bits, bytes come back all the same',
    async run(room) {
      await room.write('a.sh', 'a1', 0o755)
      await room.history.makeSnapshot('m1')
      await room.edit('a.sh', 'a2')
      await room.history.rewind('m1')
      assert.equal(await room.read('a.sh'), 'a1')
    },
  },
  {
    lacks: 'undo',
    name: 'without undo, a rewind says that it cannot be undone, and undoRewind refuses and changes nothing',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      const result = await room.history.rewind('m1')
      assert.equal(result.undoable, false, 'undo is declared to be absent, and the rewind says undoable')
      await assertRefuses('undoRewind', () => room.history.undoRewind())
      assert.deepStrictEqual(await room.texts(), {})
    },
  },
  {
    lacks: 'commands',
    name: 'without commands, trackCommand refuses and runs nothing',
    async run(room) {
      await room.history.makeSnapshot('m1')
      let isRun = false
      const command = async (): Promise<void> => {
        isRun = true
      }
      await assertRefuses('trackCommand', () => room.history.trackCommand('edit', command))
      assert.equal(isRun, false, 'the command was run, and nobody records what it does')
    },
  },
  {
    lacks: 'eviction',
    name: 'without eviction, every snapshot stays and can be gone to',
    maxSnapshots: 2,
    async run(room) {
      for (const n of [1, 2, 3, 4]) {
        await room.history.makeSnapshot(`m${n}`)
        await room.edit('a.txt', `a${n}`)
      }
      assert.equal(room.history.snapshots().length, 4)
      await room.history.rewind('m2')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    lacks: 'reopening',
    name: 'without reopening, it begins anew and touches nothing',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      await room.reopen()
      assert.deepStrictEqual(room.history.snapshots(), [])
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1' })
    },
  },
  {
    lacks: 'interruption',
    needs: ['reopening'],
    name: 'without a report of interruption, the same rewind again brings everything back',
    async run(room) {
      const { cutNextRewind } = room
      assert.ok(
        cutNextRewind,
        'a history without interruption needs cutNextRewind, to show that a retry helps',
      )
      for (const name of ['a.txt', 'b.txt']) await room.write(name, 'before')
      await room.history.makeSnapshot('m1')
      for (const name of ['a.txt', 'b.txt']) await room.edit(name, 'edited')
      cutNextRewind()
      await room.history.rewind('m1').catch(() => undefined)
      await room.reopen('died')
      assert.equal(room.history.pendingRewind, null)
      await room.history.rewind('m1', { onConflict: 'overwrite' })
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'before', 'b.txt': 'before' })
    },
  },
]
