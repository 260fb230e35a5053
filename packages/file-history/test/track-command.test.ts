import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({
    'a.txt': { text: 'a1', mode: 0o755 },
    'd/b.txt': 'b1',
    'd/c.txt': 'c1',
    'same.txt': 'same',
    '.git/index': 'git',
  })
  history = await work.open()
  await history.makeSnapshot('m1')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

const sh = (script: string) => async (): Promise<string> =>
  execFileSync('sh', ['-c', script], { cwd: work.root, encoding: 'utf8' })

test('changed, created, deleted and renamed files get their state before, and rewind', async () => {
  const before = await work.files()
  const { result, changed, untracked } = await history.trackCommand(
    'c1',
    sh(
      'printf a2 > a.txt; chmod 600 a.txt; rm d/b.txt; mkdir e; mv d/c.txt e/c.txt; touch same.txt; echo done',
    ),
  )
  expect(result).toBe('done\n')
  expect(changed).toEqual(['a.txt', 'd/b.txt', 'd/c.txt', 'e/c.txt'].map(work.path))
  expect(untracked).toEqual([])
  const plan = await history.planRewind('m1')
  expect(plan.conflicts).toEqual([])
  expect(plan.changes.map(({ kind }) => kind)).toEqual(['modify', 'create', 'create', 'delete'])
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
  await history.undoRewind()
  expect(await work.read('e/c.txt')).toBe('c1')
})

test('a second command copies only what changed since, and sees an edit of the same size and time', async () => {
  await history.trackCommand('c1', sh('printf b2 > d/b.txt'))
  await fs.utimes(work.path('d/b.txt'), 1, 1)
  await history.makeSnapshot('m2')
  let copies = 0
  setFaultHook((operation, path) => {
    if ((operation === 'copy' || operation === 'write') && path.includes('/base/')) copies += 1
    return undefined
  })
  const { changed } = await history.trackCommand('c2', sh('printf b3 > d/b.txt; touch -d @1 d/b.txt'))
  setFaultHook(undefined)
  expect(copies).toBe(1)
  expect(changed).toEqual([work.path('d/b.txt')])
  await history.rewind('m2')
  expect(await work.read('d/b.txt')).toBe('b2')
})

test('a tracked file keeps the state of its snapshot; the command only adds to it', async () => {
  await edit(work, history, 'a.txt', 'edited')
  await history.trackCommand('c1', sh('printf more >> a.txt'))
  expect((await history.planRewind('m1')).conflicts).toEqual([])
  await history.rewind('m1')
  expect(await work.read('a.txt')).toBe('a1')
})

test('a rejection of the command passes through, its edits are covered', async () => {
  const error = new Error('from the command')
  const rejected = history.trackCommand('c1', async () => {
    await work.write('a.txt', 'half')
    throw error
  })
  expect(await failure(rejected)).toBe(error)
  await history.rewind('m1')
  expect(await work.read('a.txt')).toBe('a1')
})

test('what a background process changes later is nobody’s: a conflict', async () => {
  await history.trackCommand('c1', sh('printf a2 > a.txt'))
  await work.write('a.txt', 'later')
  expect((await history.planRewind('m1')).conflicts).toEqual([
    { path: work.path('a.txt'), reason: 'it was changed after the agent left it' },
  ])
})

/** A command that runs until it is told to end. */
async function longCommand(messageId: string): Promise<{ end: () => Promise<{ changed: string[] }> }> {
  let stop = (): void => undefined
  let tell = (): void => undefined
  const started = new Promise<void>((resolve) => (tell = resolve))
  const stopped = new Promise<void>((resolve) => (stop = resolve))
  const command = history.trackCommand(messageId, async () => {
    tell()
    await stopped
  })
  await started
  return {
    end: () => {
      stop()
      return command
    },
  }
}

test('commands that overlap report each what happened between its own start and end', async () => {
  const first = await longCommand('c1')
  await work.write('a.txt', 'by the first')
  const second = await longCommand('c2')
  await work.write('d/b.txt', 'by the second')
  await work.write('d/c.txt', 'by the first')
  const later = ['d/b.txt', 'd/c.txt'].map(work.path)
  expect((await second.end()).changed).toEqual(later)
  expect((await first.end()).changed).toEqual([work.path('a.txt'), ...later])
  await history.rewind('m1')
  expect([await work.read('a.txt'), await work.read('d/b.txt')]).toEqual(['a1', 'b1'])
})

