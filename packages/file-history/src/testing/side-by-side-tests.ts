import assert from 'node:assert/strict'
import type { HistoryTest } from './history-suite.ts'

/** Calls that nobody waits for one after another. */
export const sideBySideTests: readonly HistoryTest[] = [
  {
    name: 'many announcements of one file at once are one backup',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      const backups = await Promise.all(
        Array.from({ length: 12 }, (_, n) => room.history.trackEdit('a.txt', `edit ${n}`)),
      )
      assert.equal(new Set(backups.map(({ backupFileName }) => backupFileName)).size, 1)
      await room.write('a.txt', 'a2')
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'edits and snapshots at once: none is lost, snapshots in the order of their calls',
    async run(room) {
      const names = Array.from({ length: 16 }, (_, n) => `file-${n}.txt`)
      for (const name of names) await room.write(name, `${name} before`)
      const before = await room.texts()
      await room.history.makeSnapshot('m0')
      await Promise.all(
        names.flatMap((name, n) => [
          room.history.trackEdit(name, `edit ${n}`),
          ...(n % 4 === 0 ? [room.history.makeSnapshot(`m${n / 4 + 1}`)] : []),
        ]),
      )
      assert.deepStrictEqual(
        room.history.snapshots().map(({ messageId }) => messageId),
        ['m0', 'm1', 'm2', 'm3', 'm4'],
      )
      await Promise.all(names.map((name) => room.edit(name, `${name} after`)))
      for (const id of ['m4', 'm0', 'm2']) {
        await room.history.rewind(id)
        assert.deepStrictEqual(await room.texts(), before, id)
      }
    },
  },
  {
    name: 'rewinds at once are done one after another, none of them half',
    async run(room) {
      const names = Array.from({ length: 8 }, (_, n) => `file-${n}.txt`)
      for (const round of [1, 2, 3]) {
        await room.history.makeSnapshot(`m${round}`)
        for (const name of names) await room.edit(name, `round ${round}`)
      }
      const results = await Promise.all(['m1', 'm3', 'm2'].map((id) => room.history.rewind(id)))
      assert.deepStrictEqual(
        results.flatMap(({ conflicts, skipped }) => [...conflicts, ...skipped]),
        [],
      )
      const texts = Object.values(await room.texts())
      assert.ok(new Set(texts).size <= 1, `files of several states: ${texts.join(', ')}`)
      assert.ok(texts.length === 0 || texts.length === names.length, 'only some of the files are there')
    },
  },
]
