import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { acquireLease } from '@loci/disk'
import { loadMemory, MAX_MEMORY_LINES, openMemdir, saveMemory } from '@loci/memdir'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { times } from './thorough.ts'

let work: Tree
let file: string
beforeEach(async () => {
  work = await tree()
  file = work.path('deep/down/MEMORY.md')
})
afterEach(() => work.remove())

test('what is saved is loaded, and the first save makes folder and file', async () => {
  expect(await loadMemory(file)).toBeNull()
  expect(await saveMemory('- prefers tabs', { file })).toBe(
    `Saved 1 line to ${file} (now 1 of 200 lines, 14 of 25000 bytes).`,
  )
  expect(await saveMemory('- one\n- two\n', { file })).toContain('Saved 2 lines')
  expect(await work.read('deep/down/MEMORY.md')).toBe('- prefers tabs\n- one\n- two\n')
  expect(await loadMemory(file)).toBe('- prefers tabs\n- one\n- two')
})

test('what the file holds stays as it is; a last line without end gets one', async () => {
  await mkdir(work.path('deep/down'), { recursive: true })
  await writeFile(file, '\uFEFF# Mine\r\nlast')
  await saveMemory('new\n\n', { file })
  expect(await work.read('deep/down/MEMORY.md')).toBe('\uFEFF# Mine\r\nlast\nnew\n')
})

test('over the limit the cut part comes with a warning, and saving says so', async () => {
  expect(MAX_MEMORY_LINES).toBe(200)
  const confirmation = await saveMemory('line\n'.repeat(247), { file })
  expect(confirmation).toContain('247 of 200 lines')
  expect(confirmation).toContain('will not see all')
  const text = await loadMemory(file)
  expect(text?.split('\n').filter((line) => line === 'line')).toHaveLength(200)
  expect(text?.split('\n').at(-1)).toMatch(/^> .*247 lines.*limit of 200 lines/)
})

test('nothing is not saved', async () => {
  await expect(saveMemory(' \n', { file })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
  await expect(saveMemory('half \udc00', { file })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
  // @ts-expect-error a caller without types
  await expect(saveMemory(undefined, { file })).rejects.toThrow(TypeError)
  expect(await work.snapshot()).toEqual({})
})

test('an empty file is empty, an unreadable one an error', async () => {
  await mkdir(work.path('deep/down'), { recursive: true })
  await writeFile(file, '')
  expect(await loadMemory(file)).toBe('')
  await expect(loadMemory(work.path('deep'))).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
})

test('many saves at once lose nothing', async () => {
  const texts = Array.from({ length: times(8, 20) }, (_, n) => `- note ${n}`)
  await Promise.all(texts.map((text) => saveMemory(text, { file })))
  expect((await work.read('deep/down/MEMORY.md')).trim().split('\n').toSorted()).toEqual(texts.toSorted())
})

test('a save waits for whoever changes the same file', async () => {
  await saveMemory('- one', { file })
  const lease = await acquireLease(file)
  const waits = new Promise<void>((resolve) => {
    let looks = 0
    setFaultHook((operation, path) => {
      if (operation === 'readdir' && path === dirname(file) && ++looks === 3) resolve()
      return undefined
    })
  })
  const saving = saveMemory('- two', { file })
  await waits
  setFaultHook(undefined)
  expect(await work.read('deep/down/MEMORY.md')).toBe('- one\n')
  await lease.release()
  await saving
  expect(await work.read('deep/down/MEMORY.md')).toBe('- one\n- two\n')
})

test('appending to the index of a memory folder loses nothing to saves in that folder', async () => {
  const memdir = await openMemdir({ dir: dirname(file) })
  const numbers = Array.from({ length: times(5, 12) }, (_, n) => n)
  await Promise.all(
    numbers.flatMap<Promise<unknown>>((n) => [
      memdir.save({ name: `memory ${n}`, description: 'x', type: 'user', body: 'x' }),
      saveMemory(`- note ${n}`, { file }),
    ]),
  )
  const { raw, entries } = await memdir.index()
  expect(entries).toHaveLength(numbers.length)
  for (const n of numbers) expect(raw).toContain(`- note ${n}\n`)
})

describe('when the disk fails', () => {
  test('a disk that gets full in the middle of a save leaves none of the text', async () => {
    await saveMemory('- old', { file })
    let writes = 0
    setFaultHook((operation, path) => {
      if (operation !== 'write' || path.includes('.lock.')) return undefined
      writes += 1
      return writes === 1 ? { shortWriteBytes: 9 } : Object.assign(new Error(), { code: 'ENOSPC' })
    })
    await expect(saveMemory('- text that does not fit', { file })).rejects.toMatchObject({
      code: 'DISK_FULL',
    })
    setFaultHook(undefined)
    expect(writes).toBeGreaterThan(1)
    expect(await work.read('deep/down/MEMORY.md')).toBe('- old\n')
    await saveMemory('- next', { file })
    expect(await work.read('deep/down/MEMORY.md')).toBe('- old\n- next\n')
  })

  test('old lines stay, a confirmed line is there, and the next save goes on', async () => {
    let round = 0
    let current = ''
    const trips = await faultLoop({
      // What a failure is called changes nothing here.
      faults: ['EIO', 'short-write'],
      run: async () => {
        current = work.path(`f${++round}/M.md`)
        await mkdir(work.path(`f${round}`))
        await writeFile(current, 'old\n')
        await saveMemory('new', { file: current })
      },
      verify: async (error) => {
        const name = current.slice(work.root.length + 1)
        const text = await work.read(name)
        // Whole or not at all; that it stays although the call failed is said.
        expect(['old\n', 'old\nnew\n']).toContain(text)
        if (text !== 'old\n' && error !== undefined) expect(error).toHaveProperty('details.leftBehind')
        if (error === undefined) expect(text).toBe('old\nnew\n')
        else expect(error).toMatchObject({ code: expect.stringMatching(/^DISK_(IO|FULL)$/) })
        await saveMemory('next', { file: current })
        expect(await work.read(name)).toMatch(/^next\n$/m)
      },
    })
    expect(trips).toBeGreaterThan(20)
  })
})
