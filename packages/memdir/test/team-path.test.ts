import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { isLociError, writeFileAtomic } from '@loci/disk'
import { faultLoop, setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { resolveTeamMemoryPath, validateTeamMemoryKey } from '@loci/memdir'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let dir: string
beforeEach(async () => {
  work = await tree({ 'team/deploy/eu/how.md': 'how', 'outside/deploy/eu/how.md': 'theirs' })
  dir = work.path('team')
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const KEY = 'deploy/eu/how.md'
const resolved = (key: string): Promise<unknown> =>
  resolveTeamMemoryPath(dir, key).catch((error: unknown) => error)

test('a key is a path below the directory, whether there is something or not', async () => {
  expect(await resolveTeamMemoryPath(dir, KEY)).toBe(join(dir, KEY))
  expect(await resolveTeamMemoryPath(dir, 'deploy/new.md')).toBe(join(dir, 'deploy/new.md'))
  expect(await resolveTeamMemoryPath(dir, 'new/and/deep.md')).toBe(join(dir, 'new/and/deep.md'))
})

test('the directory itself may be reached through a link: that is for the caller to choose', async () => {
  await symlink(dir, work.path('alias'))
  expect(await resolveTeamMemoryPath(work.path('alias'), KEY)).toBe(join(dir, KEY))
})

test('a directory that is not there is an error, not a path', async () => {
  await expect(resolveTeamMemoryPath(work.path('gone'), KEY)).rejects.toMatchObject({ code: 'DISK_IO' })
})

describe('R17: a link in the place of', () => {
  const components = ['deploy', 'deploy/eu', KEY]
  test.each(components)('%s is refused, wherever it leads', async (component) => {
    for (const target of [
      work.path(`outside/${component}`),
      dir,
      '/nowhere/at/all',
      `${dirname(component)}/../x`,
    ]) {
      await rm(join(dir, component), { recursive: true, force: true })
      await symlink(target, join(dir, component))
      expect(isLociError(await resolved(KEY), 'PATH_LINK'), target).toBe(true)
    }
    expect(await work.read(`outside/${KEY}`)).toBe('theirs')
  })

  test.each(['deploy', 'deploy/eu'])(
    '%s, planted after it was looked at, is refused too',
    async (component) => {
      let looks = 0
      setFaultHook((operation, path) => {
        if (operation !== 'lstat' || path !== join(dir, KEY)) return undefined
        looks += 1
        renameSync(join(dir, component), join(dir, 'aside'))
        symlinkSync(work.path(`outside/${component}`), join(dir, component))
        return undefined
      })
      const answer = await resolved(KEY)
      expect(looks).toBe(1)
      expect(isLociError(answer, 'PATH_LINK'), String(answer)).toBe(true)
    },
  )
})

test('R17: a file in the place of a directory is refused', async () => {
  expect(isLociError(await resolved(`${KEY}/x.md`), 'PATH_INVALID')).toBe(true)
})

test('R17: a refused key looks at nothing', async () => {
  let operations = 0
  setFaultHook(() => {
    operations += 1
    return undefined
  })
  for (const key of [
    '../a.md',
    '/etc/a.md',
    '.git/a.md',
    'MEMORY.md',
    'con.md',
    'a\\b.md',
    '\uff0e\uff0e/a.md',
  ]) {
    expect(isLociError(await resolved(key), 'TEAM_KEY_INVALID'), key).toBe(true)
  }
  expect(operations).toBe(0)
})

test('R17: a link planted under the name of the temporary file is not written through', async () => {
  const path = await resolveTeamMemoryPath(dir, KEY)
  let planted = ''
  setFaultHook((operation, temporary) => {
    if (operation === 'open' && temporary !== path && planted === '') {
      planted = temporary
      symlinkSync(work.path(`outside/${KEY}`), temporary)
    }
    return undefined
  })
  await expect(writeFileAtomic(path, 'mine')).rejects.toMatchObject({ code: 'DISK_IO' })
  expect(() => validateTeamMemoryKey(`deploy/eu/${basename(planted)}`)).toThrow('cannot be a key')
  expect(await work.read(`team/${KEY}`)).toBe('how')
  expect(await work.read(`outside/${KEY}`)).toBe('theirs')
})

test('R17: a link planted in the place of the file after the answer is replaced, not followed', async () => {
  const path = await resolveTeamMemoryPath(dir, KEY)
  await rm(path)
  await symlink(work.path(`outside/${KEY}`), path)
  await writeFileAtomic(path, 'mine')
  expect(await work.read(`outside/${KEY}`)).toBe('theirs')
  expect(await work.read(`team/${KEY}`)).toBe('mine')
})

test('R17: when looking fails, so does the answer', async () => {
  let answer: unknown
  await faultLoop({
    faults: ['EIO', 'EACCES'],
    run: async () => {
      answer = await resolveTeamMemoryPath(dir, KEY)
    },
    verify: (error) => {
      if (error === undefined) expect(answer).toBe(join(dir, KEY))
      else expect(isLociError(error, 'DISK_IO')).toBe(true)
      return Promise.resolve()
    },
  })
})

test('R17: whatever the segments, the path is refused or inside', async () => {
  mkdirSync(join(dir, 'a'), { recursive: true })
  await symlink(work.path('outside'), join(dir, 'out'))
  await mkdir(join(dir, 'b/c'), { recursive: true })
  await symlink('../..', join(dir, 'b/up'))
  const links = ['up', 'out']
  const names = ['a', 'b', 'c', 'deploy', 'eu', 'new', 'how.md']
  const tricks = [
    '..',
    '.',
    '',
    ' ',
    '.git',
    '\\',
    '..\\',
    '\0',
    'con',
    '%2e%2e',
    'C:',
    '/',
    '~',
    '$HOME',
    'MEMORY.md',
  ]
  const lookAlikes = ['\uff0e\uff0e', '\uff0f', '\u2025', '\ud800']
  const part = fc.constantFrom(...links, ...names, ...tricks, ...lookAlikes)
  const segments = fc.array(fc.array(part, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(segments, async (parts) => {
      const key = `${parts.map((words) => words.join('')).join('/')}.md`
      const answer = await resolved(key)
      if (typeof answer !== 'string') {
        expect(isLociError(answer), String(answer)).toBe(true)
        return
      }
      expect(answer).toBe(join(dir, ...key.split('/')))
      expect(answer.startsWith(dir + sep)).toBe(true)
      expect(key).not.toMatch(/^(?:out|b\/up)\//)
    }),
    { numRuns: 1000 },
  )
})
