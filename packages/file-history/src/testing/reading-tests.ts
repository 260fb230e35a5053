import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { files } from '@loci/disk'
import type { RewindPlan } from '../plan-rewind.ts'
import { assertRefused, pathsOf } from './history-room.ts'
import type { Room } from './history-room.ts'
import type { HistoryTest } from './history-suite.ts'

/** Changes of each kind but that of bits, after a snapshot m1. */
async function changed(room: Room): Promise<void> {
  await room.write('a.txt', 'one\ntwo\n')
  await room.write('gone.txt', 'text\n')
  await room.write('same.txt', 'same')
  await room.history.makeSnapshot('m1')
  await room.edit('a.txt', 'one\n2\nthree\n')
  await room.edit('gone.txt', null)
  await room.edit('made.bin', Buffer.from([0, 1, 2]))
  await room.edit('same.txt', 'same')
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** Snapshots, plans, diffs, and bytes at a snapshot. */
export const readingTests: readonly HistoryTest[] = [
  {
    name: 'snapshots are listed oldest first, each with what it holds of every file',
    async run(room) {
      await room.write('a.txt', 'a1')
      await room.history.makeSnapshot('m1')
      await room.edit('a.txt', 'a2')
      const m2 = await room.history.makeSnapshot('m2')
      const m3 = await room.history.makeSnapshot('m3')
      const snapshots = room.history.snapshots()
      assert.deepStrictEqual(
        snapshots.map(({ messageId }) => messageId),
        ['m1', 'm2', 'm3'],
      )
      assert.deepStrictEqual(snapshots.slice(1), [m2, m3])
      const versions = snapshots.map(({ trackedFileBackups }) => trackedFileBackups['a.txt']?.version)
      assert.deepStrictEqual(versions, [1, 2, 2], 'a version moves with a change, and only then')
    },
  },
  {
    name: 'a diff tells each kind of change, with lines, hashes and whether it is text',
    async run(room) {
      await changed(room)
      const found = await room.history.diff('m1')
      const told = found.map(({ path, kind, insertions, deletions, binary, before, after }) => ({
        path,
        kind,
        insertions,
        deletions,
        binary,
        before,
        after,
      }))
      assert.deepStrictEqual(told, [
        {
          path: room.path('a.txt'),
          kind: 'modify',
          insertions: 2,
          deletions: 1,
          binary: false,
          before: sha256('one\ntwo\n'),
          after: sha256('one\n2\nthree\n'),
        },
        {
          path: room.path('gone.txt'),
          kind: 'delete',
          insertions: 0,
          deletions: 1,
          binary: false,
          before: sha256('text\n'),
          after: null,
        },
        {
          path: room.path('made.bin'),
          kind: 'create',
          insertions: 0,
          deletions: 0,
          binary: true,
          before: null,
          after: sha256(Buffer.from([0, 1, 2])),
        },
      ])
      await room.history.makeSnapshot('m2')
      await room.write('a.txt', 'later')
      assert.deepStrictEqual(await room.history.diff('m1', 'm2'), found, 'from snapshot to snapshot')
      assert.deepStrictEqual(await room.history.diff('m2', 'm2'), [])
    },
  },
  {
    name: 'a diff tells of bits that changed alone',
    needs: ['modes'],
    async run(room) {
      await room.write('a.sh', 'text', 0o644)
      await room.history.makeSnapshot('m1')
      await room.history.trackEdit('a.sh', 'edit')
      await files.chmod(room.path('a.sh'), 0o755)
      const found = await room.history.diff('m1')
      assert.deepStrictEqual(
        found.map(({ path, kind }) => ({ path, kind })),
        [{ path: room.path('a.sh'), kind: 'mode' }],
      )
    },
  },
  {
    name: 'a diff has a patch of text if it is asked for one, and only then',
    async run(room) {
      await changed(room)
      const [modified] = await room.history.diff('m1', undefined, { patch: true })
      assert.match(modified?.patch ?? '', /^-two$/m)
      assert.match(modified?.patch ?? '', /^\+2$/m)
      const [without] = await room.history.diff('m1')
      assert.equal(without?.patch, undefined)
    },
  },
  {
    name: 'the bytes of a file are had as of each snapshot, null where it was absent',
    async run(room) {
      const bytes = Buffer.from([0, 0xff, 0x0a])
      await room.history.makeSnapshot('m1')
      await room.edit('a.bin', bytes)
      await room.history.makeSnapshot('m2')
      await room.edit('a.bin', 'text')
      await room.history.makeSnapshot('m3')
      assert.equal(await room.history.readFileAt('m1', 'a.bin'), null)
      assert.deepStrictEqual(Buffer.from((await room.history.readFileAt('m2', 'a.bin')) ?? []), bytes)
      const whole = await room.history.readFileAt('m3', room.path('a.bin'))
      assert.equal(Buffer.from(whole ?? []).toString(), 'text')
      await assertRefused(room.history.readFileAt('m1', 'never.txt'), 'BACKUP_MISSING')
      await assertRefused(room.history.readFileAt('m9', 'a.bin'), 'SNAPSHOT_NOT_FOUND')
      await assertRefused(room.history.diff('m9'), 'SNAPSHOT_NOT_FOUND')
      await assertRefused(room.history.diff('m1', 'm9'), 'SNAPSHOT_NOT_FOUND')
    },
  },
  {
    name: 'looking changes nothing in the project',
    async run(room) {
      await changed(room)
      const before = await room.texts()
      await room.history.planRewind('m1')
      await room.history.diff('m1', undefined, { patch: true })
      await room.history.readFileAt('m1', 'a.txt')
      await room.history.usage()
      await room.history.gc({ dryRun: true })
      assert.deepStrictEqual(await room.texts(), before)
    },
  },
  {
    name: 'a rewind does what its plan says, also a plan that went through JSON',
    async run(room) {
      await changed(room)
      const plan = await room.history.planRewind('m1')
      assert.deepStrictEqual(
        plan.changes.map(({ path, kind }) => ({ path, kind })),
        [
          { path: room.path('a.txt'), kind: 'modify' },
          { path: room.path('gone.txt'), kind: 'create' },
          { path: room.path('made.bin'), kind: 'delete' },
        ],
      )
      const printed = JSON.parse(JSON.stringify(plan)) as RewindPlan
      const result = await room.history.rewind(printed)
      const of = (isDeletion: boolean): string[] =>
        plan.changes.filter(({ kind }) => (kind === 'delete') === isDeletion).map(({ path }) => path)
      assert.deepStrictEqual([result.restored, result.deleted], [of(false), of(true)])
      assert.equal((await room.history.planRewind('m1')).changes.length, 0)
    },
  },
  {
    name: 'a file that is no longer as its plan says is left, and named',
    async run(room) {
      await changed(room)
      const plan = await room.history.planRewind('m1')
      await room.edit('a.txt', 'later')
      await assertRefused(room.history.rewind(plan), 'REWIND_CONFLICT')
      const result = await room.history.rewind(plan, { onConflict: 'skip' })
      assert.deepStrictEqual(pathsOf(result.conflicts), [room.path('a.txt')])
      assert.deepStrictEqual(await room.texts(), {
        'a.txt': 'later',
        'gone.txt': 'text\n',
        'same.txt': 'same',
      })
    },
  },
  {
    name: 'gc removes nothing that a snapshot needs, and a dry run says what it would remove',
    async run(room) {
      await changed(room)
      await room.history.makeSnapshot('m2')
      const after = await room.texts()
      const dry = await room.history.gc({ dryRun: true })
      assert.deepStrictEqual(await room.history.gc(), dry)
      assert.deepStrictEqual((await room.history.gc()).removed, [])
      await room.history.rewind('m1')
      assert.deepStrictEqual(await room.texts(), {
        'a.txt': 'one\ntwo\n',
        'gone.txt': 'text\n',
        'same.txt': 'same',
      })
      await room.history.rewind('m2')
      assert.deepStrictEqual(await room.texts(), after)
    },
  },
]
