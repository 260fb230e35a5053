import { createFileAtomic, isLociError, writeFileAtomic } from '@loci/disk'
import type { OpenFile } from '@loci/disk'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'old.txt': { text: 'old', mode: 0o640 }, 'link.txt': { link: 'old.txt' } })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

test('replaces the bytes and keeps the permission bits', async () => {
  expect(await writeFileAtomic(work.path('old.txt'), 'new')).toBe(true)
  expect((await work.snapshot())['old.txt']).toEqual({ mode: 0o640, text: 'new' })
})

test('gives the permission bits asked for, whatever the umask', async () => {
  const umask = process.umask(0o077)
  try {
    await writeFileAtomic(work.path('script'), 'x', { mode: 0o755 })
  } finally {
    process.umask(umask)
  }
  expect((await work.snapshot())['script']).toEqual({ mode: 0o755, text: 'x' })
})

test('with ifAbsent it leaves what is there, a dangling link included, and says so', async () => {
  const dangling = await tree({ name: { link: 'nowhere' } })
  expect(await writeFileAtomic(dangling.path('name'), 'x', { ifAbsent: true })).toBe(false)
  expect(await dangling.snapshot()).toEqual({ name: { link: 'nowhere' } })
  await dangling.remove()
  expect(await writeFileAtomic(work.path('old.txt'), 'x', { ifAbsent: true })).toBe(false)
  expect(await work.read('old.txt')).toBe('old')
})

test('of many writers with ifAbsent exactly one wins', async () => {
  const wins = await Promise.all(
    Array.from({ length: 20 }, (_, n) => writeFileAtomic(work.path('one'), String(n), { ifAbsent: true })),
  )
  expect(wins.filter(Boolean)).toHaveLength(1)
  expect(await work.read('one')).toBe(String(wins.indexOf(true)))
})

test('replaces a link, never what it points at', async () => {
  await writeFileAtomic(work.path('link.txt'), 'new')
  const after = await work.snapshot()
  expect(after['old.txt']).toEqual({ mode: 0o640, text: 'old' })
  expect(after['link.txt']).toMatchObject({ text: 'new' })
})

test('takes a name as long as a file system allows', async () => {
  const name = '語'.repeat(85)
  await writeFileAtomic(work.path(name), 'x')
  expect(await work.read(name)).toBe('x')
})

describe('createFileAtomic', () => {
  test('the file appears with all that was written, once', async () => {
    const made = await Promise.all(
      ['one', 'two'].map((text) =>
        createFileAtomic(work.path('new'), (file) => file.writeAll(Buffer.from(text)), { mode: 0o600 }),
      ),
    )
    expect(made.filter(Boolean)).toHaveLength(1)
    expect((await work.snapshot())['new']).toEqual({ mode: 0o600, text: made[0] ? 'one' : 'two' })
  })

  test('where the writer throws, nothing has the name and nothing stays behind', async () => {
    const before = await work.snapshot()
    const write = async (file: OpenFile): Promise<void> => {
      await file.writeAll(Buffer.from('half'))
      throw new Error('stop')
    }
    await expect(createFileAtomic(work.path('new'), write)).rejects.toThrow('stop')
    expect(await work.snapshot()).toEqual(before)
  })

  test('durable: a directory that cannot be flushed takes the name back', async () => {
    setFaultHook((operation, path) =>
      operation === 'fdatasync' && path === work.root
        ? Object.assign(new Error('injected'), { code: 'EIO' })
        : undefined,
    )
    const made = createFileAtomic(work.path('new'), (file) => file.writeAll(Buffer.from('x')), {
      durable: true,
    })
    await expect(made).rejects.toThrow('EIO')
    expect(Object.keys(await work.snapshot())).toEqual(['link.txt', 'old.txt'])
  })

  test('without hard links a failed rename leaves no empty file under the name', async () => {
    setFaultHook((operation) => {
      const code = operation === 'link' ? 'EPERM' : operation === 'rename' ? 'EIO' : undefined
      return code === undefined ? undefined : Object.assign(new Error('injected'), { code })
    })
    const made = createFileAtomic(work.path('new'), (file) => file.writeAll(Buffer.from('x')))
    await expect(made).rejects.toThrow('EIO')
    setFaultHook(undefined)
    expect(Object.keys(await work.snapshot())).toEqual(['link.txt', 'old.txt'])
  })
})

describe('when any operation fails', () => {
  test.each([{ durable: false }, { durable: true }])(
    'the old bytes or the new ones are there (%o)',
    async (options) => {
      const tripped = await faultLoop({
        run: async () => {
          await work.remove()
          work = await tree({ 'old.txt': { text: 'old', mode: 0o640 } })
          await writeFileAtomic(work.path('old.txt'), 'new and longer', options)
        },
        verify: async (error) => {
          const after = await work.snapshot()
          expect(after['old.txt']).toEqual({
            mode: 0o640,
            text: error === undefined ? 'new and longer' : expect.stringMatching(/^(old|new and longer)$/),
          })
          if (error !== undefined) expect(isLociError(error, 'DISK_FULL', 'DISK_IO')).toBe(true)
        },
      })
      expect(tripped).toBeGreaterThan(20)
    },
  )
})
