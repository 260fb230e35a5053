import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { breakLease } from '@loci/disk'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { failure, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeEach(async () => {
  work = await project({ 'a.txt': 'one' })
})
afterEach(() => work.dispose())

test('a second writer is refused and told who has it, in this process and from another; readers are not', async () => {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./hold-history.mjs', import.meta.url)), work.dir, work.root],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  await once(child.stdout, 'data')
  const error = await failure(work.open())
  expect(error).toMatchObject({
    code: 'HISTORY_LOCKED',
    message: expect.stringContaining(`process ${child.pid}`),
    details: { pid: child.pid, decidable: true },
  })
  const reader = await work.open({ mode: 'read' })
  expect(reader.snapshots()).toHaveLength(1)
  await reader.close()
  // An owner that was killed is known to be dead at once.
  child.kill('SIGKILL')
  await once(child, 'exit')
  const history = await work.open()
  expect(await failure(work.open())).toMatchObject({ code: 'HISTORY_LOCKED', details: { pid: process.pid } })
  await history.close()
  await history.close()
  const again = await work.open()
  await again.close()
})

test('opening for writing makes the lock beside the folder and nothing else; the folder comes with the first write', async () => {
  const ledger = { load: async () => [], append: async () => undefined }
  const history = await work.open({ ledger, dir: work.beside('home/sessions/s1') })
  await history.makeSnapshot('m')
  await history.planRewind('m')
  await history.gc()
  expect(Object.keys(await work.all())).toEqual(['home/sessions/.s1.lock.1', 'project/a.txt'])
  await history.trackEdit('a.txt', 'a')
  expect(Object.keys(await work.all())).toHaveLength(4)
  await history.close()
  // The lease is on the folder, so that it can be broken by that name.
  await breakLease(work.beside('home/sessions/s1'))
})

test('a closed history is refused, with what to do', async () => {
  const history = await work.open()
  await history.trackEdit('a.txt', 'm')
  const ends: string[] = []
  const making = history.makeSnapshot('n').then(({ messageId }) => ends.push(messageId))
  // What is under way is waited for, by a close and by a rewind; what is asked after that waits for them.
  const rewinding = history.rewind('m').then(({ unchanged }) => ends.push(...unchanged))
  const later = history.makeSnapshot('o').then(({ messageId }) => ends.push(messageId))
  await history.close()
  expect(ends).toEqual(['n', work.path('a.txt'), 'o'])
  await Promise.all([making, rewinding, later])
  expect(await failure(history.makeSnapshot('n'))).toMatchObject({
    code: 'HISTORY_LOCKED',
    message: expect.stringContaining('open it again'),
  })
})

test('an open that fails gives the lease back', async () => {
  const ledger = { load: () => Promise.reject(new Error('no ledger')), append: async () => undefined }
  expect(await failure(work.open({ ledger }))).toMatchObject({ message: 'no ledger' })
  const history = await work.open()
  await history.close()
})
