import { writeFileSync } from 'node:fs'
import { cloneFile, fileErrno, files } from '@loci/disk'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ from: { text: 'bytes', mode: 0o750 }, taken: 'mine' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

test('a clone has the bytes and the permission bits, on an inode of its own', async () => {
  expect(await cloneFile(work.path('from'), work.path('to'))).toMatch(/^(cloned|copied)$/)
  expect((await work.snapshot())['to']).toEqual({ mode: 0o750, text: 'bytes' })
  expect((await files.stat(work.path('to'))).ino).not.toBe((await files.stat(work.path('from'))).ino)
})

test('with link both names share the inode', async () => {
  expect(await cloneFile(work.path('from'), work.path('to'), { link: true })).toBe('linked')
  expect((await files.stat(work.path('to'))).ino).toBe((await files.stat(work.path('from'))).ino)
})

test.each(['EXDEV', 'EPERM', 'EMLINK'])('where a link fails with %s it copies', async (errno) => {
  setFaultHook((operation, path) =>
    operation === 'link' && path === work.path('to') && count++ === 0
      ? Object.assign(new Error('injected'), { code: errno })
      : undefined,
  )
  let count = 0
  expect(await cloneFile(work.path('from'), work.path('to'), { link: true })).not.toBe('linked')
  expect((await work.snapshot())['to']).toEqual({ mode: 0o750, text: 'bytes' })
})

test('on a file system without hard links the copy still arrives, and exclusively', async () => {
  setFaultHook((operation) =>
    operation === 'link' ? Object.assign(new Error('injected'), { code: 'EPERM' }) : undefined,
  )
  await cloneFile(work.path('from'), work.path('to'))
  const error: unknown = await cloneFile(work.path('from'), work.path('taken')).catch(
    (thrown: unknown) => thrown,
  )
  expect(fileErrno(error)).toBe('EEXIST')
  expect(await work.snapshot()).toEqual({
    from: { mode: 0o750, text: 'bytes' },
    taken: { mode: 0o644, text: 'mine' },
    to: { mode: 0o750, text: 'bytes' },
  })
})

test.each([{ link: true }, { link: false }])(
  'a name that is taken is refused and kept (%o)',
  async (options) => {
    const before = await work.snapshot()
    const error: unknown = await cloneFile(work.path('from'), work.path('taken'), options).catch(
      (thrown: unknown) => thrown,
    )
    expect(fileErrno(error)).toBe('EEXIST')
    expect(await work.snapshot()).toEqual(before)
  },
)

test('a copy that is cut short never stands under the new name', async () => {
  setFaultHook((operation, path) => {
    if (operation !== 'copy') return undefined
    writeFileSync(path, 'by')
    return Object.assign(new Error('injected'), { code: 'EIO' })
  })
  await expect(cloneFile(work.path('from'), work.path('to'))).rejects.toThrow('EIO')
  setFaultHook(undefined)
  expect(Object.keys(await work.snapshot())).toEqual(['from', 'taken'])
})

test('whatever fails, the new name holds all bytes or does not exist', async () => {
  const tripped = await faultLoop({
    run: async () => {
      await work.remove()
      work = await tree({ from: { text: 'bytes', mode: 0o600 } })
      await cloneFile(work.path('from'), work.path('to'))
    },
    verify: async (error) => {
      const { to } = await work.snapshot()
      if (error === undefined || to !== undefined) expect(to).toEqual({ mode: 0o600, text: 'bytes' })
    },
  })
  expect(tripped).toBeGreaterThan(8)
})
