import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { compareStatsAndContent, isFileHistoryEnabled } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { applyPatch } from 'diff'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeChange } from '../src/describe-change.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'one\ntwo\nthree\n', 'b.bin': Uint8Array.of(0, 1, 2), 'm.sh': 'x' })
  history = await work.open()
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

test('lists what differs, sorted by path, between two snapshots or a snapshot and the disk', async () => {
  await edit(work, history, 'm.sh', 'x')
  await fs.chmod(work.path('m.sh'), 0o755)
  await edit(work, history, 'a.txt', 'one\nTWO\nthree\nfour\n')
  await edit(work, history, 'b.bin', Uint8Array.of(0, 1, 3))
  await edit(work, history, 'new.txt', 'no newline')
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', null)
  const changes = await history.diff('m1', 'm2')
  expect(changes).toMatchObject([
    {
      path: work.path('a.txt'),
      kind: 'modify',
      insertions: 2,
      deletions: 1,
      binary: false,
      before: sha('one\ntwo\nthree\n'),
      after: sha('one\nTWO\nthree\nfour\n'),
    },
    { path: work.path('b.bin'), kind: 'modify', insertions: 0, deletions: 0, binary: true },
    { path: work.path('m.sh'), kind: 'mode', insertions: 0, before: sha('x'), after: sha('x') },
    { path: work.path('new.txt'), kind: 'create', insertions: 1, before: null, after: sha('no newline') },
  ])
  expect(changes.some((change) => 'patch' in change)).toBe(false)
  expect(await history.diff('m2')).toMatchObject([
    { path: work.path('a.txt'), kind: 'delete', insertions: 0, deletions: 4, after: null },
  ])
  expect(await history.diff('m2', 'm2')).toEqual([])
  // Backwards, and up to what is on the disk.
  expect((await history.diff('m2', 'm1')).map(({ kind }) => kind)).toEqual([
    'modify',
    'modify',
    'mode',
    'delete',
  ])
})

test('a link or directory in its place counts as gone', async () => {
  await edit(work, history, 'a.txt', 'x')
  await edit(work, history, 'd/c.txt', 'x')
  await history.makeSnapshot('m2')
  await work.remove('a.txt')
  await fs.symlink('b.bin', work.path('a.txt'))
  await work.remove('d')
  await work.write('d', 'file')
  expect((await history.diff('m2')).map(({ path, kind }) => [path, kind])).toEqual([
    [work.path('a.txt'), 'delete'],
    [work.path('d/c.txt'), 'delete'],
  ])
})

test('patches apply: create, delete, modify, without a last newline', async () => {
  const lines = fc
    .array(fc.constantFrom('a', 'b', 'c', '', 'ü'), { maxLength: 8 })
    .map((all) => all.join('\n'))
  const state = (text: string) => ({ sha256: sha(text), sizeBytes: Buffer.byteLength(text), mode: 0o644 })
  const side = fc.option(lines)
  fc.assert(
    fc.property(side, side, (before, after) => {
      const change = describeChange({
        path: '/r/f',
        name: 'f',
        before: before === null ? null : { state: state(before), bytes: Buffer.from(before) },
        after: after === null ? null : { state: state(after), bytes: Buffer.from(after) },
        patch: true,
      })
      if (change === undefined) {
        expect(before).toBe(after)
        return
      }
      expect(applyPatch(before ?? '', change.patch ?? '')).toBe(after ?? '')
      const signs = (change.patch ?? '').split('\n').slice(2)
      expect(signs.filter((line) => line.startsWith('+'))).toHaveLength(change.insertions)
      expect(signs.filter((line) => line.startsWith('-'))).toHaveLength(change.deletions)
    }),
  )
})

test('the patch of a file names it relative to the root, and binary files have none', async () => {
  await edit(work, history, 'a.txt', 'one\n')
  await edit(work, history, 'b.bin', 'text now')
  const [a, b] = await history.diff('m1', undefined, { patch: true })
  expect(a?.patch).toBe('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,1 @@\n one\n-two\n-three\n')
  expect(b).not.toHaveProperty('patch')
})

test('texts that differ in everything are counted in bounded time', async () => {
  const text = (of: string): string => Array.from({ length: 20_000 }, (_, line) => `${of} ${line}`).join('\n')
  await edit(work, history, 'a.txt', text('x'))
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', text('y'))
  expect(await history.diff('m2', undefined, { patch: true })).toMatchObject([
    { insertions: 20_000, deletions: 20_000, binary: false },
  ])
})

test('bytes of a tracked file at a snapshot; null where it did not exist', async () => {
  await edit(work, history, 'new.txt', 'x')
  await history.makeSnapshot('m2')
  expect(await history.readFileAt('m1', 'new.txt')).toBeNull()
  expect(await history.readFileAt('m2', './new.txt')).toEqual(Buffer.from('x'))
  expect(await failure(history.readFileAt('m1', 'never.txt'))).toMatchObject({ code: 'BACKUP_MISSING' })
})

test('compareStatsAndContent: existence, size, mode, bytes; never times; no link is followed', async () => {
  const [a, b] = [work.path('1'), work.path('2')]
  const compare = async (change: () => Promise<unknown>): Promise<string> => {
    await change()
    return compareStatsAndContent(a, b)
  }
  const seen = [
    await compare(async () => undefined),
    await compare(() => work.write('1', 'x')),
    await compare(() => work.write('2', 'x')),
    await compare(() => fs.utimes(a, 1, 1)),
    await compare(() => fs.utimes(b, 1, 1)),
    await compare(() => work.write('1', 'y')),
    await compare(() => work.write('1', 'xx')),
    await compare(() => work.write('1', 'x', 0o600)),
  ]
  expect(seen).toEqual(['same', 'changed', 'same', 'same', 'same', 'changed', 'changed', 'changed'])
  const link = compare(async () => {
    await work.remove('1')
    await fs.symlink('2', a)
  })
  expect(await link).toBe('changed')
})

const ENABLE = 'CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING'
const DISABLE = 'CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING'
test.each([
  [false, {}, undefined, false],
  [false, { [ENABLE]: '1' }, undefined, true],
  [false, { [ENABLE]: ' TRUE ' }, undefined, true],
  [false, { [ENABLE]: 'on' }, { fileCheckpointingEnabled: false }, true],
  [false, { [ENABLE]: '0' }, undefined, false],
  [false, { [ENABLE]: 'maybe' }, undefined, false],
  [false, { [ENABLE]: 'yes', [DISABLE]: '1' }, undefined, false],
  [true, {}, undefined, true],
  [true, {}, {}, true],
  [true, {}, { fileCheckpointingEnabled: true }, true],
  [true, {}, { fileCheckpointingEnabled: false }, false],
  [true, { [DISABLE]: 'yes' }, { fileCheckpointingEnabled: true }, false],
  [true, { [DISABLE]: 'no' }, undefined, true],
  [true, { [DISABLE]: '' }, undefined, true],
] as const)('enabled: interactive %o, env %o, config %o: %o', (interactive, env, config, expected) => {
  expect(isFileHistoryEnabled({ interactive, env, config })).toBe(expected)
})
