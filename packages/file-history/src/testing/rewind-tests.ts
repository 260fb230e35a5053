import assert from 'node:assert/strict'
import { files } from '@loci/disk'
import { assertRefused } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

const ODD_BYTES: Record<string, string | Uint8Array> = {
  'plain.txt': 'text\n',
  'crlf.txt': '\uFEFFwith\r\nmark\r\nand no end',
  'binary.bin': Buffer.from([0, 1, 0xff, 0xfe, 0x0a, 0, 0xc3, 0x28]),
  'latin1.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]),
  'empty.txt': '',
  'a name\nwith a line end.txt': 'x',
  'deep/er/and deeper/ü.txt': 'ü',
  constructor: 'the name of something else',
}

/** What a rewind brings back. */
export const rewindTests: readonly HistoryTest[] = [
  {
    name: 'bytes come back, whatever they are',
    async run(room) {
      for (const [name, bytes] of Object.entries(ODD_BYTES)) await room.write(name, bytes)
      const before = await room.texts()
      await room.history.makeSnapshot('m1')
      for (const name of Object.keys(ODD_BYTES)) await room.edit(name, `changed ${name}`)
      const result = await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), before)
      assert.deepStrictEqual(result.restored, Object.keys(ODD_BYTES).map(room.path).toSorted())
    },
  },
  {
    name: 'permission bits come back, with the bytes, alone, and from deletion',
    needs: ['modes'],
    async run(room) {
      const modes: Record<string, number> = { 'run.sh': 0o755, 'secret.txt': 0o600, 'alone.sh': 0o700 }
      for (const [name, mode] of Object.entries(modes)) await room.write(name, name, mode)
      await room.history.makeSnapshot('m1')
      await room.edit('run.sh', 'changed')
      await files.chmod(room.path('run.sh'), 0o644)
      await room.history.recordEdit('run.sh', 'edit')
      await room.history.trackEdit('alone.sh', 'edit')
      await files.chmod(room.path('alone.sh'), 0o640)
      await room.history.recordEdit('alone.sh', 'edit')
      await room.edit('secret.txt', null)
      await room.history.rewind('m1')
      for (const [name, mode] of Object.entries(modes)) assert.equal(await room.mode(name), mode, name)
    },
  },
  {
    name: 'a file that was deleted comes back, and its directory with it',
    async run(room) {
      await room.write('dir/gone.txt', 'text')
      await room.history.makeSnapshot('m1')
      await room.edit('dir/gone.txt', null)
      await room.remove('dir')
      const result = await room.history.rewind('m1')
      assert.equal(await room.read('dir/gone.txt'), 'text')
      assert.deepStrictEqual(result.restored, [room.path('dir/gone.txt')])
    },
  },
  {
    name: 'a file that was made is deleted; its directory stays',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('dir/made.txt', 'text')
      const result = await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), {})
      assert.deepStrictEqual(result.deleted, [room.path('dir/made.txt')])
      assert.ok((await files.stat(room.path('dir'))).isDirectory(), 'the directory is gone')
    },
  },
  {
    name: 'what a file was before its first edit is known for every earlier snapshot',
    async run(room) {
      await room.write('late.txt', 'first')
      await room.history.makeSnapshot('m1')
      await room.edit('other.txt', 'x')
      await room.history.makeSnapshot('m2')
      await room.edit('late.txt', 'second')
      await room.edit('late.txt', 'third')
      await room.edit('made.txt', 'made')
      await room.history.makeSnapshot('m3')
      await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), { 'late.txt': 'first' })
    },
  },
  {
    name: 'an edit without a snapshot before it makes one, and can be rewound',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.edit('a.txt', 'a2', 'first')
      assert.deepStrictEqual(
        room.history.snapshots().map(({ messageId }) => messageId),
        ['first'],
      )
      await room.history.rewind('first')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'each snapshot can be gone to, back and forth; all of them stay',
    async run(room) {
      const states: Record<string, string>[] = []
      for (const n of [1, 2, 3]) {
        states.push(await room.texts())
        await room.history.makeSnapshot(`m${n}`)
        await room.edit('a.txt', `a${n}`)
        await room.edit('b.txt', n === 2 ? null : `b${n}`)
      }
      for (const n of [2, 1, 3, 1, 2, 3]) {
        await room.history.rewind(`m${n}`)
        assert.deepStrictEqual(await room.texts(), states[n - 1], `the state of m${n}`)
      }
      assert.equal(room.history.snapshots().length, 3)
    },
  },
  {
    name: 'the last snapshot of an id counts',
    async run(room) {
      await room.history.makeSnapshot('m')
      await room.edit('a.txt', 'a1')
      await room.history.makeSnapshot('m')
      await room.edit('a.txt', 'a2')
      await room.history.rewind('m')
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'only the files and directories that are asked for are brought back',
    async run(room) {
      await room.history.makeSnapshot('m1')
      for (const name of ['a.txt', 'src/a.txt', 'src/deep/b.txt', 'src-other/a.txt'])
        await room.edit(name, 'x')
      const plan = await room.history.planRewind('m1', { paths: ['src'] })
      assert.deepStrictEqual(
        plan.changes.map(({ path }) => path),
        [room.path('src/a.txt'), room.path('src/deep/b.txt')],
      )
      await room.history.rewind('m1', { paths: ['src', 'a.txt'] })
      assert.deepStrictEqual(await room.texts(), { 'src-other/a.txt': 'x' })
    },
  },
  {
    name: 'a file that nobody tracked is never touched',
    async run(room) {
      await room.write('mine.txt', 'mine')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      await room.write('mine.txt', 'mine, later')
      await room.write('new.txt', 'new')
      const result = await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), { 'mine.txt': 'mine, later', 'new.txt': 'new' })
      assert.equal(JSON.stringify(result).includes('mine.txt'), false)
    },
  },
  {
    name: 'a result names every tracked file once, by its whole path, in order',
    async run(room) {
      for (const name of ['b.txt', 'a.txt', 'same.txt']) await room.write(name, name)
      await room.history.makeSnapshot('m1')
      for (const name of ['b.txt', 'a.txt', 'y.txt', 'x.txt']) await room.edit(name, 'changed')
      await room.edit('same.txt', 'same.txt')
      await room.edit('never.txt', null)
      const { messageId, restored, deleted, unchanged, skipped, conflicts } = await room.history.rewind('m1')
      const expected = {
        messageId: 'm1',
        restored: ['a.txt', 'b.txt'].map(room.path),
        deleted: ['x.txt', 'y.txt'].map(room.path),
        unchanged: ['never.txt', 'same.txt'].map(room.path),
        skipped: [],
        conflicts: [],
      }
      assert.deepStrictEqual({ messageId, restored, deleted, unchanged, skipped, conflicts }, expected)
    },
  },
  {
    name: 'an id that no snapshot has is refused, and nothing is touched',
    async run(room) {
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a1')
      for (const id of ['m2', '', '__proto__', 'constructor']) {
        await assertRefused(room.history.rewind(id), 'SNAPSHOT_NOT_FOUND')
        await assertRefused(room.history.planRewind(id), 'SNAPSHOT_NOT_FOUND')
      }
      assert.equal(await room.read('a.txt'), 'a1')
    },
  },
  {
    name: 'an edit of the same length with the time set back is seen',
    async run(room) {
      await room.write('a.txt', 'one')
      const { mtimeMs } = await files.stat(room.path('a.txt'))
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'two')
      await room.history.makeSnapshot('m2')
      await room.write('a.txt', 'six')
      const file = await files.open(room.path('a.txt'), 'r+')
      await file.setModified(Number(mtimeMs) / 1000)
      await file.close()
      await room.history.makeSnapshot('m3')
      await room.history.rewind('m1')
      assert.equal(await room.read('a.txt'), 'one')
      await room.history.rewind('m3')
      assert.equal(await room.read('a.txt'), 'six')
    },
  },
  {
    name: 'a file with several names is written under all of them',
    async run(room) {
      await room.write('a.txt', 'a1')
      await files.link(room.path('a.txt'), room.path('other-name.txt'))
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a longer text')
      await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), { 'a.txt': 'a1', 'other-name.txt': 'a1' })
    },
  },
  {
    name: 'what is done to a file after it was brought back changes no snapshot',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a2')
      for (const round of [1, 2]) {
        await room.history.rewind('m1', { onConflict: 'overwrite' })
        assert.equal(await room.read('a.txt'), 'a1', `round ${round}`)
        await room.write('a.txt', 'written into the same file')
      }
    },
  },
]
