import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { backupFileName, verifyFileHistory } from '@loci/file-history'
import type { FileHistory, RewindPlan } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': 'b1', 'user.txt': 'mine' })
  history = await work.open()
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const reopen = async (): Promise<void> => {
  await history.close()
  history = await work.open()
}

test('before the first turn nothing had happened: edited files are back, created ones are gone', async () => {
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await edit(work, history, 'new/c.txt', 'c1')
  await history.makeSnapshot('m2')
  await edit(work, history, 'a.txt', 'a3')
  await edit(work, history, 'new/c.txt', 'c2')
  for (const isReopened of [false, true]) {
    if (isReopened) await reopen()
    expect((await history.diff('m1')).map(({ path, kind }) => [path, kind])).toEqual([
      [work.path('a.txt'), 'modify'],
      [work.path('new/c.txt'), 'create'],
    ])
    expect(await history.rewind('m2')).toEqual({
      messageId: 'm2',
      restored: [work.path('a.txt'), work.path('new/c.txt')],
      deleted: [],
      unchanged: [],
      skipped: [],
      conflicts: [],
      undoable: true,
    })
    expect([await work.read('a.txt'), await work.read('new/c.txt')]).toEqual(['a2', 'c1'])
    expect(await history.rewind('m1')).toMatchObject({
      restored: [work.path('a.txt')],
      deleted: [work.path('new/c.txt')],
    })
    expect([await work.read('a.txt'), await work.read('new/c.txt')]).toEqual(['a1', null])
    await history.undoRewind()
    await history.undoRewind()
    await history.undoRewind()
    await edit(work, history, 'a.txt', 'a3')
    await edit(work, history, 'new/c.txt', 'c2')
  }
})

test('a file first edited after the target has its state from before that edit, created or not', async () => {
  await history.makeSnapshot('m2')
  await history.makeSnapshot('m5')
  await work.write('d.txt', 'd by the user')
  await edit(work, history, 'b.txt', 'b5')
  await edit(work, history, 'c.txt', 'c5')
  await edit(work, history, 'd.txt', 'd5')
  await history.makeSnapshot('m6')
  await history.rewind('m2')
  expect(await work.files()).toMatchObject({
    'b.txt': { text: 'b1' },
    'd.txt': { text: 'd by the user' },
  })
  expect(await work.read('c.txt')).toBeNull()
})

test('a file created, deleted and created again is right at each snapshot', async () => {
  await history.makeSnapshot('m1')
  await edit(work, history, 'x', 'first')
  await history.makeSnapshot('m2')
  await work.remove('x')
  await history.makeSnapshot('m3')
  await edit(work, history, 'x', 'third')
  await history.makeSnapshot('m4')
  for (const [id, text] of [
    ['m3', null],
    ['m2', 'first'],
    ['m4', 'third'],
    ['m1', null],
  ] as const) {
    await history.rewind(id)
    expect(await work.read('x'), id).toBe(text)
  }
})

test('rewinds go forward and backward, a second one changes nothing, and all snapshots stay', async () => {
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await history.makeSnapshot('m2')
  const ledger = await fs.readFile(work.inDir('snapshots.jsonl'))
  await history.rewind('m1')
  expect(await history.rewind('m1')).toMatchObject({
    restored: [],
    unchanged: [work.path('a.txt')],
    undoable: false,
  })
  await history.rewind('m2')
  expect(await work.read('a.txt')).toBe('a2')
  expect(history.snapshots()).toHaveLength(2)
  expect(await fs.readFile(work.inDir('snapshots.jsonl'))).toEqual(ledger)
})

test('only tracked files are written, and a turn without edits changes nothing', async () => {
  await history.makeSnapshot('m1')
  await history.makeSnapshot('m2')
  await work.write('user.txt', 'changed by hand')
  expect(await history.rewind('m1')).toMatchObject({ restored: [], deleted: [], undoable: false })
  expect(await work.read('user.txt')).toBe('changed by hand')
})

