import assert from 'node:assert/strict'
import { assertRefused } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** What a command does to the project. */
export const commandTests: readonly HistoryTest[] = [
  {
    name: 'what a command changes, makes and deletes is told, and comes back',
    needs: ['commands'],
    async run(room) {
      for (const name of ['src/a.txt', 'gone.txt', 'same.txt']) await room.write(name, name)
      const before = await room.texts()
      await room.history.makeSnapshot('m1')
      const outcome = await room.history.trackCommand('edit', async () => {
        await room.write('src/a.txt', 'changed')
        await room.write('src/made.txt', 'made')
        await room.remove('gone.txt')
        await room.write('same.txt', 'same.txt')
        return 'what it returns'
      })
      assert.deepStrictEqual(outcome, {
        result: 'what it returns',
        changed: ['gone.txt', 'src/a.txt', 'src/made.txt'].map(room.path),
        untracked: [],
      })
      await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), before)
    },
  },
  {
    name: 'a command that fails passes its error on, and what it did is covered',
    needs: ['commands'],
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      const failure = new Error('of the command')
      const call = room.history.trackCommand('edit', async () => {
        await room.write('a.txt', 'a2')
        throw failure
      })
      await assert.rejects(call, (error) => error === failure)
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'what a command did and nobody can bring back is named',
    needs: ['commands'],
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      const { changed, untracked } = await room.history.trackCommand('edit', () => room.link('link', 'a.txt'))
      assert.deepStrictEqual([changed, untracked], [[], [room.path('link')]])
    },
  },
  {
    name: 'a change after a command is a conflict',
    needs: ['commands'],
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.history.trackCommand('edit', () => room.write('a.txt', 'a2'))
      await room.write('a.txt', 'by hand')
      await assertRefused(room.history.rewind('m1'), 'REWIND_CONFLICT')
      assert.equal(await room.read('a.txt'), 'by hand')
    },
  },
  {
    name: 'the second command is seen as the first is, and edits beside it too',
    needs: ['commands'],
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.history.trackCommand('one', () => room.write('a.txt', 'a2'))
      await room.history.makeSnapshot('m2')
      await room.edit('b.txt', 'b1')
      const { changed } = await room.history.trackCommand('two', () => room.write('a.txt', 'a3'))
      assert.deepStrictEqual(changed, [room.path('a.txt')])
      await room.history.rewind('m2')
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a2' })
      await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1' })
    },
  },
]
