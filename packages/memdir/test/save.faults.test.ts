import { writeFileSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { acquireLease } from '@loci/disk'
import { openMemdir } from '@loci/memdir'
import type { Memdir, Memory, MemoryDraft } from '@loci/memdir'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'

/**
 * R8, R15: whichever file operation fails, a call that resolved has done its work and one that rejected has
 * done none of it, except where taking back failed too; that is then in the error, and `verify` finds it.
 */

const draft = (name: string): MemoryDraft => ({
  name,
  description: `about ${name}`,
  type: 'user',
  body: `${name}.`,
})
const places: Tree[] = []
afterEach(async () => {
  for (const place of places.splice(0)) await place.remove()
})

interface State {
  index: string
  bodies: Record<string, string>
}

async function stateOf(memdir: Memdir): Promise<State> {
  const { memories } = await memdir.list()
  return {
    index: (await memdir.index()).raw,
    bodies: Object.fromEntries(memories.map(({ file, body }) => [file, body])),
  }
}

const open = async (place: string, review = false): Promise<Memdir> =>
  openMemdir({ dir: join(place, 'memory'), review, waitMs: 0 })

interface Case {
  /** Made before the faults begin. */
  given: (memdir: Memdir, place: string) => Promise<unknown>
  change: (memdir: Memdir, given: unknown) => Promise<unknown>
}

interface Outcome {
  trips: number
  undone: number
  reported: number
}

async function loop({ given, change }: Case): Promise<Outcome> {
  const seen = { undone: 0, reported: 0 }
  // One folder to copy for each run, and a copy in which nothing fails, to compare with.
  const work = await tree({ 'template/memory/': '', 'run/': '' })
  places.push(work)
  const start = await given(await open(work.path('template')), work.path('template'))
  await cp(work.path('template'), work.path('calm'), { recursive: true })
  const calm = await open(work.path('calm'))
  const before = await stateOf(calm)
  await change(calm, start)
  const after = await stateOf(calm)
  const bodies = [...Object.values(before.bodies), ...Object.values(after.bodies)]
  const trips = await faultLoop({
    // What a failure is called changes nothing here; what ENOSPC is called is a test of its own.
    faults: ['EIO', 'short-write'],
    run: async () => {
      await rm(work.path('run'), { recursive: true })
      await cp(work.path('template'), work.path('run'), { recursive: true })
      const memdir = await open(work.path('run'))
      await change(memdir, start)
      await memdir.close()
    },
    verify: async (error) => {
      const memdir = await open(work.path('run'))
      const state = await stateOf(memdir)
      const damage = await memdir.verify()
      for (const body of Object.values(state.bodies)) expect(bodies).toContain(body)
      if (error === undefined) {
        expect(state).toEqual(after)
        expect(damage).toEqual([])
      } else {
        expect(error).toMatchObject({ code: expect.stringMatching(/^DISK_(IO|FULL)$/) })
        if (JSON.stringify(state) === JSON.stringify(before)) {
          seen.undone += 1
          expect(damage).toEqual([])
        } else {
          // Neither done nor undone: that is said, and can be put right.
          seen.reported += 1
          expect(error).toMatchObject({
            details: { leftBehind: expect.arrayContaining([expect.any(String)]) },
          })
          await memdir.repair()
          expect(await memdir.verify()).toEqual([])
        }
      }
      // The folder is not stuck, whatever happened to the lease.
      await (await acquireLease(work.path('run/memory/MEMORY.md'))).release()
    },
  })
  return { trips, ...seen }
}

describe('when a file operation fails', () => {
  test('a first save makes both files or neither', async () => {
    const { trips, undone, reported } = await loop({
      given: async () => undefined,
      change: (memdir) => memdir.save(draft('one')),
    })
    expect(trips).toBeGreaterThan(60)
    expect(undone).toBeGreaterThan(30)
    expect(reported).toBeGreaterThan(0)
  })

  test('a save over an existing memory leaves the old or the new, with the line that belongs to it', async () => {
    const { undone } = await loop({
      given: async (memdir) => {
        await memdir.save(draft('other'))
        return (await memdir.save(draft('one'))).memory
      },
      change: (memdir, given) => {
        const { file, revision } = given as Memory
        return memdir.save({ ...draft('one'), hook: 'new', body: 'new', file }, { ifRevision: revision })
      },
    })
    expect(undone).toBeGreaterThan(30)
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
})

test('a full disk is named with the file, and nothing is left behind', async () => {
  const place = await tree()
  places.push(place)
  setFaultHook((operation, path) =>
    operation === 'link' && path.endsWith('/MEMORY.md')
      ? Object.assign(new Error(), { code: 'ENOSPC' })
      : undefined,
  )
  try {
    await expect((await open(place.root)).save(draft('one'))).rejects.toMatchObject({
      code: 'DISK_FULL',
      message: expect.stringMatching(/MEMORY\.md.*free some space/),
    })
  } finally {
    setFaultHook(undefined)
  }
  expect(Object.keys(await place.snapshot()).filter((name) => !name.includes('.lock.'))).toEqual([])
})

test('what somebody wrote into the topic file while the index step failed is not taken back', async () => {
  const place = await tree()
  places.push(place)
  const memdir = await open(place.root)
  const topic = place.path('memory/user_one.md')
  setFaultHook((operation, path) => {
    if (operation !== 'link' || !path.endsWith('/MEMORY.md')) return undefined
    writeFileSync(topic, 'by hand')
    return Object.assign(new Error(), { code: 'EIO' })
  })
  try {
    await expect(memdir.save(draft('one'))).rejects.toMatchObject({ code: 'DISK_IO' })
  } finally {
    setFaultHook(undefined)
  }
  expect(await place.read('memory/user_one.md')).toBe('by hand')
  expect((await memdir.verify()).map(({ kind }) => kind)).toContain('index-missing')
})
