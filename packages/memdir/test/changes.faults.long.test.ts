import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { acquireLease } from '@loci/disk'
import type { Memory } from '@loci/memdir'
import { describe, expect, test } from 'vitest'
import { draft, loop, open } from './change-faults.ts'

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
})
