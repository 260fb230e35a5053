import { isLociError } from '@loci/disk'
import { faultLoop, setFaultHook } from '@loci/disk/testing'
import { expect, test } from 'vitest'
import { checkpointProject } from './checkpoint-project.ts'
import type { CheckpointProject } from './checkpoint-project.ts'
import { faultStrides } from './fault-strides.ts'
import { failure } from './project.ts'

test('with any file operation failing, once or from then on, every checkpoint is whole and no work is lost', async () => {
  let work: CheckpointProject | undefined
  let acknowledged: string[] = []
  const isLong = process.env['LOCI_LONG'] === '1'
  const loop = isLong ? faultLoop : faultStrides
  const tripped = await loop({
    stride: 13,
    run: async () => {
      work = await checkpointProject({ 'a.txt': 'a1', 'b.sh': { text: 'b1', mode: 0o755 } })
      acknowledged = []
      await work.make('m1', 'a.txt', 'b.sh', 'new.txt')
      acknowledged.push('m1')
      await work.write('a.txt', 'a2')
      await work.write('b.sh', 'b2', 0o700)
      await work.write('new.txt', 'n2')
      await work.make('m2', 'a.txt', 'b.sh', 'new.txt')
      acknowledged.push('m2')
      await work.write('a.txt', 'a3')
      await work.rewind('m1')
      acknowledged.push('rewound')
    },
    verify: async (error) => {
      if (work === undefined) throw new Error('nothing ran')
      expect(error === undefined || isLociError(error)).toBe(true)
      expect(acknowledged.includes('rewound')).toBe(error === undefined)
      // Every file is whole: as it was before the rewind, or as it is after.
      const [a, b, made] = [await work.read('a.txt'), await work.read('b.sh'), await work.read('new.txt')]
      expect(['a1', 'a2', 'a3']).toContain(a)
      expect(['b1', 'b2']).toContain(b)
      expect([null, 'n2']).toContain(made)
      if (error === undefined) expect([a, b, made]).toEqual(['a1', 'b1', null])
      // The process can go on, and what was acknowledged is there.
      expect(await work.damage()).toEqual([])
      const ids = await work.ids()
      const isSettled = (id: string): boolean => ids.includes(id) || !acknowledged.includes(id)
      expect([isSettled('m1'), isSettled('m2')]).toEqual([true, true])
      // What the rewind overwrote is there, where it overwrote anything.
      if (acknowledged.includes('m2') && a === 'a1') {
        await work.rewind('before-rewind-1')
        expect(await work.read('a.txt')).toBe('a3')
      }
      if (acknowledged.includes('m2')) {
        await work.rewind('m2')
        expect(await work.files()).toEqual({
          'a.txt': { mode: 0o644, text: 'a2' },
          'b.sh': { mode: 0o700, text: 'b2' },
          'new.txt': { mode: 0o644, text: 'n2' },
        })
      }
      if (acknowledged.includes('m1')) {
        await work.rewind('m1')
        expect(await work.files()).toEqual({
          'a.txt': { mode: 0o644, text: 'a1' },
          'b.sh': { mode: 0o755, text: 'b1' },
        })
      }
      await work.dispose()
    },
  })
  expect(tripped).toBeGreaterThan(isLong ? 1000 : 30)
}, 600_000)

test('with any operation failing while a broken index is replaced, its bytes are there', async () => {
  let work: CheckpointProject | undefined
  const broken = '{"checkpoints":['
  const loop = process.env['LOCI_LONG'] === '1' ? faultLoop : faultStrides
  await loop({
    stride: 2,
    run: async () => {
      work = await checkpointProject({ 'a.txt': 'a1', '../state/checkpoints.json': broken })
      await work.make('m1', 'a.txt')
    },
    verify: async (error) => {
      if (work === undefined) throw new Error('nothing ran')
      const kept = Object.entries(await work.all()).filter(
        ([, file]) => 'text' in file && file.text === broken,
      )
      const names = kept.map(([name]) => name)
      const index = 'state/checkpoints.json'
      if (error === undefined) expect(names).toEqual([`${index}.damaged-1`])
      else expect([index, `${index}.damaged-1`]).toEqual(expect.arrayContaining(names))
      expect(names.length).toBeGreaterThan(0)
      await work.make('m1', 'a.txt')
      expect(await work.ids()).toContain('m1')
      expect(await work.damage()).toEqual(['put-aside'])
      await work.dispose()
    },
  })
}, 300_000)

test('an index that cannot be written is as it was', async () => {
  const work = await checkpointProject({ 'a.txt': 'a1' })
  await work.make('m1', 'a.txt')
  const index = await work.all().then((all) => all['state/checkpoints.json'])
  setFaultHook((operation, path) =>
    operation === 'write' && /checkpoints\.json(?!.*(\.lock\.|backups))/.test(path)
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined,
  )
  const error = await failure(work.make('m2', 'a.txt')).finally(() => setFaultHook(undefined))
  expect(isLociError(error, 'DISK_FULL')).toBe(true)
  expect(await work.all().then((all) => all['state/checkpoints.json'])).toEqual(index)
  await work.dispose()
})

test('what a rewind that was cut off left beside a file goes with the next, also where the file is as it should be', async () => {
  const work = await checkpointProject({ 'a.txt': 'a1' })
  await work.make('m1', 'a.txt')
  await work.write('a.txt', 'a2')
  let isCut = false
  setFaultHook((operation, path) => {
    if (operation === 'rename' && path === work.path('a.txt')) isCut = true
    return isCut ? Object.assign(new Error('injected'), { code: 'EIO' }) : undefined
  })
  const error = await failure(work.rewind('m1')).finally(() => setFaultHook(undefined))
  expect(isLociError(error, 'DISK_IO')).toBe(true)
  expect(Object.keys(await work.files())).toHaveLength(2)
  await work.rewind('before-rewind-1')
  expect(await work.files()).toEqual({ 'a.txt': { mode: 0o644, text: 'a2' } })
  await work.dispose()
})