test('directories are never removed, and missing ones are made again', async () => {
  await history.makeSnapshot('m1')
  await edit(work, history, 'p/q/r/new.txt', 'new')
  await work.write('p/q/user.txt', 'mine')
  await history.rewind('m1')
  expect(await work.read('p/q/user.txt')).toBe('mine')
  expect((await fs.stat(work.path('p/q/r'))).isDirectory()).toBe(true)
  await fs.rm(work.path('p'), { recursive: true })
  await history.undoRewind()
  expect(await work.read('p/q/r/new.txt')).toBe('new')
})

test('the last of several snapshots with an id is the target', async () => {
  await history.trackEdit('a.txt', 'm')
  await work.write('a.txt', 'a2')
  await history.makeSnapshot('m')
  await edit(work, history, 'a.txt', 'a3')
  await history.rewind('m')
  expect(await work.read('a.txt')).toBe('a2')
})

test('an unknown id is refused, and says so', async () => {
  for (const action of [
    history.rewind('nope'),
    history.planRewind('nope'),
    history.diff('nope'),
    history.readFileAt('nope', 'a.txt'),
  ]) {
    expect(await failure(action)).toMatchObject({
      code: 'SNAPSHOT_NOT_FOUND',
      details: { messageId: 'nope' },
    })
  }
  // @ts-expect-error an id is a string
  expect(await failure(history.planRewind(1))).toBeInstanceOf(TypeError)
})

test('only the mode differs: it is a change, and it is put back', async () => {
  await fs.chmod(work.path('a.txt'), 0o640)
  await history.trackEdit('a.txt', 'm1')
  await fs.chmod(work.path('a.txt'), 0o755)
  await history.recordEdit('a.txt', 'm1')
  const plan = await history.planRewind('m1')
  expect(plan.changes).toMatchObject([
    { kind: 'mode', insertions: 0, deletions: 0, modeBefore: 0o755, modeAfter: 0o640 },
  ])
  expect(plan.changes[0]?.before).toBe(plan.changes[0]?.after)
  await history.rewind('m1')
  expect((await work.files())['a.txt']).toEqual({ mode: 0o640, text: 'a1' })
})

