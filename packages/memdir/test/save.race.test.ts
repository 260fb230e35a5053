import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { openMemdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { times } from './thorough.ts'

const SAVE_MANY = new URL('./save-many.mjs', import.meta.url).pathname

const APPROVE_ONE = new URL('./approve-one.mjs', import.meta.url).pathname

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

test('R15: killed in the middle of saving, everything acknowledged is there, and the next change puts the rest right', async () => {
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
    for (const kind of ['topic-without-line', 'unfinished-change']) kinds.delete(kind)
    expect([...kinds]).toEqual([])
    // The next save puts it right, and so does repair.
    if (round === 0) await memdir.save({ name: 'next', description: 'd', type: 'user', body: 'b' })
    else await memdir.repair()
    expect(await memdir.verify()).toEqual([])
  }
})

test('R15: a proposal that two processes approve at once is saved once', async () => {
  const reviewed = await openMemdir({ dir: work.root, review: true, createId: () => 'p-1' })
  await reviewed.save({ name: 'One', description: 'd', type: 'user', body: 'b' })
  const children = [1, 2].map(() => spawn(process.execPath, [APPROVE_ONE, work.root, 'p-1']))
  await Promise.all(children.map((child) => once(child.stdout, 'data')))
  const answers = await Promise.all(
    children.map(async (child) => {
      child.stdin.end()
      const [answer] = (await once(child.stdout, 'data')) as [Buffer]
      await once(child, 'close')
      return answer.toString()
    }),
  )
  expect(answers.toSorted()).toEqual(['MEMORY_NOT_FOUND', 'user_one.md'])
  const memdir = await openMemdir({ dir: work.root })
  expect((await memdir.list()).memories).toHaveLength(1)
  expect((await memdir.index()).entries).toHaveLength(1)
  expect(await memdir.verify()).toEqual([])
})
