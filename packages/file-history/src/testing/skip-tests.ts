import assert from 'node:assert/strict'
import { files } from '@loci/disk'
import { assertRefused, pathsOf } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** What cannot be brought back, or tracked: it is left alone and named. */
export const skipTests: readonly HistoryTest[] = [
  {
    name: 'a link in the place of a file is not followed, and named; the rest is brought back',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.write('b.txt', 'b1')
      await room.write('victim.txt', 'not yours')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a2')
      await room.edit('b.txt', 'b2')
      await room.edit('made.txt', 'made')
      for (const name of ['a.txt', 'made.txt']) await room.remove(name)
      await room.link('a.txt', 'victim.txt')
      await room.link('made.txt', 'nowhere')
      const result = await room.history.rewind('m1', { onConflict: 'skip' })
      assert.deepStrictEqual(pathsOf(result.skipped), ['a.txt', 'made.txt'].map(room.path))
      assert.deepStrictEqual(await room.texts(), {
        'a.txt': 'link to victim.txt',
        'b.txt': 'b1',
        'made.txt': 'link to nowhere',
        'victim.txt': 'not yours',
      })
    },
  },
  {
    name: 'a directory in the place of a file is left, and named',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', null)
      await room.write('a.txt/inside.txt', 'inside')
      const result = await room.history.rewind('m1', { onConflict: 'overwrite' })
      assert.deepStrictEqual(pathsOf(result.skipped), [room.path('a.txt')])
      assert.deepStrictEqual(await room.texts(), { 'a.txt/inside.txt': 'inside' })
    },
  },
  {
    name: 'nothing is written through a directory that is a link now',
    async run(room) {
      await room.write('src/a.txt', 'a1')
      await room.write('victim/a.txt', 'not yours')
      await room.history.makeSnapshot('m1')
      await room.edit('src/a.txt', 'a2')
      await room.remove('src')
      await room.link('src', 'victim')
      const result = await room.history.rewind('m1', { onConflict: 'overwrite' })
      assert.deepStrictEqual(pathsOf(result.skipped), [room.path('src/a.txt')])
      assert.equal(await room.read('victim/a.txt'), 'not yours')
    },
  },
  {
    name: 'a path that was asked for and is not tracked is named',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      const result = await room.history.rewind('m1', { paths: ['never.txt', 'a.txt'] })
      assert.deepStrictEqual(pathsOf(result.skipped), [room.path('never.txt')])
      assert.deepStrictEqual(result.deleted, [room.path('a.txt')])
    },
  },
  {
    name: 'links and directories are refused by trackEdit, and not tracked',
    async run(room) {
      await room.write('dir/a.txt', 'a1')
      await room.link('link', 'dir/a.txt')
      await room.link('dangling', 'nowhere')
      await room.history.makeSnapshot('m1')
      for (const name of ['link', 'dangling']) {
        await assertRefused(room.history.trackEdit(name, 'edit'), 'PATH_LINK')
      }
      await assertRefused(room.history.trackEdit('dir', 'edit'), 'PATH_INVALID')
      await files.unlink(room.path('link'))
      const plan = await room.history.planRewind('m1')
      assert.deepStrictEqual([plan.changes, plan.skipped], [[], []])
    },
  },
  {
    name: 'every spelling of a path is the same file',
    async run(room) {
      await room.write('dir/a.txt', 'a1')
      await room.link('also', 'dir')
      await room.history.makeSnapshot('m1')
      await room.edit('dir/a.txt', 'a2')
      for (const name of [room.path('dir/a.txt'), './dir/a.txt', 'dir/../dir/a.txt', 'also/a.txt']) {
        await room.history.trackEdit(name, 'edit')
      }
      const result = await room.history.rewind('m1')
      assert.deepStrictEqual(result.restored, [room.path('dir/a.txt')])
      assert.deepStrictEqual(pathsOf(result.skipped), [])
    },
  },
]
