import { verifyFileHistory } from '@loci/file-history'
import type { FileHistory } from '@loci/file-history'
import { isLociError } from '@loci/disk'
import { faultLoop } from '@loci/disk/testing'
import { expect, test } from 'vitest'
import { faultStrides } from './fault-strides.ts'
import { project } from './project.ts'
import type { Project } from './project.ts'

/** Each step with the tree as it is after it, and the message ids that are acknowledged. */
interface Progress {
  work: Project
  history: FileHistory | undefined
  acknowledged: Map<string, string | null>
  isEdited: boolean
  isRewound: boolean
}

test('with any file operation failing, once or from then on, nothing acknowledged is lost and nothing is half-written', async () => {
  let progress: Progress | undefined
  const loop = process.env['LOCI_LONG'] === '1' ? faultLoop : faultStrides
  const tripped = await loop({
    stride: 8,
    run: async () => {
      const work = await project({ 'a.txt': 'a1' })
      const at: Progress = {
        work,
        history: undefined,
        acknowledged: new Map(),
        isEdited: false,
        isRewound: false,
      }
      progress = at
      at.history = await work.open()
      await at.history.makeSnapshot('m1')
      await at.history.trackEdit('a.txt', 'a')
      at.acknowledged.set('m1', 'a1')
      await work.write('a.txt', 'a2')
      at.isEdited = true
      await at.history.recordEdit('a.txt', 'a')
      await at.history.makeSnapshot('m2')
      at.acknowledged.set('m2', 'a2')
      const result = await at.history.rewind('m1')
      at.isRewound = result.restored.length > 0
      await at.history.close()
    },
    verify: async (error) => {
      const at = progress
      if (at === undefined) throw new Error('nothing ran')
      const { work } = at
      expect(error === undefined || isLociError(error)).toBe(true)
      const text = await work.read('a.txt')
      expect(['a1', 'a2']).toContain(text)
      if (at.isRewound) expect(text).toBe('a1')
      if (!at.isEdited) expect(text).toBe('a1')
      // The process can go on: what failed is closed, and the history opens again.
      await at.history?.close()
      const damage = await verifyFileHistory(work)
      const kinds = /^(torn-line|bad-line|rewind-incomplete|unseen-file)$/
      expect(damage.filter(({ kind }) => !kinds.test(kind))).toEqual([])
      // A snapshot that could not read the file says so.
      if (damage.some(({ kind }) => kind === 'unseen-file')) at.acknowledged.delete('m2')
      const again = await work.open()
      if (again.pendingRewind) await again.resolveRewind('undo')
      for (const [id, expected] of at.acknowledged) {
        const bytes = await again.readFileAt(id, 'a.txt')
        expect(bytes && Buffer.from(bytes).toString(), id).toBe(expected)
      }
      if (at.acknowledged.has('m1')) {
        const plan = await again.planRewind('m1')
        expect(plan.skipped).toEqual([])
        await again.rewind('m1', { onConflict: 'overwrite' })
        expect(await work.read('a.txt')).toBe('a1')
      }
      await again.makeSnapshot('after')
      await again.close()
      await work.dispose()
    },
  })
  expect(tripped).toBeGreaterThan(30)
}, 600_000)