test('beside a command that runs for long, another has the files as of its own start', async () => {
  const server = await longCommand('c1')
  await work.write('a.txt', 'the user’s work')
  await work.write('user.txt', 'the user’s file')
  await history.makeSnapshot('m2')
  const { changed } = await history.trackCommand('c2', sh('printf sed > a.txt'))
  expect(changed).toEqual([work.path('a.txt')])
  await history.rewind('m2')
  expect(await work.read('a.txt')).toBe('the user’s work')
  expect(await work.read('user.txt')).toBe('the user’s file')
  await server.end()
})

test('what changed while a command ran is not taken for the state at a snapshot made meanwhile', async () => {
  const server = await longCommand('c1')
  await work.write('user.txt', 'the user’s file')
  await work.write('a.txt', 'a2')
  await history.makeSnapshot('m2')
  await work.write('a.txt', 'a3')
  expect(await server.end()).toMatchObject({ changed: ['a.txt', 'user.txt'].map(work.path) })
  const unknown = ['a.txt', 'user.txt'].map((name) => ({ path: work.path(name), reason: expect.any(String) }))
  expect(await history.rewind('m2')).toMatchObject({ deleted: [], restored: [], skipped: unknown })
  // Neither does the state before a later edit pass for it, also after reopening.
  await history.close()
  history = await work.open()
  await edit(work, history, 'a.txt', 'a4', 'e')
  expect(await history.rewind('m2')).toMatchObject({ deleted: [], restored: [], skipped: unknown })
  await history.rewind('m1')
  expect([await work.read('a.txt'), await work.read('user.txt')]).toEqual(['a1', null])
})

test('an edit of a file that a command, while it runs, has changed: the state before both is kept, and the one between', async () => {
  const before = await work.files()
  await history.makeSnapshot('since')
  const command = await longCommand('c1')
  await work.write('a.txt', 'by the command')
  await work.write('new.txt', 'by the command')
  await edit(work, history, '.git/index', 'by the agent', 'e0')
  await edit(work, history, 'a.txt', 'by the agent', 'e1')
  await edit(work, history, 'new.txt', 'by the agent', 'e2')
  await edit(work, history, 'd/b.txt', 'by the agent', 'e3')
  await command.end()
  // Of the file of the repository the command tells nothing: the first look is its state before.
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['m1', 'since', 'e1', 'e2'])
  await history.close()
  history = await work.open()
  for (const id of ['since', 'm1']) {
    expect(await history.planRewind(id)).toMatchObject({ conflicts: [], skipped: [] })
    await history.rewind(id)
    expect(await work.files()).toEqual(before)
    await history.undoRewind()
  }
  await history.rewind('e2')
  expect([await work.read('a.txt'), await work.read('new.txt')]).toEqual(['by the agent', 'by the command'])
  // What the other file held at the first edit nobody looked at.
  expect(await history.rewind('e1')).toMatchObject({ skipped: [{ path: work.path('new.txt') }] })
  expect(await work.read('a.txt')).toBe('by the command')
})

test('with nothing changed, a second command copies nothing and reads nothing of the tree', async () => {
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + 3_600_000)
  onTestFinished(() => clock.mockRestore())
  await history.trackCommand('c1', async () => undefined)
  const operations: string[] = []
  setFaultHook((operation, path) => {
    const isOfTree = path.startsWith(work.root) || path.includes('/base/')
    if (isOfTree && (operation === 'copy' || operation === 'open' || operation === 'read')) {
      operations.push(`${operation} ${path}`)
    }
    return undefined
  })
  expect(await history.trackCommand('c2', async () => undefined)).toMatchObject({ changed: [] })
  setFaultHook(undefined)
  expect(operations).toEqual([])
})

test('copies that no command needs any more are removed', async () => {
  const server = await longCommand('c1')
  await work.write('a.txt', 'a2')
  await history.trackCommand('c2', sh('printf b2 > d/b.txt'))
  expect(await fs.readdir(work.inDir('base'))).toHaveLength(5)
  await server.end()
  expect(await fs.readdir(work.inDir('base'))).toHaveLength(4)
})

