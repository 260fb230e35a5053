import { mkdir, rename } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import { openMemdir } from '@loci/memdir'
import { expect, test } from 'vitest'

const DRAFT = { name: 'T', description: 'a team memory', type: 'project', body: 'Words.' } as const

test('a subfolder with its own index is a folder for itself: no change of the one above reaches into it', async () => {
  const work = await tree({ 'memory/': '' })
  const own = await openMemdir({ dir: work.path('memory') })
  const team = await openMemdir({ dir: work.path('memory/team') })
  const { memory } = await team.save(DRAFT)
  const file = `team/${memory.file}`
  const look = async (): Promise<unknown> =>
    Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.'))
  const before = await look()
  const refused = { code: 'MEMORY_INVALID', message: expect.stringContaining('"team" is a memory folder') }
  await expect(own.save({ ...DRAFT, file }, { ifRevision: memory.revision })).rejects.toMatchObject(refused)
  await expect(own.remove(file, { ifRevision: memory.revision })).rejects.toMatchObject(refused)
  expect(await look()).toEqual(before)

  // Removed from a plain subfolder that has become a folder for itself since.
  await rename(work.path('memory/team/MEMORY.md'), work.path('memory/team/aside'))
  await own.remove(file, { ifRevision: memory.revision })
  await mkdir(work.path('memory/team'), { recursive: true })
  await rename(work.path('memory/team/aside'), work.path('memory/team/MEMORY.md'))
  const [entry] = await own.trash()
  await expect(own.restore(entry?.id ?? '')).rejects.toMatchObject(refused)
  expect(await own.trash()).toHaveLength(1)
  await Promise.all([own.close(), team.close()])
  await work.remove()
})
