import { isLociError, resolveInside } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let work: Tree
beforeAll(async () => {
  work = await tree({
    'root/a/b.txt': '',
    'root/to-dir': { link: '../outside' },
    'root/to-file': { link: 'a/b.txt' },
    'root/dangling': { link: 'nowhere' },
    'outside/secret': '',
    alias: { link: 'root' },
  })
})
afterAll(() => work.remove())

test.each([
  ['a/b.txt', 'root/a/b.txt'],
  ['a/new.txt', 'root/a/new.txt'],
  ['new/deep/x', 'root/new/deep/x'],
  ['./a/../a//b.txt', 'root/a/b.txt'],
])('%j is %j', async (relative, expected) => {
  expect(await resolveInside(work.path('root'), relative)).toBe(work.path(expected))
})

test('the root itself may be reached through a link', async () => {
  expect(await resolveInside(work.path('alias'), 'a/b.txt')).toBe(work.path('root/a/b.txt'))
})

test.each([
  ['../outside/secret', 'PATH_OUTSIDE'],
  ['a/../../outside/secret', 'PATH_OUTSIDE'],
  ['..', 'PATH_OUTSIDE'],
  ['/etc/passwd', 'PATH_INVALID'],
  ['', 'PATH_INVALID'],
  ['.', 'PATH_INVALID'],
  ['a/..', 'PATH_INVALID'],
  ['a\0b', 'PATH_INVALID'],
  ['a/b.txt/below', 'PATH_INVALID'],
  ['x'.repeat(300), 'PATH_INVALID'],
  ['to-dir/secret', 'PATH_LINK'],
  ['to-dir', 'PATH_LINK'],
  ['to-file', 'PATH_LINK'],
  ['dangling', 'PATH_LINK'],
  ['dangling/new', 'PATH_LINK'],
])('%j is refused with %s', async (relative, code) => {
  const error: unknown = await resolveInside(work.path('root'), relative).catch((thrown: unknown) => thrown)
  expect(isLociError(error, code), String(error)).toBe(true)
})
