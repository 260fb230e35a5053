import { execFileSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { acquireLease, heldLeases } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ log: 'x' })
})
afterEach(() => work.remove())

test('a lease is listed while it is held, and looking changes nothing', async () => {
  const lease = await acquireLease(work.path('log'))
  const before = await work.snapshot()
  expect(await heldLeases(work.root)).toEqual([
    expect.objectContaining({
      path: work.path('log'),
      lockFile: work.path('.log.lock.1'),
      state: 'live',
      pid: process.pid,
      decidable: true,
    }),
  ])
  expect(await work.snapshot()).toEqual(before)
  await lease.release()
  expect(await heldLeases(work.root)).toEqual([])
  expect(await heldLeases(work.path('absent'))).toEqual([])
})

test('that of an ended owner is dead, one that tells nothing is undecidable; only the highest counts', async () => {
  const lease = await acquireLease(work.path('log'))
  const record = await readFile(work.path('.log.lock.1'), 'utf8')
  await lease.release()
  const ended = record.replace(/"pid":\d+/, '"pid":4194304').replace(/"thread":"[^"]*"/, '"thread":null')
  await writeFile(work.path('.log.lock.9'), 'not a record')
  await writeFile(work.path('.log.lock.10'), ended)
  await writeFile(work.path('.other.lock.2'), 'not a record')
  await writeFile(work.path('.zeros.lock.2'), Buffer.alloc(100))
  const held = await heldLeases(work.root)
  expect(Object.fromEntries(held.map(({ lockFile, state }) => [lockFile, state]))).toEqual({
    [work.path('.log.lock.10')]: 'dead',
    [work.path('.other.lock.2')]: 'undecidable',
  })
  expect(held.find(({ state }) => state === 'undecidable')).toMatchObject({
    pid: null,
    who: 'an unknown process',
  })
})

test('a FIFO in the place of a lock is not opened', async () => {
  execFileSync('mkfifo', [work.path('.log.lock.3')])
  expect(await heldLeases(work.root)).toMatchObject([{ path: work.path('log'), state: 'undecidable' }])
  expect(await readdir(work.root)).toEqual(['.log.lock.3', 'log'])
})
