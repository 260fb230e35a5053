import { mkdir, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/': '' })
})
afterEach(() => work.remove())

const run = (input: string, ...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project'), input }, ...argv)
const list = async (): Promise<string> => (await run('', 'memory', 'list')).out

test('what the user says to hold from now on is kept after the turns, and said', async () => {
  const { out, code } = await run('hello\nWe always squash commits. Thanks!\n', '--offline')
  expect(code).toBe(0)
  expect(out).toMatch(/Remembered: feedback_\S+\.md; loci memory show feedback_\S+\.md shows it/)
  expect(await list()).toContain('We always squash commits')
  // It is known by now.
  await run('hello\nWe always squash commits.\n', '--offline')
  expect((await list()).trimEnd().split('\n')).toHaveLength(1)
})

test('what is compacted right after was looked at before', async () => {
  const { out } = await run('hello\nWe always squash commits.\n/compact\n', '--offline')
  expect(out).toContain('Compacted: ')
  expect(await list()).toContain('We always squash commits')
})

test('in Chinese too, and with review it waits', async () => {
  await mkdir(work.path('home'))
  await writeFile(work.path('home/loci.json'), '{"formatVersion":1}')
  await writeFile(work.path('home/settings.json'), '{"memoryReview":true}')
  await run('你好\n以后提交信息都用英文。\n', '--offline')
  expect(await list()).toBe('no memories\n')
  expect((await run('', 'memory', 'proposals')).out).toContain('以后提交信息都用英文')
})

test('questions and requests leave nothing', async () => {
  await run('hello\ndo we always squash?\ncreate a.txt with "always"\n', '--offline')
  expect(await list()).toBe('no memories\n')
})
