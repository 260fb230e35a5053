import * as fs from 'node:fs/promises'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'src/a.txt': { text: 'a1', mode: 0o755 } })
  history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'src/a.txt', 'a2')
})
afterEach(async () => {
  await history.close()
  await work.dispose()
})

/** Moves the file and writes into it: in place, or as editors do that make a new one. */
async function moveAndEdit(kind: string): Promise<void> {
  await fs.rename(work.path('src/a.txt'), work.path('src/b.txt'))
  if (kind === 'replaced') await work.remove('src/b.txt')
  await work.write('src/b.txt', 'a2 and more')
}
const both = async (): Promise<unknown[]> => [await work.read('src/a.txt'), await work.read('src/b.txt')]

test.each(['in place', 'replaced'])(
  'a file that somebody moved and edited (%s) is deleted under the one name and stays under the other',
  async (kind) => {
    await moveAndEdit(kind)
    await history.makeSnapshot('m2')
    expect(await history.rewind('m1')).toMatchObject({ restored: [work.path('src/a.txt')], deleted: [] })
    expect(await both()).toEqual(['a1', 'a2 and more'])
    await history.undoRewind()
    expect(await both()).toEqual([null, 'a2 and more'])
    await history.rewind('m2')
    expect(await both()).toEqual([null, 'a2 and more'])
  },
)

test.each(['in place', 'replaced'])(
  'if the agent goes on with it (%s), a rewind past the move gives back what somebody made of it',
  async (kind) => {
    await moveAndEdit(kind)
    await history.makeSnapshot('m2')
    await edit(work, history, 'src/b.txt', 'b3', 'e2')
    await history.rewind('m1')
    expect(await both()).toEqual(['a1', 'a2 and more'])
    await history.undoRewind()
    expect(await both()).toEqual([null, 'b3'])
  },
)

test.each(['in place', 'replaced'])(
  'if a command does both (%s), a rewind past it takes the new name away, and an undo brings it back',
  async (kind) => {
    const { changed, untracked } = await history.trackCommand('c1', () => moveAndEdit(kind))
    expect({ changed, untracked }).toEqual({
      changed: ['src/a.txt', 'src/b.txt'].map(work.path),
      untracked: [],
    })
    const after = await work.files()
    await history.rewind('m1')
    expect(await both()).toEqual(['a1', null])
    await history.undoRewind()
    expect(await work.files()).toEqual(after)
  },
)

test('what somebody writes to the new name after the command is a conflict, and stays', async () => {
  await history.trackCommand('c1', () => moveAndEdit('in place'))
  await work.write('src/b.txt', 'by hand')
  expect(await history.rewind('m1', { onConflict: 'skip' })).toMatchObject({
    restored: [work.path('src/a.txt')],
    conflicts: [{ path: work.path('src/b.txt') }],
  })
  expect(await both()).toEqual(['a1', 'by hand'])
})
