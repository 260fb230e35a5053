import { setFaultHook } from '@loci/disk/testing'
import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { edit, failure, project } from './project.ts'
import type { Project } from './project.ts'

// A record that reached the ledger although appending it failed, as a file that cannot be closed shows it: the call is
// rejected, and whoever opens the history next finds it made.

let work: Project
let history: FileHistory
beforeEach(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': 'b1' })
  history = await work.open({ maxSnapshots: 3 })
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await history.makeSnapshot('m2')
  await work.write('a.txt', 'a3')
})
afterEach(async () => {
  setFaultHook(undefined)
  await history.close()
  await work.dispose()
})

/** The record of the call stands in the ledger, and the call fails. */
async function unsure(call: () => Promise<unknown>): Promise<void> {
  setFaultHook((operation, path) =>
    operation === 'close' && path === work.inDir('snapshots.jsonl')
      ? Object.assign(new Error('injected'), { code: 'EIO' })
      : undefined,
  )
  expect(await failure(call())).toMatchObject({ code: 'DISK_IO' })
  setFaultHook(undefined)
}

const CALLS: Record<string, () => Promise<unknown>> = {
  makeSnapshot: () => history.makeSnapshot('m3'),
  trackEdit: () => history.trackEdit('b.txt', 'e'),
}

describe.each(Object.keys(CALLS))('of %s', (name) => {
  const call = async (): Promise<unknown> => CALLS[name]?.()

  test('what it names stays, through gc and evictions', async () => {
    await unsure(call)
    await work.write('a.txt', 'a4')
    await work.write('b.txt', 'b4')
    await history.gc()
    for (const id of ['n1', 'n2']) {
      await work.write('a.txt', id)
      await history.makeSnapshot(id)
    }
    await history.gc()
    await history.close()
    expect(await verifyFileHistory({ ...work, maxSnapshots: 100 })).toEqual([])
    history = await work.open({ maxSnapshots: 100 })
    const texts = { m3: 'a3', n1: 'n1', n2: 'n2' }
    for (const { messageId } of history.snapshots()) {
      const text = Object.entries(texts).find(([id]) => id === messageId)?.[1]
      if (text) expect(await history.readFileAt(messageId, 'a.txt')).toEqual(Buffer.from(text))
    }
  })

  test('called again it works', async () => {
    await unsure(call)
    await call()
    await edit(work, history, 'b.txt', 'b5')
    await history.gc()
    await history.close()
    expect(await verifyFileHistory(work)).toEqual([])
    history = await work.open()
    expect(await history.rewind('m2', { onConflict: 'overwrite' })).toMatchObject({ skipped: [] })
    expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a2', 'b1'])
  })
})
