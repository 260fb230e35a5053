import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'orig', 'b.txt': 'orig' })
  history = await work.open()
  await history.makeSnapshot('m1')
  await history.trackCommand('m1', async () => {
    await work.write('a.txt', 'tool')
    await work.write('b.txt', 'tool')
  })
  await work.write('a.txt', 'human')
  await history.rewind('m1', { onConflict: 'overwrite' })
  await work.write('a.txt', 'human2')
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

const texts = async (): Promise<(string | null)[]> => [await work.read('a.txt'), await work.read('b.txt')]

async function reopen(): Promise<void> {
  await history.close()
  history = await work.open()
}

test('an undo that left a file behind is not over: the next one finishes it', async () => {
  expect(await history.undoRewind()).toMatchObject({
    restored: [work.path('b.txt')],
    conflicts: [{ path: work.path('a.txt') }],
  })
  await reopen()
  expect(await history.undoRewind({ onConflict: 'overwrite' })).toMatchObject({
    restored: [work.path('a.txt')],
    conflicts: [],
  })
  expect(await texts()).toEqual(['human', 'tool'])
})

test('as long as it is not told to overwrite, the rest is named again, and nothing is undone the other way', async () => {
  await history.undoRewind()
  for (let round = 0; round < 2; round += 1) {
    expect(await history.undoRewind()).toMatchObject({
      restored: [],
      conflicts: [{ path: work.path('a.txt') }],
      undoable: false,
    })
    expect(await texts()).toEqual(['human2', 'tool'])
  }
})

test('when nothing is left, the next undo undoes the undo', async () => {
  await history.undoRewind()
  await history.undoRewind({ onConflict: 'overwrite' })
  await history.undoRewind()
  expect(await texts()).toEqual(['human2', 'tool'])
  await reopen()
  await history.undoRewind()
  expect(await texts()).toEqual(['human', 'tool'])
})

test('a file left behind that stands as before by now is no longer left', async () => {
  await history.undoRewind()
  await work.write('a.txt', 'human')
  expect(await history.undoRewind()).toMatchObject({ restored: [work.path('b.txt')], conflicts: [] })
  expect(await texts()).toEqual(['human', 'orig'])
})

test('by its id the undo is undone, whatever it left', async () => {
  await history.undoRewind()
  const id = history.rewinds()[0]?.id ?? ''
  expect(await history.undoRewind({ id })).toMatchObject({ restored: [work.path('b.txt')] })
  expect(await texts()).toEqual(['human2', 'orig'])
})

test('a rewind after it is undone first', async () => {
  await history.undoRewind()
  await history.rewind('m1', { onConflict: 'skip', paths: ['b.txt'] })
  expect(await history.undoRewind()).toMatchObject({ restored: [work.path('b.txt')], conflicts: [] })
  expect(await texts()).toEqual(['human2', 'tool'])
})