describe('conflicts', () => {
  beforeEach(async () => {
    await history.makeSnapshot('m1')
    await edit(work, history, 'a.txt', 'a2')
    await edit(work, history, 'b.txt', 'b2')
  })

  test('a file changed after the agent stops the rewind, is named, and nothing is touched', async () => {
    await work.write('a.txt', 'a2 and mine')
    const before = await work.all()
    const error = await failure(history.rewind('m1'))
    expect(error).toMatchObject({
      code: 'REWIND_CONFLICT',
      message: expect.stringContaining(work.path('a.txt')),
      details: {
        plan: {
          changes: [{ path: work.path('a.txt') }, { path: work.path('b.txt') }],
          conflicts: [{ path: work.path('a.txt'), reason: expect.stringMatching(/changed after the agent/) }],
        },
      },
    })
    expect(await work.all()).toEqual(before)
  })

  test('with skip it is left and named, the others are rewound', async () => {
    await work.write('a.txt', 'a2 and mine')
    const result = await history.rewind('m1', { onConflict: 'skip' })
    expect(result).toMatchObject({
      restored: [work.path('b.txt')],
      conflicts: [{ path: work.path('a.txt') }],
    })
    expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a2 and mine', 'b1'])
  })

  test('with overwrite it is rewound, and the undo brings it back byte for byte', async () => {
    await work.write('a.txt', 'a2 and mine', 0o600)
    expect(await history.rewind('m1', { onConflict: 'overwrite' })).toMatchObject({
      restored: [work.path('a.txt'), work.path('b.txt')],
      conflicts: [],
    })
    expect(await work.read('a.txt')).toBe('a1')
    await history.undoRewind()
    expect((await work.files())['a.txt']).toEqual({ mode: 0o600, text: 'a2 and mine' })
  })

  test('deleted, made or given another mode after the agent is a conflict too', async () => {
    await edit(work, history, 'gone.txt', 'x')
    await edit(work, history, 'gone.txt', null)
    await work.write('gone.txt', 'made by hand')
    await work.remove('a.txt')
    await fs.chmod(work.path('b.txt'), 0o600)
    expect((await history.planRewind('m1')).conflicts).toEqual([
      { path: work.path('a.txt'), reason: 'it was deleted after the agent left it' },
      { path: work.path('b.txt'), reason: 'its permissions were changed after the agent left it' },
      { path: work.path('gone.txt'), reason: 'it was made after the agent left it absent' },
    ])
  })

  test('a file that is as the target wants it is no conflict, whoever did that', async () => {
    await work.write('a.txt', 'a1')
    expect(await history.rewind('m1')).toMatchObject({ unchanged: [work.path('a.txt')], conflicts: [] })
  })

  test('what a later snapshot saw is as the agent left it', async () => {
    await work.write('a.txt', 'seen')
    await history.makeSnapshot('m2')
    expect((await history.planRewind('m1')).conflicts).toEqual([])
    await work.write('a.txt', 'not seen')
    expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
  })

  test('what a rewind or an undo wrote is as the agent left it, and what comes after is not', async () => {
    await history.makeSnapshot('m2')
    await history.rewind('m1')
    expect((await history.planRewind('m2')).conflicts).toEqual([])
    await history.undoRewind()
    expect((await history.planRewind('m1')).conflicts).toEqual([])
    await work.write('a.txt', 'by hand')
    expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
    await reopen()
    expect((await history.planRewind('m1')).conflicts).toHaveLength(1)
  })

  test('an edit that was announced and never recorded is no conflict, but its bytes are kept', async () => {
    for (const id of ['m2', 'm3']) {
      await history.makeSnapshot(id)
      await history.trackEdit('a.txt', id)
      await work.write('a.txt', `a ${id}`)
      expect((await history.planRewind('m1')).conflicts, id).toEqual([])
      await reopen()
      expect((await history.planRewind('m1')).conflicts, id).toEqual([])
    }
    await history.rewind('m1')
    await history.undoRewind()
    expect(await work.read('a.txt')).toBe('a m3')
  })

  test('without edits.jsonl a file that differs from the newest snapshot is a conflict', async () => {
    await history.makeSnapshot('m2')
    await history.trackEdit('a.txt', 'm2')
    await work.write('a.txt', 'a3')
    await history.close()
    await fs.rm(work.inDir('edits.jsonl'))
    history = await work.open()
    expect((await history.planRewind('m1')).conflicts).toMatchObject([{ path: work.path('a.txt') }])
    expect(await history.rewind('m1', { onConflict: 'overwrite' })).toMatchObject({ skipped: [] })
  })
})

describe('a plan', () => {
  let plan: RewindPlan
  beforeEach(async () => {
    await history.makeSnapshot('m1')
    await edit(work, history, 'a.txt', 'a2\n')
    await edit(work, history, 'b.txt', 'b2\n')
    await edit(work, history, 'c.txt', 'c2\n')
    plan = await history.planRewind('m1')
  })

  test('is data: through JSON and back, it does what it says', async () => {
    expect(plan).toMatchObject({
      messageId: 'm1',
      changes: [
        { path: work.path('a.txt'), kind: 'modify', insertions: 1, deletions: 1, binary: false },
        { path: work.path('b.txt'), kind: 'modify' },
        { path: work.path('c.txt'), kind: 'delete', insertions: 0, deletions: 1, after: null },
      ],
      conflicts: [],
      skipped: [],
    })
    const copy: RewindPlan = JSON.parse(JSON.stringify(plan))
    expect(await history.rewind(copy)).toMatchObject({
      restored: [work.path('a.txt'), work.path('b.txt')],
      deleted: [work.path('c.txt')],
    })
  })

  test('a file that changed after the plan stops the rewind, by bytes or by mode', async () => {
    await work.write('a.txt', 'a3\n')
    await history.recordEdit('a.txt', 'later')
    await fs.chmod(work.path('b.txt'), 0o600)
    await history.recordEdit('b.txt', 'later')
    const error = await failure(history.rewind(plan))
    expect(error).toMatchObject({
      code: 'REWIND_CONFLICT',
      details: { plan: { conflicts: [{ path: work.path('a.txt') }, { path: work.path('b.txt') }] } },
    })
    expect(await history.rewind(plan, { onConflict: 'skip' })).toMatchObject({
      deleted: [work.path('c.txt')],
      conflicts: [{ path: work.path('a.txt') }, { path: work.path('b.txt') }],
    })
  })

  test('changes taken out of it are not made, and named', async () => {
    const some = { ...plan, changes: plan.changes.filter(({ kind }) => kind === 'delete') }
    const result = await history.rewind(some)
    expect(result).toMatchObject({ restored: [], deleted: [work.path('c.txt')] })
    expect(result.skipped.map(({ path }) => path)).toEqual([work.path('a.txt'), work.path('b.txt')])
    expect(await work.read('a.txt')).toBe('a2\n')
  })

  test('planning touches nothing', async () => {
    const before = await work.all()
    await history.planRewind('m1')
    await history.diff('m1', undefined, { patch: true })
    expect(await work.all()).toEqual(before)
  })
})

