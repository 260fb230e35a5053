import { execFileSync } from 'node:child_process'
import { walkFiles } from '@loci/disk'
import { setFaultHook, tree } from '@loci/disk/testing'
import { afterEach, expect, test } from 'vitest'

afterEach(() => setFaultHook(undefined))

async function walked(directory: string): Promise<{ found: string[]; unreadable: string[] }> {
  const unreadable: string[] = []
  const found: string[] = []
  const walk = walkFiles(directory, { onUnreadable: (path) => void unreadable.push(path) })
  for await (const { path } of walk) found.push(path.slice(directory.length + 1))
  return { found: found.toSorted(), unreadable }
}

test('files, links and special files below a directory, each as what it is', async () => {
  const work = await tree({ 'a/b/c.txt': 'c', 'a/d.txt': 'd', 'a/up': { link: '..' }, 'outside.txt': 'o' })
  execFileSync('mkfifo', [work.path('a/pipe')])
  expect(await walked(work.path('a'))).toEqual({ found: ['b/c.txt', 'd.txt', 'pipe', 'up'], unreadable: [] })
  expect(await walked(work.path('absent'))).toEqual({ found: [], unreadable: [] })
  await work.remove()
})

test('what cannot be looked at is told, and hides nothing else', async () => {
  const work = await tree({ 'a/shut/x.txt': '', 'a/shy.txt': '', 'a/z.txt': '' })
  setFaultHook((_, path) =>
    path.endsWith('shut') || path.endsWith('shy.txt')
      ? Object.assign(new Error('injected'), { code: 'EACCES' })
      : undefined,
  )
  const { found, unreadable } = await walked(work.path('a'))
  expect(found).toEqual(['z.txt'])
  expect(unreadable.toSorted()).toEqual([work.path('a/shut'), work.path('a/shy.txt')])
  await work.remove()
})