test('after gc, and while it runs beside a command, no file counts as absent before the command', async () => {
  const ticks = Date.now() / 1000 - 60
  await fs.utimes(work.path('a.txt'), ticks, ticks)
  await history.trackCommand('c1', sh('printf x > other.txt'))
  await history.gc()
  await history.trackCommand('c2', async () => {
    await work.write('a.txt', 'a2')
    await history.gc()
  })
  await history.makeSnapshot('m2')
  await history.gc()
  await history.trackCommand('c3', sh('printf c2 > d/c.txt'))
  await history.rewind('m1')
  expect(await work.read('a.txt')).toBe('a1')
  expect(await work.read('d/c.txt')).toBe('c1')
})

test('a file whose copy is lost is untracked, never recorded as absent', async () => {
  const { result, changed, untracked } = await history.trackCommand('c1', async () => {
    await work.write('a.txt', 'a2')
    await fs.rm(work.inDir('base'), { recursive: true })
    return 'result'
  })
  expect([result, changed]).toEqual(['result', []])
  expect(untracked).toContain(work.path('a.txt'))
  await history.rewind('m1')
  expect(await work.read('a.txt')).toBe('a2')
})

test.each(['readdir', 'lstat'])(
  'what could not be looked at before the command (%s), and can be after it, was not created by it',
  async (operation) => {
    const denied = work.path(operation === 'readdir' ? 'd' : 'd/b.txt')
    setFaultHook((name, path) =>
      name === operation && path === denied
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    const { changed, untracked } = await history.trackCommand('c1', async () => setFaultHook(undefined))
    expect(changed).toEqual([])
    expect(untracked).toContain(work.path('d/b.txt'))
    await history.rewind('m1')
    expect(await work.read('d/b.txt')).toBe('b1')
  },
)

test('what cannot be looked at after the command was not deleted by it', async () => {
  const outcome = await history.trackCommand('c1', async () => {
    setFaultHook((name, path) =>
      name === 'readdir' && path === work.path('d')
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    return 'result'
  })
  expect(outcome).toEqual({
    result: 'result',
    changed: [],
    untracked: ['d', 'd/b.txt', 'd/c.txt'].map(work.path),
  })
})

test('a command that was cut off is reported, and its copies stay until gc', async () => {
  const before = createHash('sha256').update('a.txt').digest('hex').slice(0, 32)
  const server = await longCommand('c1')
  await work.write('a.txt', 'by the command')
  // What a kill leaves.
  const left = await fs.readFile(work.inDir('edits.jsonl'))
  await server.end()
  await history.close()
  await fs.writeFile(work.inDir('edits.jsonl'), left)
  const report = [{ kind: 'command-incomplete', message: expect.stringMatching(/^A command of c1 /) }]
  expect(await verifyFileHistory(work)).toMatchObject(report)
  history = await work.open()
  // A rewind past it names it; a snapshot made since holds what it did.
  expect((await history.planRewind('m1')).skipped).toEqual([
    { path: work.root, reason: expect.stringMatching(/^a command of c1 was cut off/) },
  ])
  await history.makeSnapshot('m2')
  expect((await history.planRewind('m2')).skipped).toEqual([])
  await history.trackCommand('c2', sh('printf a3 > a.txt'))
  await history.trackCommand('c3', sh('printf a4 > a.txt'))
  expect(await fs.readFile(work.inDir(`base/${before}`), 'utf8')).toBe('a1')
  expect(await verifyFileHistory(work)).toMatchObject(report)
  await history.gc()
  expect(await fs.readdir(work.inDir('base'))).toEqual([])
  expect(await verifyFileHistory(work)).toEqual([])
})

test('a directory that a command replaces by a file: the files in it are gone, and its result is told', async () => {
  const before = await work.files()
  const outcome = await history.trackCommand('c1', sh('rm -r d; printf file > d; printf done'))
  expect(outcome).toEqual({
    result: 'done',
    changed: ['d', 'd/b.txt', 'd/c.txt'].map(work.path),
    untracked: [],
  })
  await history.rewind('m1')
  await history.rewind('m1')
  expect(await work.files()).toEqual(before)
})

test('a file that cannot be read after the command is untracked, and the result is told', async () => {
  const outcome = await history.trackCommand('c1', async () => {
    await work.write('a.txt', 'a2')
    setFaultHook((name, path) =>
      name === 'open' && path === work.path('a.txt')
        ? Object.assign(new Error('injected'), { code: 'EACCES' })
        : undefined,
    )
    return 'result'
  })
  expect(outcome).toEqual({ result: 'result', changed: [], untracked: [work.path('a.txt')] })
})

test('a name that is not UTF-8 is untracked if it was changed or deleted, and not otherwise', async () => {
  await sh('printf 1 > "$(printf "a\\377")"')()
  expect(await history.trackCommand('c1', sh('printf a2 > a.txt'))).toMatchObject({ untracked: [] })
  for (const script of ['printf 22 > "$(printf "a\\377")"', 'rm "$(printf "a\\377")"']) {
    const { untracked } = await history.trackCommand('c2', sh(script))
    expect(untracked).toEqual([work.path('a\uFFFD')])
  }
})

test('over a limit, links, FIFOs and names that are not UTF-8 are named if they changed; .git is left alone', async () => {
  await history.close()
  history = await work.open({ maxFileBytes: 4 })
  await work.write('big.txt', 'more than four')
  await work.write('big-same.txt', 'more than four')
  await fs.symlink('a.txt', work.path('link'))
  const { changed, untracked } = await history.trackCommand(
    'c1',
    sh(
      'echo x >> big.txt; ln -sf d/b.txt link; mkfifo fifo; echo git > .git/index; touch "$(printf "\\377")"; printf a2 > a.txt',
    ),
  )
  expect(changed).toEqual([work.path('a.txt')])
  expect(untracked).toEqual(['big.txt', 'fifo', 'link', '\uFFFD'].map(work.path))
  await work.remove('fifo')
})

test('files are covered from the root downwards, node_modules last, until a limit is reached', async () => {
  await work.write('node_modules/x/index.js', 'x1')
  await history.close()
  history = await work.open({ maxFiles: 4 })
  const script = sh('printf 2 > node_modules/x/index.js; printf 2 > d/c.txt')
  expect(await history.trackCommand('c1', script)).toMatchObject({
    changed: [work.path('d/c.txt')],
    untracked: [work.path('node_modules/x/index.js')],
  })
})

test('the backup folder inside the root is not part of the tree', async () => {
  await history.close()
  history = await work.open({ dir: work.path('.file-history') })
  const { changed, untracked } = await history.trackCommand('c1', sh('printf a2 > a.txt'))
  expect([changed, untracked]).toEqual([[work.path('a.txt')], []])
})

test('without a snapshot a first one is made with the id of the command', async () => {
  await history.close()
  history = await work.open({ dir: work.inDir('other') })
  await history.trackCommand('c1', sh('printf a2 > a.txt'))
  expect(history.snapshots().map(({ messageId }) => messageId)).toEqual(['c1'])
  await history.rewind('c1')
  expect(await work.read('a.txt')).toBe('a1')
})

test('on a full disk the command is not run', async () => {
  setFaultHook((operation, path) =>
    (operation === 'copy' || operation === 'write') && path.includes('/base/')
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined,
  )
  let isRun = false
  const rejected = history.trackCommand('c1', async () => {
    isRun = true
  })
  expect(await failure(rejected)).toMatchObject({ code: 'DISK_FULL' })
  expect(isRun).toBe(false)
  setFaultHook(undefined)
  expect(await history.trackCommand('c2', sh('printf a2 > a.txt'))).toMatchObject({
    changed: [work.path('a.txt')],
  })
})

test('where recording fails after a command that failed, both errors are told', async () => {
  const rejected = history.trackCommand('c1', async () => {
    await work.write('a.txt', 'half')
    setFaultHook((operation) =>
      operation === 'write' ? Object.assign(new Error('injected'), { code: 'ENOSPC' }) : undefined,
    )
    throw new Error('from the command')
  })
  const error = await failure(rejected)
  setFaultHook(undefined)
  expect(error).toBeInstanceOf(AggregateError)
  expect(error instanceof AggregateError && error.errors).toMatchObject([
    { message: 'from the command' },
    { code: 'DISK_FULL' },
  ])
})

test('a directory that could not be read before, and is gone or can be read after, is named', async () => {
  setFaultHook((operation, path) =>
    operation === 'readdir' && path === work.path('d')
      ? Object.assign(new Error('injected'), { code: 'EACCES' })
      : undefined,
  )
  onTestFinished(() => setFaultHook(undefined))
  const { untracked } = await history.trackCommand('c1', async () => {
    setFaultHook(undefined)
    await fs.rm(work.path('d'), { recursive: true })
  })
  expect(untracked).toEqual([work.path('d')])
})
