import { lstatSync, writeFileSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { filesNow } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { project } from './project.ts'
import type { Project } from './project.ts'

const { look } = filesNow

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1' })
})
afterEach(async () => {
  filesNow.look = look
  setFaultHook(undefined)
  await work.dispose()
})

/** A clock that does not tick: an open file shows the stats of now, so much older, whatever happens to it. */
function freezeStats(path: string, olderByNs: bigint): void {
  const frozen = lstatSync(path, { bigint: true })
  frozen.ctimeNs -= olderByNs
  filesNow.look = (name, flags, use) =>
    look(name, flags, (file) => use(name === path ? { ...file, statExactly: () => frozen } : file))
}

test('a small file that was just written is read twice: a change within one tick of the clock moves no time', async () => {
  const path = work.path('a.txt')
  // Just written, however long this test has taken so far.
  freezeStats(path, -60_000_000_000n)
  let reads = 0
  setFaultHook((operation, name) => {
    // The first reading is over, and has seen equal stats before and after.
    if (operation === 'close' && name === path && (reads += 1) === 1) writeFileSync(path, 'a2')
    return undefined
  })
  const history = await work.open()
  const { backupFileName } = await history.trackEdit('a.txt', 'a')
  await history.close()
  expect(reads).toBeGreaterThan(1)
  expect(await fs.readFile(work.inDir(backupFileName ?? ''), 'utf8')).toBe('a2')
})

test('one whose times are older than a second is read once: its stats would show a change', async () => {
  const path = work.path('a.txt')
  freezeStats(path, 2_000_000_000n)
  let opens = 0
  setFaultHook((operation, name) => {
    if (operation === 'open' && name === path) opens += 1
    return undefined
  })
  const history = await work.open()
  await history.trackEdit('a.txt', 'a')
  await history.close()
  expect(opens).toBe(1)
})
