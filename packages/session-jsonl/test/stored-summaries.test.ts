import { setFaultHook, tree } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'
import { RecentlyUsed } from '../src/recently-used.ts'
import { StoredSummaries } from '../src/stored-summaries.ts'
import { jsonl, user } from './lines.ts'

afterEach(() => setFaultHook(undefined))

test('the one that was used longest ago makes room', () => {
  const recent = new RecentlyUsed<string | undefined>(2)
  const made: string[] = []
  const use = (key: string): string | undefined =>
    recent.get(key, () => {
      made.push(key)
      return key === 'nothing' ? undefined : `of ${key}`
    })
  expect(['a', 'b', 'a', 'c', 'a', 'b', 'nothing', 'nothing'].map(use)).toEqual([
    'of a',
    'of b',
    'of a',
    'of c',
    'of a',
    'of b',
    undefined,
    undefined,
  ])
  expect(made).toEqual(['a', 'b', 'c', 'b', 'nothing'])
})

test('the file of a summary is read once while it is remembered, and of so many', async () => {
  const text = jsonl(user('m1', null, 'm1'), user('m2', 'm1', 'x'.repeat(2 * 1024 * 1024)))
  const made = await tree({ 'a.jsonl': text, 'b.jsonl': text, 'c.jsonl': text })
  const summaries = new StoredSummaries(2)
  let reads = 0
  setFaultHook((operation) => {
    if (operation === 'read') reads += 1
    return undefined
  })
  const readsOf = async (name: string): Promise<number> => {
    reads = 0
    const data = await summaries.dataOf(made.path(`${name}.jsonl`), { projectKey: 'p', sessionId: name })
    expect(data).toMatchObject({ firstPrompt: 'm1' })
    return reads
  }
  const whole = await readsOf('a')
  const again = await readsOf('a')
  expect(whole).toBeGreaterThan(again + 5)
  for (const name of ['b', 'c']) expect(await readsOf(name)).toBe(whole)
  expect(await readsOf('b')).toBe(again)
  expect(await readsOf('a')).toBe(whole)
  expect(await readsOf('b')).toBe(again)
  await made.remove()
})
