import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Damage } from '@loci/disk'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { faultLoop, tree } from '@loci/disk/testing'
import { expect } from 'vitest'
import { LONG } from './thorough.ts'

export const draft = (name: string): MemoryDraft => ({
  name,
  description: `about ${name}`,
  type: 'user',
  body: `${name}.`,
})

interface State {
  index: string
  bodies: Record<string, string>
  trash: number
  proposals: number
}

async function stateOf(memdir: Memdir): Promise<State> {
  const { memories } = await memdir.list()
  return {
    index: (await memdir.index()).raw,
    bodies: Object.fromEntries(memories.map(({ file, body }) => [file, body])),
    trash: (await memdir.trash()).length,
    proposals: (await memdir.proposals()).length,
  }
}

const kindsOf = (damage: readonly Damage[]): [string, number | undefined][] =>
  damage.map(({ kind, line }) => [kind, line])

export const open = async (place: string, review = false): Promise<Memdir> =>
  openMemdir({ dir: join(place, 'memory'), review, waitMs: 0 })

export interface Case {
  /** Made before the faults begin. */
  given: (memdir: Memdir, place: string) => Promise<unknown>
  change: (memdir: Memdir, given: unknown) => Promise<unknown>
  afterwards?: (dir: string) => Promise<void>
}

export interface Outcome {
  trips: number
  undone: number
  reported: number
}

/**
 * R8, R15: whichever file operation fails, a call that resolved has done its work and one that rejected has
 * done none of it, except where taking back failed too; that is then in the error, and `verify` finds it.
 */
export async function loop({ given, change, afterwards }: Case): Promise<Outcome> {
  const seen = { undone: 0, reported: 0 }
  // One folder to copy for each run, and a copy in which nothing fails, to compare with.
  const work = await tree({ 'template/memory/': '', 'run/': '' })
  const start = await given(await open(work.path('template')), work.path('template'))
  cpSync(work.path('template'), work.path('calm'), { recursive: true })
  const calm = await open(work.path('calm'))
  const before = await stateOf(calm)
  const damageBefore = kindsOf(await calm.verify())
  await change(calm, start)
  const after = await stateOf(calm)
  const bodies = [...Object.values(before.bodies), ...Object.values(after.bodies)]
  const trips = await faultLoop({
    // What a failure is called changes nothing here; what ENOSPC is called is a test of its own.
    faults: LONG ? ['EIO', 'short-write'] : ['EIO'],
    run: async () => {
      rmSync(work.path('run'), { recursive: true })
      cpSync(work.path('template'), work.path('run'), { recursive: true })
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
          expect(kindsOf(damage)).toEqual(damageBefore)
        } else {
          // Neither done nor undone: that is said, and can be put right.
          seen.reported += 1
          expect(error).toMatchObject({
            details: { leftBehind: expect.arrayContaining([expect.any(String)]) },
          })
          // The next change finishes it, whatever that is about.
          await expect(memdir.reject('none')).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
          expect([before, after]).toContainEqual(await stateOf(memdir))
          await memdir.repair()
          expect(await memdir.verify()).toEqual([])
        }
      }
      await afterwards?.(work.path('run/memory'))
    },
  })
  await work.remove()
  return { trips, ...seen }
}
