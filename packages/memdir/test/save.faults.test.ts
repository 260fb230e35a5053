import { writeFileSync } from 'node:fs'
import type { Memory } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { draft, loop, open } from './change-faults.ts'

const places: Tree[] = []
afterEach(async () => {
  for (const place of places.splice(0)) await place.remove()
})

describe('when a file operation fails', () => {
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

test('where the index line cannot be taken back its topic stays too, so that no line is left without one', async () => {
  const place = await tree()
  places.push(place)
  const memdir = await open(place.root)
  let written = false
  setFaultHook((operation, path) => {
    const isIndex = path.endsWith('/memory/MEMORY.md')
    const fails = written && (isIndex || path.endsWith('/memory'))
    if (operation === 'link' && isIndex) written = true
    return fails ? Object.assign(new Error(), { code: 'EIO' }) : undefined
  })
  try {
    await expect(memdir.save(draft('one'))).rejects.toMatchObject({
      code: 'DISK_IO',
      details: { leftBehind: [place.path('memory/user_one.md'), place.path('memory/MEMORY.md')] },
    })
  } finally {
    setFaultHook(undefined)
  }
  expect(await memdir.verify()).toEqual([])
  expect((await memdir.list()).memories).toHaveLength(1)
})