test('paths restrict a rewind to files, and to what is below directories, in any spelling', async () => {
  await history.makeSnapshot('m1')
  for (const name of ['a.txt', 'd/x.txt', 'd/e/y.txt', 'dd.txt']) await edit(work, history, name, 'new')
  const result = await history.rewind('m1', { paths: ['./d', work.path('a.txt'), 'never.txt'] })
  expect(result).toMatchObject({
    restored: [work.path('a.txt')],
    deleted: [work.path('d/e/y.txt'), work.path('d/x.txt')],
    skipped: [{ path: work.path('never.txt'), reason: 'it is not tracked' }],
  })
  expect(await work.read('dd.txt')).toBe('new')
  const plan = await history.planRewind('m1', { paths: ['.'] })
  expect(plan.changes.map(({ path }) => path)).toEqual([work.path('dd.txt')])
  expect(plan.skipped).toEqual([])
  const nothing = await history.planRewind('m1', { paths: ['a.txt'] })
  await history.rewind(nothing)
  expect(await work.read('dd.txt')).toBe('new')
})

test('a signal that is aborted stops it before the first file', async () => {
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  const before = await work.all()
  expect(await failure(history.rewind('m1', { signal: AbortSignal.abort() }))).toMatchObject({
    name: 'AbortError',
  })
  expect(await work.all()).toEqual(before)
})

