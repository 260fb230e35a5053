import { describe, test } from 'vitest'
import { draft, loop, open } from './change-faults.ts'

describe('when a file operation fails', () => {
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
})
