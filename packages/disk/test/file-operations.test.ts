import { fileErrno, files, isAbsent, isLociError, orAbsent } from '@loci/disk'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'a.txt': 'text' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

async function failure(action: Promise<unknown>): Promise<unknown> {
  return action.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test('a failed operation says in one line what failed, on which file, and what to do', async () => {
  const error = await failure(files.readFile(work.path('missing')))
  expect(isLociError(error, 'DISK_IO')).toBe(true)
  expect(String(error)).toBe(
    `LociError: Cannot read ${JSON.stringify(work.path('missing'))}: it, or a parent of it, does not exist (ENOENT)`,
  )
})

test.each([
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  ['EACCES', 'DISK_IO'],
  ['EROFS', 'DISK_IO'],
])('%s becomes %s', async (errno, code) => {
  setFaultHook(() => Object.assign(new Error('injected'), { code: errno }))
  const error = await failure(files.lstat(work.path('a.txt')))
  expect(isLociError(error, code)).toBe(true)
  expect(fileErrno(error)).toBe(errno)
})

test('only ENOENT means absent', async () => {
  expect(await orAbsent(files.stat(work.path('missing')))).toBeUndefined()
  expect(isAbsent(await failure(files.stat(work.path('a.txt/below'))))).toBe(false)
  setFaultHook(() => Object.assign(new Error('injected'), { code: 'EACCES' }))
  expect(isLociError(await failure(orAbsent(files.stat(work.path('a.txt')))), 'DISK_IO')).toBe(true)
})

test('readdir gives names in one order, whatever the file system does', async () => {
  const many = await tree({ b: '', a: '', C: '', é: '' })
  expect((await files.readdir(many.root)).map((entry) => entry.name)).toEqual(['C', 'a', 'b', 'é'])
  await many.remove()
})

test('writeAll goes on after a short write', async () => {
  setFaultHook((operation) => (operation === 'write' ? { shortWriteBytes: 3 } : undefined))
  const file = await files.open(work.path('b.txt'), 'w')
  await file.writeAll(Buffer.from('0123456789'))
  await file.close()
  expect(await work.read('b.txt')).toBe('0123456789')
})