describe('every file that is not restored is named', () => {
  beforeEach(async () => {
    await work.write('d/f.txt', 'f1')
    await history.makeSnapshot('m1')
    for (const name of ['a.txt', 'b.txt', 'd/f.txt']) await edit(work, history, name, `${name} 2`)
  })
  const skipped = async (reason: RegExp, name = 'a.txt'): Promise<void> => {
    const plan = await history.planRewind('m1')
    expect(plan.skipped).toEqual([{ path: work.path(name), reason: expect.stringMatching(reason) }])
    const result = await history.rewind('m1')
    expect(result.skipped).toEqual(plan.skipped)
    expect(result.restored).toHaveLength(2)
  }

  test('a link is in its place: it is not followed, whatever the target state', async () => {
    await fs.writeFile(work.beside('victim'), 'victim')
    await work.remove('a.txt')
    await fs.symlink('../victim', work.path('a.txt'))
    await skipped(/link is in its place/)
    expect(await fs.readFile(work.beside('victim'), 'utf8')).toBe('victim')
    expect((await work.files())['a.txt']).toEqual({ link: '../victim' })
  })

  test('a directory is in its place', async () => {
    await work.remove('a.txt')
    await work.write('a.txt/inner', 'kept')
    await skipped(/directory is in its place/)
    expect(await work.read('a.txt/inner')).toBe('kept')
  })

  test('a FIFO is in its place: it is not opened', async () => {
    await work.remove('a.txt')
    execFileSync('mkfifo', [work.path('a.txt')])
    await skipped(/no file is in its place/)
    await work.remove('a.txt')
  })

  test('its directory was replaced by a link', async () => {
    await fs.rename(work.path('d'), work.beside('elsewhere'))
    await fs.symlink('../elsewhere', work.path('d'))
    await skipped(/through a link/, 'd/f.txt')
    expect(await fs.readFile(work.beside('elsewhere/f.txt'), 'utf8')).toBe('d/f.txt 2')
  })

  test('its directory is a file now', async () => {
    await work.remove('d')
    await work.write('d', 'a file')
    await skipped(/a file stands where its directory has to be/, 'd/f.txt')
    expect(await work.read('d')).toBe('a file')
  })

  test('its backup is missing', async () => {
    await fs.rm(work.inDir(backupFileName(work.path('a.txt'), 1)))
    await skipped(/is missing/)
    expect(await work.read('a.txt')).toBe('a.txt 2')
    expect(await failure(history.readFileAt('m1', 'a.txt'))).toMatchObject({ code: 'BACKUP_MISSING' })
    expect(await failure(history.diff('m1'))).toMatchObject({
      code: 'BACKUP_MISSING',
      details: { path: work.path('a.txt') },
    })
  })

  test('its backup is truncated, or has other bytes', async () => {
    await fs.writeFile(work.inDir(backupFileName(work.path('a.txt'), 1)), 'a')
    await skipped(/damaged/)
    expect(await work.read('a.txt')).toBe('a.txt 2')
    expect(await verifyFileHistory(work)).toMatchObject([
      { kind: 'bad-backup', path: work.inDir(backupFileName(work.path('a.txt'), 1)) },
    ])
    expect(await failure(history.readFileAt('m1', 'a.txt'))).toMatchObject({ code: 'BACKUP_MISSING' })
  })

  test('its backup lost its mode, as a copied folder does: the mode comes back all the same', async () => {
    await fs.chmod(work.inDir(backupFileName(work.path('a.txt'), 1)), 0o600)
    expect((await history.rewind('m1')).restored).toHaveLength(3)
    expect((await work.files())['a.txt']).toEqual({ mode: 0o644, text: 'a1' })
  })

  test('writing fails: the old bytes stay, the others are written, a second rewind finishes', async () => {
    setFaultHook((operation, path) =>
      operation === 'rename' && path === work.path('a.txt')
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    const result = await history.rewind('m1')
    setFaultHook(undefined)
    expect(result).toMatchObject({
      skipped: [{ path: work.path('a.txt'), reason: expect.stringMatching(/EACCES/) }],
    })
    expect(result.restored).toHaveLength(2)
    expect(await work.read('a.txt')).toBe('a.txt 2')
    expect(history.pendingRewind).toBeNull()
    expect((await history.rewind('m1')).restored).toEqual([work.path('a.txt')])
    expect(Object.keys(await work.files()).toSorted()).toEqual(['a.txt', 'b.txt', 'd/f.txt', 'user.txt'])
  })

  test('it cannot be looked at', async () => {
    setFaultHook((operation, path) =>
      operation === 'lstat' && path === work.path('a.txt')
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    await skipped(/EACCES/)
  })

  test('it changes while the others are written: left alone, and named', async () => {
    setFaultHook((operation, path) => {
      if (operation === 'rename' && path === work.path('a.txt')) {
        execFileSync('sh', ['-c', 'echo mine > "$1"', 'sh', work.path('b.txt')])
      }
      return undefined
    })
    const result = await history.rewind('m1')
    expect(result.conflicts).toEqual([{ path: work.path('b.txt'), reason: 'it was changed just now' }])
    expect(await work.read('b.txt')).toBe('mine\n')
    expect(result.restored).toHaveLength(2)
  })

  test.each([
    ['written', 'write', 'a2'],
    ['copied, as it is large', 'copy', 'x'.repeat(300_000)],
  ])('somebody saves it while its backup is %s', async (_, step, text) => {
    await edit(work, history, 'a.txt', text)
    await history.makeSnapshot('m3')
    await edit(work, history, 'a.txt', 'a4')
    setFaultHook((operation, path) => {
      if (operation === step && path.startsWith(work.path('.loci-'))) {
        setFaultHook(undefined)
        execFileSync('sh', ['-c', 'printf mine > "$1"', 'sh', work.path('a.txt')])
      }
      return undefined
    })
    const result = await history.rewind('m3')
    expect(result.conflicts).toEqual([{ path: work.path('a.txt'), reason: 'it was changed just now' }])
    expect(await work.read('a.txt')).toBe('mine')
    expect(Object.keys(await work.files()).filter((name) => name.includes('.tmp'))).toEqual([])
  })

  test('somebody saves it between the look at it and its deletion', async () => {
    await edit(work, history, 'new.txt', 'new')
    let isBegun = false
    setFaultHook((operation, path) => {
      if (operation === 'write' && path.endsWith('edits.jsonl')) isBegun = true
      if (isBegun && operation === 'close' && path === work.path('new.txt')) {
        setFaultHook(undefined)
        execFileSync('sh', ['-c', 'printf mine > "$1"', 'sh', path])
      }
      return undefined
    })
    const result = await history.rewind('m1')
    expect(result.conflicts).toEqual([{ path: work.path('new.txt'), reason: 'it was changed just now' }])
    expect(await work.read('new.txt')).toBe('mine')
  })
})

describe('hard-linked files', () => {
  beforeEach(async () => {
    await fs.link(work.path('a.txt'), work.path('other-name'))
    await history.trackEdit('a.txt', 'm1')
    await work.write('a.txt', 'longer than before')
    await history.recordEdit('a.txt', 'm1')
  })

  test('are restored in place: the other name follows, and so does the undo', async () => {
    await history.rewind('m1')
    expect([await work.read('a.txt'), await work.read('other-name')]).toEqual(['a1', 'a1'])
    expect((await fs.stat(work.path('a.txt'))).nlink).toBe(2)
    await history.undoRewind()
    expect(await work.read('other-name')).toBe('longer than before')
  })

  test('keep their bytes when writing fails half-way', async () => {
    let writes = 0
    setFaultHook((operation, path) => {
      if (operation === 'ftruncate' && path === work.path('a.txt') && writes++ === 0) {
        return Object.assign(new Error('injected'), { code: 'EIO' })
      }
      return undefined
    })
    const result = await history.rewind('m1')
    expect(result.skipped).toMatchObject([{ path: work.path('a.txt') }])
    expect(await work.read('other-name')).toBe('longer than before')
    expect(history.pendingRewind).toBeNull()
  })

  test('that cannot even be put back leave the rewind pending, and it can be resolved', async () => {
    setFaultHook((operation, path) =>
      operation === 'ftruncate' && path === work.path('a.txt')
        ? Object.assign(new Error('injected'), { code: 'EIO' })
        : undefined,
    )
    expect(await failure(history.rewind('m1'))).toMatchObject({ code: 'REWIND_INCOMPLETE' })
    setFaultHook(undefined)
    expect(history.pendingRewind).toMatchObject({ messageId: 'm1', left: [work.path('a.txt')] })
    await work.write('a.txt', 'a1nger than before')
    expect(await history.resolveRewind('finish')).toMatchObject({ restored: [work.path('a.txt')] })
    expect(await work.read('other-name')).toBe('a1')
  })

  test('a live file that shares the inode of its own backup is replaced, not written through', async () => {
    const backup = work.inDir(backupFileName(work.path('a.txt'), 1))
    await history.makeSnapshot('m2')
    const second = work.inDir(backupFileName(work.path('a.txt'), 2))
    await work.remove('a.txt')
    await fs.link(second, work.path('a.txt'))
    await history.rewind('m1')
    expect(await fs.readFile(backup, 'utf8')).toBe('a1')
    expect(await fs.readFile(second, 'utf8')).toBe('longer than before')
    expect(await work.read('a.txt')).toBe('a1')
  })
})
