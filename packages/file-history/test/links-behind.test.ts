import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { setFaultHook } from '@loci/disk/testing'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createHash } from 'node:crypto'
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

test('an undo that overwrites keeps no bytes of what is behind a link that its directory became', async () => {
  await history.rewind('m1')
  swap()
  writeFileSync(`${others}/edited.txt`, 'secret of others')
  const result = await history.undoRewind({ onConflict: 'overwrite' })
  expect(result.skipped.map(({ path }) => path)).toContain(work.path('d/edited.txt'))
  expect(Object.values(filesBelow(work.dir)).filter((text) => text.includes('secret of others'))).toEqual([])
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
  expect(Object.values(filesBelow(work.dir)).filter((text) => text.includes('secret of others'))).toEqual([])
})

test.each(['undo', 'finish'] as const)('resolving by %s removes nothing behind such a link', async (how) => {
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
})
