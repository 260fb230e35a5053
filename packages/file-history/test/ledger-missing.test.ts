import { rename } from 'node:fs/promises'
import { verifyFileHistory } from '@loci/file-history'
import { expect, test } from 'vitest'
import { project } from './project.ts'

test('where the ledger is lost no backup is removed, and verify names it', async () => {
  const work = await project({ 'a.txt': 'old' })
  const history = await work.open()
  await history.trackEdit('a.txt', 'm1')
  await history.close()
  const ledger = `${work.dir}/snapshots.jsonl`
  await rename(ledger, `${ledger}.lost`)
  expect(await verifyFileHistory(work)).toEqual([
    { kind: 'ledger-missing', path: ledger, message: expect.stringContaining('1 backup is') },
  ])
  const without = await work.open()
  expect(await without.gc()).toEqual({ removed: [], freedBytes: 0 })
  await without.close()
  await rename(`${ledger}.lost`, ledger)
  expect(await verifyFileHistory(work)).toEqual([])
  const again = await work.open()
  expect(Buffer.from((await again.readFileAt('m1', 'a.txt')) ?? '').toString()).toBe('old')
  await again.close()
  await work.dispose()
})

test('a folder without backups is no damage', async () => {
  const work = await project()
  expect(await verifyFileHistory(work)).toEqual([])
  await work.dispose()
})
