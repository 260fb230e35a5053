import * as fs from 'node:fs/promises'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FolderNames } from '../src/folder-names.ts'
import { goOn, operationsOf } from './aged.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'h/one': '', 'h/two': '' })
})
afterEach(async () => {
  setFaultHook(undefined)
  vi.restoreAllMocks()
  await work.remove()
})

/** How often the folder was read for a look. */
async function readings(names: FolderNames): Promise<number> {
  const seen = await operationsOf(async () => names.look())
  return seen.filter(([operation]) => operation === 'readdir').length
}

test('a folder that changed within the last second is read each time, then only when a name came or went', async () => {
  const names = new FolderNames(work.path('h'))
  expect([await readings(names), await readings(names)]).toEqual([1, 1])
  goOn(5)
  expect([await readings(names), await readings(names)]).toEqual([1, 0])
  await fs.writeFile(work.path('h/one'), 'other bytes')
  expect(await readings(names)).toBe(0)
  await fs.rm(work.path('h/one'))
  expect([...names.look()]).toEqual(['two'])
  await fs.rename(work.path('h/two'), work.path('h/three'))
  expect([...names.look()]).toEqual(['three'])
})

test('a folder that is not there, or cannot be read, has no names', async () => {
  expect(new FolderNames(work.path('none')).look().size).toBe(0)
  const names = new FolderNames(work.path('h'))
  setFaultHook(() => Object.assign(new Error('injected'), { code: 'EACCES' }))
  expect(names.look().size).toBe(0)
  setFaultHook(undefined)
  expect(names.look().size).toBe(2)
})
