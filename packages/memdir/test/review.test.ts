import { rm, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let work: Tree
let reviewed: Memdir
let plain: Memdir
let ids = 0
let now = 0
const own = { createId: () => `p-${++ids}`, clock: () => new Date((now += 1_000)) }
beforeEach(async () => {
  ids = 0
  now = 0
  work = await tree()
  reviewed = await openMemdir({ dir: work.root, sessionId: 's-1', messageId: 'm-1', review: true, ...own })
  plain = await openMemdir({ dir: work.root, sessionId: 's-2', ...own })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const draft: MemoryDraft = { name: 'Tabs', description: 'prefers tabs', type: 'user', body: 'Tabs.' }
const names = async (): Promise<string[]> =>
  Object.keys(await work.snapshot()).filter((name) => !name.includes('.lock.'))

test('with review a save writes the proposal and nothing else', async () => {
  const { memory, visible, proposed } = await reviewed.save({ ...draft, hook: 'tabs' })
  expect({ visible, proposed }).toEqual({ visible: false, proposed: true })
  expect(memory).toMatchObject({ name: 'Tabs', file: 'user_tabs.md', originSessionId: 's-1' })
  expect(await names()).toEqual(['.proposed/p-1.json'])
  expect(await plain.list()).toEqual({ memories: [], damage: [] })
  expect(await plain.index()).toMatchObject({ entries: [] })
  expect(await plain.proposals()).toEqual([
    { id: 'p-1', draft: { ...draft, hook: 'tabs' }, sessionId: 's-1', messageId: 'm-1' },
  ])
  expect(await plain.verify()).toEqual([])
})

test('approving saves it with its own origin and ends the proposal', async () => {
  await reviewed.save(draft)
  const memory = await plain.approve('p-1')
  expect(memory).toMatchObject({
    ...draft,
    file: 'user_tabs.md',
    originSessionId: 's-1',
    originMessageId: 'm-1',
  })
  expect(await plain.read('user_tabs.md')).toEqual(memory)
  expect((await plain.index()).entries).toHaveLength(1)
  expect(await plain.proposals()).toEqual([])
  await expect(plain.approve('p-1')).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
})

test('rejecting ends the proposal and writes nothing', async () => {
  await reviewed.save(draft)
  await plain.reject('p-1')
  expect(await names()).toEqual([])
  await expect(plain.reject('p-1')).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
})

test('what there is none of is named, where there is no folder too', async () => {
  const absent = await openMemdir({ dir: work.path('absent') })
  for (const memdir of [plain, absent]) {
    const refuses = (call: Promise<unknown>, message: string): Promise<void> =>
      expect(call).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND', message })
    await refuses(
      memdir.remove('x.md', { ifRevision: '' }),
      'There is no memory "x.md": list shows which there are',
    )
    await refuses(memdir.restore('x'), 'There is no trash entry "x": trash shows which there are')
    await refuses(memdir.approve('x'), 'There is no proposal "x": proposals shows which there are')
    await refuses(memdir.reject('x'), 'There is no proposal "x": proposals shows which there are')
  }
  expect(await names()).toEqual([])
})

test('proposals come oldest first', async () => {
  for (const name of ['c', 'a', 'b']) await reviewed.save({ ...draft, name })
  expect((await plain.proposals()).map((proposal) => proposal.draft.name)).toEqual(['c', 'a', 'b'])
})

test('a proposal for an existing memory shows what it replaces, and needs its revision', async () => {
  const { memory } = await plain.save(draft)
  const { file, revision } = memory
  await expect(reviewed.save({ ...draft, file, body: 'new' })).rejects.toMatchObject({
    code: 'MEMORY_CONFLICT',
  })
  await reviewed.save({ ...draft, file, body: 'new' }, { ifRevision: revision })
  expect(await plain.read(file)).toEqual(memory)
  const [proposal] = await plain.proposals()
  expect(proposal).toMatchObject({ draft: { file, body: 'new' }, replaces: memory })
  await plain.approve(proposal?.id ?? '')
  expect(await plain.read(file)).toMatchObject({ body: 'new', originSessionId: 's-2' })
  expect((await plain.list()).memories).toHaveLength(1)
})

test('a proposal for a memory that has changed since is a conflict and stays', async () => {
  const { memory } = await plain.save(draft)
  await reviewed.save({ ...draft, file: memory.file, body: 'new' }, { ifRevision: memory.revision })
  await writeFile(work.path(memory.file), 'by hand')
  const [proposal] = await plain.proposals()
  expect(proposal).toMatchObject({ outdated: true, replaces: { body: 'by hand' } })
  await expect(plain.approve(proposal?.id ?? '')).rejects.toMatchObject({
    code: 'MEMORY_CONFLICT',
    message: `"${memory.file}" is another than when this was proposed: reject the proposal, or save anew what holds of it and then reject it`,
    details: { file: memory.file, revision: expect.any(String) },
  })
  expect(await work.read(memory.file)).toBe('by hand')
  await rm(work.path(memory.file))
  const [left] = await plain.proposals()
  expect(left).toMatchObject({ outdated: true, draft: { body: 'new' } })
  expect(left).not.toHaveProperty('replaces')
  await expect(plain.approve(left?.id ?? '')).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
})

test('of two proposals for one memory the second is outdated by the first, and what each replaced is kept', async () => {
  const { memory } = await plain.save({ ...draft, hook: 'own words' })
  const { file, revision } = memory
  for (const body of ['b', 'c']) await reviewed.save({ ...draft, file, body }, { ifRevision: revision })
  const [first, second] = await plain.proposals()
  // All of what a diff needs is there.
  expect(first).toMatchObject({ replaces: memory, draft: { body: 'b' }, sessionId: 's-1', messageId: 'm-1' })
  expect([first, second].map((proposal) => proposal?.outdated)).toEqual([undefined, undefined])
  await plain.approve(first?.id ?? '')
  expect(await plain.proposals()).toMatchObject([{ id: second?.id, outdated: true, replaces: { body: 'b' } }])
  await expect(plain.approve(second?.id ?? '')).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
  const [kept] = await plain.trash()
  expect(await plain.restore(kept?.id ?? '')).toMatchObject({ body: 'Tabs.', hook: 'own words' })
})

test('two proposals without a file name get two files, and one for a taken name the next', async () => {
  await reviewed.save(draft)
  await reviewed.save({ ...draft, body: 'Other.' })
  await plain.save({ ...draft, body: 'Third.' })
  for (const { id } of await plain.proposals()) await plain.approve(id)
  expect((await plain.list()).memories.map(({ file, body }) => [file, body])).toEqual([
    ['user_tabs.md', 'Third.'],
    ['user_tabs_2.md', 'Tabs.'],
    ['user_tabs_3.md', 'Other.'],
  ])
})

test('an approval that was cut off before the proposal was removed can be made again, without a second copy', async () => {
  await reviewed.save(draft)
  const [path] = (await names()).filter((name) => name.startsWith('.proposed'))
  const proposal = await work.read(path ?? '')
  await plain.approve('p-1')
  await writeFile(work.path('.proposed/p-1.json'), proposal)
  await plain.approve('p-1')
  expect((await plain.list()).memories).toHaveLength(1)
  expect((await plain.index()).entries).toHaveLength(1)
  const { memory } = await plain.save({ ...draft, name: 'X' })
  await reviewed.save({ ...draft, name: 'X', file: memory.file, body: 'n' }, { ifRevision: memory.revision })
  const [second] = await plain.proposals()
  const again = await work.read(`.proposed/${second?.id}.json`)
  await plain.approve(second?.id ?? '')
  await writeFile(work.path(`.proposed/${second?.id}.json`), again)
  expect(await plain.approve(second?.id ?? '')).toMatchObject({ body: 'n' })
})

test('a proposal that cannot be read hides no other, is reported, and is not removed', async () => {
  await reviewed.save(draft)
  await writeFile(work.path('.proposed/broken.json'), '{"draft":')
  await writeFile(work.path('.proposed/odd.json'), '{"draft":{"name":1},"proposedAt":"x"}')
  expect(await plain.proposals()).toHaveLength(1)
  expect((await plain.verify()).map(({ kind, path }) => [kind, path])).toEqual([
    ['unreadable', work.path('.proposed/broken.json')],
    ['unreadable', work.path('.proposed/odd.json')],
  ])
  for (const id of ['broken', 'odd']) {
    await expect(plain.approve(id)).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await expect(plain.reject(id)).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
  }
  expect(await names()).toHaveLength(3)
})

test('a proposal written by hand with a name that leads out of the folder is refused', async () => {
  const odd = { draft: { ...draft, file: '../x.md' }, proposedAt: '2031-01-01T00:00:00Z' }
  await reviewed.save(draft)
  await writeFile(work.path('.proposed/odd.json'), JSON.stringify(odd))
  await expect(plain.approve('odd')).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
})

test('an approval that was cut off between its steps comes to its line when made again', async () => {
  const { memory } = await plain.save(draft)
  const changed = { ...draft, file: memory.file, description: 'other' }
  await reviewed.save(changed, { ifRevision: memory.revision })
  const [proposal] = await plain.proposals()
  const index = await work.read('MEMORY.md')
  const stored = await work.read(`.proposed/${proposal?.id}.json`)
  await plain.approve(proposal?.id ?? '')
  // As it is after the first step.
  await writeFile(work.path('MEMORY.md'), index)
  await writeFile(work.path(`.proposed/${proposal?.id}.json`), stored)
  await plain.approve(proposal?.id ?? '')
  expect(await work.read('MEMORY.md')).toContain('— other\n')
})
