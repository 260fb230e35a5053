import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { isScratchName } from '@loci/disk'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LONG } from './thorough.ts'

const SCRIPT = new URL('./change-until-killed.mjs', import.meta.url).pathname

let work: Tree
beforeEach(async () => {
  work = await tree({ 'start/': '' })
})
afterEach(() => work.remove())

const draft: MemoryDraft = { name: 'One', description: 'old', type: 'user', body: 'old' }
const open = (place: string, review = false): Promise<Memdir> => {
  let ids = 0
  const clock = (): Date => new Date('2031-03-06T10:00:00Z')
  return openMemdir({ dir: work.path(place), clock, createId: () => `id-${(ids += 1)}`, review })
}

/** Every byte of a folder but locks and files in the making. */
async function bytesOf(place: string): Promise<Record<string, unknown>> {
  const entries = Object.entries(await work.snapshot()).filter(
    ([name]) => name.startsWith(`${place}/`) && !isScratchName(name.split('/').at(-1) ?? ''),
  )
  return Object.fromEntries(entries.map(([name, file]) => [name.slice(place.length), file]))
}

/** Runs a change in a child that is killed at its Nth file operation; resolves to how many it made, if it ended. */
function runUntil(place: string, what: string, nth: number): number | undefined {
  const args = [SCRIPT, work.path(place), what, String(nth)]
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status === 0) return Number(stdout)
  if (signal !== 'SIGKILL') throw new Error(stderr)
  return undefined
}

function copy(from: string, to: string): void {
  rmSync(work.path(to), { recursive: true, force: true })
  cpSync(work.path(from), work.path(to), { recursive: true })
}

const withOne = async (): Promise<void> => {
  await (await open('start')).save(draft)
}
const withTrash = async (): Promise<void> => {
  const memdir = await open('start')
  const { memory } = await memdir.save(draft)
  await memdir.remove(memory.file, { ifRevision: memory.revision })
}

// prettier-ignore
const GIVEN = {
  save: async () => undefined,
  'save-over': withOne,
  remove: withOne,
  restore: async () => {
    await withTrash()
    // Something to make place.
    await (await open('start')).save({ ...draft, body: 'newer' })
  },
  approve: async () => { await (await open('start', true)).save(draft) },
  reject: async () => { await (await open('start', true)).save(draft) },
  repair: async () => {
    await withOne()
    const line = '- [One](user_one.md) — old\n'
    await writeFile(work.path('start/user_two.md'), '---\nname: Two\ndescription: d\ntype: user\n---\nx\n')
    await writeFile(work.path('start/MEMORY.md'), line + line)
  },
} as const

// A child for each moment takes its time.
const changes = LONG ? (Object.keys(GIVEN) as (keyof typeof GIVEN)[]) : (['save-over', 'restore'] as const)

test.each(changes)(
  'R15: killed at any moment of %s: the next change, and repair, leave all of it or nothing',
  async (what) => {
    await (await open('start')).save({ ...draft, name: 'Other' })
    await GIVEN[what]()
    copy('start', 'calm')
    const operations = runUntil('calm', what, Infinity) ?? 0
    expect(operations).toBeGreaterThan(15)
    const outcomes = [await bytesOf('start'), await bytesOf('calm')]
    const seen = new Set<number>()
    for (const nth of moments(operations)) {
      copy('start', 'run')
      if (runUntil('run', what, nth) !== undefined) throw new Error(`no operation ${nth}`)
      copy('run', 'other')
      const repaired = await open('run')
      const left = await bytesOf('run')
      await repaired.verify()
      await repaired.list()
      expect(await bytesOf('run')).toEqual(left)
      // A repair that was cut off is repaired anew.
      await repaired.repair()
      expect(await repaired.verify()).toEqual([])
      const ended = await bytesOf('run')
      if (what === 'repair') expect(Object.keys(ended)).toHaveLength(Object.keys(outcomes[1] ?? {}).length)
      else expect(outcomes).toContainEqual(ended)

      // A change that fails by itself finishes what was cut off too.
      const next = await open('other')
      await expect(next.reject('none')).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
      const finished = await bytesOf('other')
      expect(outcomes).toContainEqual(finished)
      seen.add(outcomes.findIndex((state) => JSON.stringify(state) === JSON.stringify(finished)))
      if (what !== 'repair') expect(await next.verify()).toEqual([])
      await next.save({ ...draft, name: 'Next' })
    }
    expect(seen).toEqual(new Set([0, 1]))
  },
  300_000,
)

/** Some moments of a change, the last ones among them; the long run tries each. */
function moments(operations: number): number[] {
  const step = LONG ? 1 : Math.ceil(operations / 4)
  return Array.from({ length: operations }, (_, n) => operations - n).filter((_, n) => n % step === 0)
}
