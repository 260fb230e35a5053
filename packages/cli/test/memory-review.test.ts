import { rm, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const DRAFT = {
  name: 'indentation',
  description: 'we indent',
  type: 'project',
  body: 'Four spaces.',
} as const
const FROM = { sessionId: 'session-1', messageId: 'message-1' }

let work: Tree
let memdir: Memdir
beforeEach(async () => {
  work = await tree({ 'project/': '', 'home/loci.json': '{}' })
  memdir = await openMemdir({ dir: work.path('home/memory'), review: true, ...FROM })
})
afterEach(async () => {
  await memdir.close()
  await work.remove()
})

const run = (...argv: string[]): Promise<Run> =>
  loci(
    { home: work.path('home'), cwd: work.path('project'), input: '' },
    'memory',
    ...argv,
    '--scope',
    'user',
  )

test('a new memory is shown with where it comes from, approved, and in the index then', async () => {
  expect((await run('proposals')).out).toBe('nothing waits\n')
  await memdir.save(DRAFT)
  const [{ id }] = (await run('proposals', '--json')).json() as [{ id: string }]
  const { out, code } = await run('proposals')
  expect(code).toBe(0)
  expect(out.split('\n')).toEqual([
    expect.stringMatching(`^${id}  new: .*indentation`),
    '  from session session-1, message message-1',
    '  +indentation (project): we indent',
    '  +Four spaces.',
    'loci memory approve ID takes one, loci memory reject ID drops it',
    '',
  ])
  expect((await run('index')).out).toBe('the index is empty\n')
  expect(await run('approve', id)).toMatchObject({ code: 0, out: 'approved: project_indentation.md\n' })
  expect((await run('index')).out).toContain('project_indentation.md')
  expect((await run('proposals')).out).toBe('nothing waits\n')
  expect(await run('approve', id)).toMatchObject({ code: 1, err: expect.stringContaining(id) })
})

test('of a change the lines that differ are shown; what it replaces is in the trash then', async () => {
  const own = await openMemdir({ dir: memdir.dir })
  const body = Array.from({ length: 20 }, (_, number) => `line ${number}`).join('\n')
  const { memory } = await own.save({ ...DRAFT, body })
  const change = { ...DRAFT, file: memory.file, body: body.replace('line 10', 'LINE 10') }
  await memdir.save(change, { ifRevision: memory.revision })
  const [{ id }] = (await run('proposals', '--json')).json() as [{ id: string }]
  const { out } = await run('proposals')
  expect(out).toContain(`${id}  changes ${memory.file}\n`)
  expect(out).toContain('  -line 10\n  +LINE 10\n')
  expect(out).not.toContain('line 0\n')
  expect((await run('approve', id)).code).toBe(0)
  expect((await run('show', memory.file)).out).toContain('LINE 10')
  const [{ id: removed }] = (await run('trash', '--json')).json() as [{ id: string }]
  expect(removed).not.toBe('')
})

test('a memory that was changed by hand meanwhile is not replaced: exit 3, and it says so', async () => {
  const own = await openMemdir({ dir: memdir.dir })
  const { memory } = await own.save(DRAFT)
  await memdir.save({ ...DRAFT, file: memory.file, body: 'Tabs.' }, { ifRevision: memory.revision })
  await own.save({ ...memory, body: 'By hand.' }, { ifRevision: memory.revision })
  const [{ id }] = (await run('proposals', '--json')).json() as [{ id: string }]
  expect((await run('proposals')).out).toContain('another by now: reject it')
  expect((await run('approve', id)).code).not.toBe(0)
  expect((await run('show', memory.file)).out).toContain('By hand.')
  expect(await run('reject', id)).toMatchObject({ code: 0, out: `rejected: ${id}\n` })
  expect((await run('proposals')).out).toBe('nothing waits\n')
})

test('search, verify and repair', async () => {
  const own = await openMemdir({ dir: memdir.dir })
  const { memory } = await own.save(DRAFT)
  expect((await run('search', 'spaces')).out).toBe(`${memory.file}  project  Four spaces.\n`)
  expect((await run('search', 'nowhere')).out).toBe('nothing found\n')
  expect(await run('verify')).toMatchObject({ code: 0, out: 'the memory is in order\n' })
  await writeFile(work.path('home/memory/MEMORY.md'), '')
  const broken = await run('verify')
  expect(broken.code).toBe(3)
  expect(broken.out).toContain('topic-without-line')
  expect(broken.out).toMatch(/\nloci memory repair --dry-run shows .*\n$/)
  const planned = await run('repair', '--dry-run')
  expect(planned.out).toContain(memory.file)
  expect(await work.read('home/memory/MEMORY.md')).toBe('')
  expect((await run('repair')).out).toBe(planned.out)
  expect((await run('verify')).code).toBe(0)
  expect((await run('repair')).out).toBe('nothing to repair\n')
  await rm(work.path(`home/memory/${memory.file}`))
  expect((await run('verify')).out).toMatch(
    /line-without-topic.*\nnothing of it can be put right by itself\n$/,
  )
})

test('where there is no memory nothing is made by what has nothing to change', async () => {
  await rm(work.path('home'), { recursive: true })
  const before = await work.snapshot()
  for (const argv of [
    ['approve', 'x'],
    ['reject', 'x'],
    ['remove', 'a.md'],
    ['restore', 'x'],
  ])
    expect(await run(...argv)).toMatchObject({ code: 1, err: expect.stringContaining('[MEMORY_NOT_FOUND]') })
  expect(await run('repair')).toMatchObject({ code: 0, out: 'nothing to repair\n' })
  expect(await work.snapshot()).toEqual(before)
})

test('M04 with memory off nothing is changed by any of them', async () => {
  await memdir.save(DRAFT)
  const [{ id }] = (await run('proposals', '--json')).json() as [{ id: string }]
  await writeFile(work.path('home/settings.json'), '{"autoMemoryEnabled":false}')
  const before = await work.snapshot()
  for (const argv of [['approve', id], ['reject', id], ['repair'], ['remove', 'a.md'], ['restore', 'x']])
    expect(await run(...argv)).toMatchObject({ code: 1, err: expect.stringContaining('Memory is off') })
  expect(await work.snapshot()).toEqual(before)
})
