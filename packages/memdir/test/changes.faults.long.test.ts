import { appendFileSync, cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLease } from '@loci/disk'
import type { Memory } from '@loci/memdir'
import { faultLoop, tree } from '@loci/disk/testing'
import { describe, expect, test } from 'vitest'
import { draft, loop, open } from './change-faults.ts'
import { before, cutOff } from './cut-off.ts'

describe('when a file operation fails', () => {
  test('a first save makes both files or neither', async () => {
    const { trips, undone, reported } = await loop({
      given: async () => undefined,
      change: (memdir) => memdir.save(draft('one')),
      // The folder is not stuck, whatever happened to the lease.
      afterwards: async (dir) => (await acquireLease(join(dir, 'MEMORY.md'))).release(),
    })
    expect(trips).toBeGreaterThan(60)
    expect(undone).toBeGreaterThan(30)
    expect(reported).toBeGreaterThan(0)
  })

  test('removing takes all away or nothing', async () => {
    const { undone } = await loop({
      given: async (memdir) => {
        await memdir.save(draft('other'))
        return (await memdir.save(draft('one'))).memory
      },
      change: (memdir, given) => {
        const { file, revision } = given as Memory
        return memdir.remove(file, { ifRevision: revision })
      },
    })
    expect(undone).toBeGreaterThan(30)
  })

  test('restoring brings all back or nothing, and keeps what was in the trash until then', async () => {
    await loop({
      given: async (memdir) => {
        await memdir.save(draft('other'))
        const { memory } = await memdir.save(draft('one'))
        await memdir.remove(memory.file, { ifRevision: memory.revision })
        return (await memdir.trash())[0]?.id
      },
      change: (memdir, id) => memdir.restore(id as string),
    })
  })

  test('approving saves all or nothing, and keeps the proposal until then', async () => {
    await loop({
      given: async (memdir, place) => {
        await memdir.save(draft('other'))
        await (await open(place, true)).save(draft('one'))
        return (await memdir.proposals())[0]?.id
      },
      change: (memdir, id) => memdir.approve(id as string),
    })
  })

  test('repairing makes all its changes or a beginning of them, and keeps what it takes out', async () => {
    await loop({
      given: async (memdir, place) => {
        const { memory } = await memdir.save(draft('one'))
        const index = join(place, 'memory/MEMORY.md')
        appendFileSync(index, readFileSync(index))
        return memory
      },
      change: (memdir) => memdir.repair(),
    })
  })

  test('restoring over a newer memory swaps the two or does nothing', async () => {
    const { undone } = await loop({
      given: async (memdir) => {
        const { memory } = await memdir.save(draft('one'))
        const { file, revision } = memory
        await memdir.save({ ...draft('one'), hook: 'h', body: 'new', file }, { ifRevision: revision })
        return (await memdir.trash())[0]?.id
      },
      change: (memdir, id) => memdir.restore(id as string),
    })
    expect(undone).toBeGreaterThan(30)
  })

  test('approving what replaces a memory keeps both', async () => {
    await loop({
      given: async (memdir, place) => {
        const { file, revision } = (await memdir.save(draft('one'))).memory
        const reviewed = await open(place, true)
        await reviewed.save({ ...draft('one'), body: 'new', file }, { ifRevision: revision })
        return (await memdir.proposals())[0]?.id
      },
      change: (memdir, id) => memdir.approve(id as string),
    })
  })

  test('proposing and rejecting write their one file or nothing', async () => {
    await loop({
      given: async () => undefined,
      change: async (memdir) => (await open(join(memdir.dir, '..'), true)).save(draft('one')),
    })
    await loop({
      given: async (memdir, place) => {
        await (await open(place, true)).save(draft('one'))
        return (await memdir.proposals())[0]?.id
      },
      change: (memdir, id) => memdir.reject(id as string),
    })
  })

  test.each(['user_one.md', 'MEMORY.md'])(
    'finishing a removal that was cut off before %s can be done again, as often as it takes',
    async (at) => {
      const work = await tree({ 'template/memory/': '', 'run/': '' })
      const start = await open(work.path('template'))
      const { file, revision } = (await start.save(draft('one'))).memory
      await cutOff(() => start.remove(file, { ifRevision: revision }), before(at))
      const isRemoved = at === 'user_one.md'
      await faultLoop({
        faults: ['EIO'],
        run: async () => {
          rmSync(work.path('run'), { recursive: true })
          cpSync(work.path('template'), work.path('run'), { recursive: true })
          await (await open(work.path('run'))).save(draft('two'))
        },
        verify: async (error) => {
          const memdir = await open(work.path('run'))
          if (error !== undefined) await memdir.save(draft('two'))
          const { memories } = await memdir.list()
          expect(memories.map(({ name }) => name)).toEqual(isRemoved ? ['two'] : ['one', 'two'])
          expect(await memdir.trash()).toHaveLength(isRemoved ? 1 : 0)
          expect(await memdir.verify()).toEqual([])
        },
      })
      await work.remove()
    },
  )
})
