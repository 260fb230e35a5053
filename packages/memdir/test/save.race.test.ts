import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import { openMemdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { times } from './thorough.ts'

const SAVE_MANY = new URL('./save-many.mjs', import.meta.url).pathname

let work: Tree
beforeEach(async () => {
  work = await tree()
})
afterEach(() => work.remove())

test('R15: what several processes save at once is all there, one index line each', async () => {
  const run = promisify(execFile)
  const count = times(4, 8)
  const outputs = await Promise.all(
    ['ann', 'ben', 'cy'].map((who) => run(process.execPath, [SAVE_MANY, work.root, who, `${count}`])),
  )
  const acknowledged = outputs.flatMap(({ stdout }) => stdout.trim().split('\n'))
  const memdir = await openMemdir({ dir: work.root })
  const { memories, damage } = await memdir.list()
  expect(damage).toEqual([])
  expect(memories.map(({ file }) => file)).toEqual(acknowledged.toSorted())
  expect(new Set(memories.map(({ body }) => body)).size).toBe(3 * count)
  const { entries } = await memdir.index()
  expect(entries.map(({ file }) => file).toSorted()).toEqual(acknowledged.toSorted())
  expect(await memdir.verify()).toEqual([])
})

test('R15: killed in the middle of saving, everything acknowledged is there, and repair puts the rest right', async () => {
  for (let round = 0; round < times(1, 3); round += 1) {
    const child = spawn(process.execPath, [SAVE_MANY, work.root, `r${round}`, '1000'])
    const acknowledged: string[] = []
    await new Promise<void>((resolve) => {
      let text = ''
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString()
        if (text.split('\n').length > 4 + round) child.kill('SIGKILL')
      })
      child.once('close', () => {
        acknowledged.push(...text.split('\n').slice(0, -1))
        resolve()
      })
    })
    expect(acknowledged.length).toBeGreaterThan(3)
    const memdir = await openMemdir({ dir: work.root })
    const { entries } = await memdir.index()
    for (const file of acknowledged) {
      expect(await memdir.read(file)).toBeDefined()
      expect(entries.filter((entry) => entry.file === file)).toHaveLength(1)
    }
    const kinds = new Set((await memdir.verify()).map(({ kind }) => kind))
    kinds.delete('topic-without-line')
    expect([...kinds]).toEqual([])
    await memdir.repair()
    expect(await memdir.verify()).toEqual([])
  }
})
