import * as fs from 'node:fs/promises'
import { linkBackups, verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { isLociError } from '@loci/disk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { faultStrides } from './fault-strides.ts'
import { edit, project } from './project.ts'
import type { Project } from './project.ts'

let work: Project
beforeAll(async () => {
  work = await project({ 'a.txt': 'a1', 'b.txt': 'b1' })
  const history = await work.open()
  await history.makeSnapshot('m1')
  await edit(work, history, 'a.txt', 'a2')
  await history.makeSnapshot('m2')
  await edit(work, history, 'b.txt', 'b2')
  await edit(work, history, 'a.txt', 'a3')
  await history.makeSnapshot('m3')
  await history.rewind('m2')
  await history.close()
  await fs.cp(work.dir, work.beside('saved'), { recursive: true })
})
afterAll(() => work.dispose())

/** What the failure of an append may leave of a line. */
const TORN = new Set(['torn-line', 'bad-line'])

test('with any operation of an eviction, a gc or a fork failing, what a kept snapshot names is there', async () => {
  const edited = await work.files()
  const fork = work.beside('fork')
  let history: FileHistory | undefined
  const tripped = await faultStrides({
    stride: process.env['LOCI_LONG'] === '1' ? 1 : 7,
    run: async () => {
      await fs.rm(work.dir, { recursive: true })
      await fs.rm(fork, { recursive: true, force: true })
      await fs.cp(work.beside('saved'), work.dir, { recursive: true })
      history = await work.open({ maxSnapshots: 2 })
      await history.makeSnapshot('m4')
      await history.gc()
      await linkBackups({ fromDir: work.dir, toDir: fork })
      await history.close()
    },
    verify: async (error) => {
      expect(error === undefined || isLociError(error)).toBe(true)
      expect(await work.files()).toEqual(edited)
      await history?.close()
      const parent = { dir: work.dir, root: work.root, maxSnapshots: 2 }
      const sides = [parent, { ...parent, dir: fork }]
      for (const side of sides) {
        const damage = await verifyFileHistory(side)
        // The backups of a fork are there first.
        const isBegun = (kind: string): boolean => side.dir === fork && kind === 'ledger-missing'
        expect(damage.filter(({ kind }) => !TORN.has(kind) && !isBegun(kind))).toEqual([])
      }
      // A fork that was cut off is finished by another call; the undo of the rewind outlives all of it.
      await linkBackups({ fromDir: work.dir, toDir: fork })
      const again = await work.open(parent)
      const forked = await work.open({ ...parent, dir: fork })
      for (const one of [again, forked]) {
        const bytes = await one.readFileAt('m3', 'a.txt')
        expect(bytes && Buffer.from(bytes).toString()).toBe('a3')
        expect((await one.planRewind('m3')).skipped).toEqual([])
      }
      await again.undoRewind()
      expect([await work.read('a.txt'), await work.read('b.txt')]).toEqual(['a3', 'b2'])
      await again.undoRewind()
      await again.close()
      await forked.close()
    },
  })
  expect(tripped).toBeGreaterThan(10)
}, 600_000)
