import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkpointProject } from './checkpoint-project.ts'
import { filesBelow } from './fault-scene.ts'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// A directory that the history knows is replaced by a link to somebody else's, which has files of the same names.

let work: Project
let history: FileHistory
let others: string
beforeEach(async () => {
  work = await project({
    'd/edited.txt': 'e1',
    'd/deep/deleted.txt': 'd1',
    'd/linked.txt': 'l1',
    'kept.txt': 'k1',
  })
  history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'd/edited.txt', 'e2')
  await edit(work, history, 'd/deep/deleted.txt', null)
  await edit(work, history, 'd/made.txt', 'm2')
  await edit(work, history, 'kept.txt', 'k2')
  others = work.beside('others')
  mkdirSync(`${others}/deep`, { recursive: true })
  // What would be written over or deleted, if anybody followed the link: the very states that the agent left.
  writeFileSync(`${others}/edited.txt`, 'e2')
  writeFileSync(`${others}/made.txt`, 'm2')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

/** Puts the link in the place of the directory, which goes on under another name. */
function swap(): void {
  renameSync(work.path('d'), work.beside('moved-away'))
  symlinkSync(others, work.path('d'))
}

/** Swaps before the operation `wanted` on a path that ends so. Tells whether it came to that. */
function swapBefore(wanted: string, ending: string): () => boolean {
  let isSwapped = false
  setFaultHook((operation, path) => {
    if (isSwapped || operation !== wanted || !path.endsWith(ending)) return undefined
    isSwapped = true
    swap()
    return undefined
  })
  return () => isSwapped
}

const BELOW = ['d/deep/deleted.txt', 'd/edited.txt', 'd/made.txt']

describe('a parent that became a link', () => {
  test('between plan and rewind: what is behind it is left, named, and the rest comes back', async () => {
    const plan = await history.planRewind('m1')
    expect(plan.changes).toHaveLength(4)
    swap()
    const [theirs, away] = [filesBelow(others), filesBelow(work.beside('moved-away'))]
    const result = await history.rewind(plan, { onConflict: 'overwrite' })
    expect(result).toMatchObject({ restored: [work.path('kept.txt')], deleted: [] })
    expect(result.skipped.map(({ path }) => path)).toEqual(BELOW.map((name) => work.path(name)))
    expect([filesBelow(others), filesBelow(work.beside('moved-away'))]).toEqual([theirs, away])
  })

  test('between rewind and undo, and the undo of that: the same', async () => {
    await history.rewind('m1')
    swap()
    const theirs = filesBelow(others)
    for (const text of ['k2', 'k1']) {
      const [newest] = history.rewinds()
      const result = await history.undoRewind({ onConflict: 'overwrite', ...(newest && { id: newest.id }) })
      expect(result).toMatchObject({ restored: [work.path('kept.txt')], deleted: [] })
      expect(await work.read('kept.txt')).toBe(text)
      expect(filesBelow(others)).toEqual(theirs)
    }
  })

  test('while an interrupted rewind waits: neither finishing nor undoing it goes through the link', async () => {
    let isCut = false
    setFaultHook((operation, path) => {
      if (operation === 'rename' && path.startsWith(work.root)) isCut = true
      return isCut ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
    })
    await failure(history.rewind('m1'))
    setFaultHook(undefined)
    expect(history.pendingRewind).not.toBeNull()
    swap()
    const theirs = filesBelow(others)
    const undone = await history.resolveRewind('undo')
    expect(undone.skipped.map(({ path }) => path)).toEqual(BELOW.map((name) => work.path(name)))
    expect(filesBelow(others)).toEqual(theirs)
    const finished = await history.resolveRewind('finish')
    expect(finished.skipped.map(({ path }) => path)).toEqual(BELOW.map((name) => work.path(name)))
    expect(filesBelow(others)).toEqual(theirs)
  })

  test('for a snapshot, an edit and a command: nothing of what is behind it is backed up under the old name', async () => {
    swap()
    writeFileSync(`${others}/edited.txt`, 'secret of others')
    const theirs = filesBelow(others)
    await history.makeSnapshot('m2')
    await history.trackCommand('m3', async () => work.write('kept.txt', 'k3'))
    expect(await history.readFileAt('m2', work.path('kept.txt'))).toEqual(Buffer.from('k2'))
    await history.close()
    const backups = readdirSync(work.dir).filter((name) => name.includes('@v'))
    const texts = Object.values(filesBelow(work.dir))
    expect(backups.length).toBeGreaterThan(0)
    expect(texts.filter((text) => text.includes('secret of others'))).toEqual([])
    expect(filesBelow(others)).toEqual(theirs)
    history = await work.open()
    expect((await history.planRewind('m1')).skipped.map(({ path }) => path)).toEqual(
      BELOW.map((name) => work.path(name)),
    )
  })
})

// Between the look at the directory and the write there is an instant that no check closes (see the README). Up to it:
const MOMENTS: [string, string][] = [
  ['mkdir', '/undo/r1'],
  ['lstat', '/d/edited.txt'],
  ['open', '/edits.jsonl'],
  ['realpath', '/project/d'],
]

describe('a parent that becomes a link in the middle of a rewind', () => {
  test.each(MOMENTS)('before %s of %s: nothing behind it is touched', async (operation, ending) => {
    const plan = await history.planRewind('m1')
    const wasSwapped = swapBefore(operation, ending)
    const theirs = filesBelow(others)
    const result = await history.rewind(plan, { onConflict: 'overwrite' })
    expect(wasSwapped()).toBe(true)
    expect(filesBelow(others)).toEqual(theirs)
    expect(result.restored).toContain(work.path('kept.txt'))
    const named = [...result.skipped, ...result.conflicts].map(({ path }) => path)
    expect(named).toEqual(expect.arrayContaining([work.path('d/edited.txt'), work.path('d/made.txt')]))
  })
})

test('of the four functions: a rewind goes through no directory that became a link since', async () => {
  const checkpoints = await checkpointProject({ 'd/a.txt': 'a1', 'b.txt': 'b1' })
  await checkpoints.make('m1', 'd/a.txt', 'b.txt', 'd/made.txt')
  for (const name of ['d/a.txt', 'b.txt', 'd/made.txt']) await checkpoints.write(name, 'e2')
  const target = checkpoints.beside('others')
  mkdirSync(target)
  for (const name of ['a.txt', 'made.txt']) writeFileSync(`${target}/${name}`, 'e2')
  let isSwapped = false
  setFaultHook((operation, path) => {
    if (isSwapped || operation !== 'rename' || !path.endsWith('checkpoints.json')) return undefined
    isSwapped = true
    renameSync(checkpoints.path('d'), checkpoints.beside('away'))
    symlinkSync(target, checkpoints.path('d'))
    return undefined
  })
  const theirs = filesBelow(target)
  expect(await failure(checkpoints.rewind('m1'))).toMatchObject({ code: 'DISK_IO' })
  setFaultHook(undefined)
  expect(isSwapped).toBe(true)
  expect(filesBelow(target)).toEqual(theirs)
  expect(await checkpoints.read('b.txt')).toBe('b1')
  await checkpoints.dispose()
})

describe('what is behind the link', () => {
  test('an undo that overwrites keeps no bytes of what is behind a link that its directory became', async () => {
    await history.rewind('m1')
    swap()
    writeFileSync(`${others}/edited.txt`, 'secret of others')
    const result = await history.undoRewind({ onConflict: 'overwrite' })
    expect(result.skipped.map(({ path }) => path)).toContain(work.path('d/edited.txt'))
    expect(Object.values(filesBelow(work.dir)).filter((text) => text.includes('secret of others'))).toEqual(
      [],
    )
  })

  test('nor does a rewind whose file was replaced just now', async () => {
    const plan = await history.planRewind('m1')
    setFaultHook((operation, path) => {
      if (operation === 'mkdir' && path.endsWith('/undo/r1')) {
        swap()
        writeFileSync(`${others}/edited.txt`, 'secret of others')
      }
      return undefined
    })
    await history.rewind(plan, { onConflict: 'overwrite' })
    expect(Object.values(filesBelow(work.dir)).filter((text) => text.includes('secret of others'))).toEqual(
      [],
    )
  })

  test.each(['undo', 'finish'] as const)(
    'resolving by %s removes nothing behind such a link',
    async (how) => {
      let isCut = false
      setFaultHook((operation, path) => {
        if (operation === 'rename' && path.startsWith(work.root)) isCut = true
        return isCut ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
      })
      await failure(history.rewind('m1'))
      setFaultHook(undefined)
      expect(history.pendingRewind).not.toBeNull()
      swap()
      const hash = createHash('sha256').update(work.path('d/edited.txt')).digest('hex').slice(0, 16)
      const scratch = `${others}/.loci-${hash}.tmp`
      writeFileSync(scratch, 'of the project that is there')
      await history.resolveRewind(how)
      expect(existsSync(scratch)).toBe(true)
    },
  )
})
