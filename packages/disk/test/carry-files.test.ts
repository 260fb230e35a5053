import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { applyCarry, compareBytes, files, isLociError, planCarry } from '@loci/disk'
import type { CarryRule } from '@loci/disk'
import { faultLoop, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'from/': '' })
})
afterEach(() => work.remove())

async function put(name: string, text: string, mode = 0o644): Promise<void> {
  await mkdir(work.path(name.slice(0, name.lastIndexOf('/'))), { recursive: true })
  await writeFile(work.path(name), text)
  await chmod(work.path(name), mode)
}

async function carry(rule: CarryRule = 'once'): Promise<{ carried: string[]; kept: string[] }> {
  const plan = await planCarry({ from: work.path('from'), to: work.path('to'), ruleFor: () => rule })
  await applyCarry(plan)
  const short = (path: string): string => path.slice(work.root.length + 1)
  return { carried: plan.steps.map(({ to }) => short(to)), kept: plan.kept.map(short) }
}

describe('compareBytes', () => {
  const big = 'x'.repeat(600_000)
  test.each([
    ['', '', 'same'],
    ['', 'a', 'shorter'],
    ['a', '', 'longer'],
    ['ab', 'ab', 'same'],
    ['ab', 'abc', 'shorter'],
    ['abc', 'ab', 'longer'],
    ['axc', 'ab', 'different'],
    [big, `${big}y`, 'shorter'],
    [`${big}z`, `${big}y`, 'different'],
    [`${big}y`, `${big}y`, 'same'],
  ])('tells how one file stands to another', async (ours, theirs, relation) => {
    await put('from/a', ours)
    await put('from/b', theirs)
    const a = await files.open(work.path('from/a'), 'r')
    const b = await files.open(work.path('from/b'), 'r')
    expect(await compareBytes(a, b)).toBe(relation)
    await a.close()
    await b.close()
  })
})

describe('carrying files', () => {
  test('brings every file with its mode, into a place that is not there, and again changes nothing', async () => {
    await put('from/a.txt', 'a', 0o600)
    await put('from/sub/deep/b.sh', 'b', 0o755)
    expect(await carry()).toEqual({ carried: ['to/a.txt', 'to/sub/deep/b.sh'], kept: [] })
    expect(await work.snapshot()).toMatchObject({
      'to/a.txt': { mode: 0o600, text: 'a' },
      'to/sub/deep/b.sh': { mode: 0o755, text: 'b' },
    })
    const before = await stat(work.path('to/a.txt'))
    for (const rule of ['once', 'grow', 'follow'] as const)
      expect(await carry(rule)).toEqual({ carried: [], kept: [] })
    expect((await stat(work.path('to/a.txt'))).ino).toBe(before.ino)
  })

  test('gives no file of the source a second name', async () => {
    await put('from/a.txt', 'a')
    await carry()
    // In place, as another client does.
    await writeFile(work.path('from/a.txt'), 'overwritten', { flag: 'r+' })
    expect(await work.read('to/a.txt')).toBe('a')
    await carry('follow')
    expect((await stat(work.path('from/a.txt'))).nlink).toBe(1)
    expect(await work.read('to/a.txt')).toBe('overwritten')
  })

  test('leaves locks, scratch and links of the source behind, and what is never carried', async () => {
    await put('from/.a.lock.1', '')
    await put('from/.a.0a1b2c3d.tmp', '')
    await put('from/.hidden', 'kept')
    await symlink(work.root, work.path('from/link'))
    expect(await carry('never')).toEqual({ carried: [], kept: [] })
    expect(await carry()).toEqual({ carried: ['to/.hidden'], kept: [] })
    await symlink(work.path('from'), work.path('other'))
    const linked = { from: work.path('other'), to: work.path('x'), ruleFor: (): CarryRule => 'once' }
    expect(await planCarry(linked)).toEqual({ steps: [], kept: [] })
  })

  test.each<[CarryRule, string, string, 'carried' | 'kept' | 'neither']>([
    ['once', 'a', 'ab', 'kept'],
    ['once', 'x', 'ab', 'kept'],
    ['grow', 'a', 'ab', 'carried'],
    ['grow', 'abc', 'ab', 'neither'],
    ['grow', 'x', 'ab', 'kept'],
    ['follow', 'x', 'ab', 'carried'],
    ['follow', 'abc', 'ab', 'carried'],
    ['never', 'x', 'ab', 'neither'],
  ])('where it is to be carried %s, ours %j and theirs %j: %s', async (rule, ours, theirs, outcome) => {
    await put('from/f', theirs)
    await put('to/f', ours)
    const result = await carry(rule)
    const all = { carried: [] as string[], kept: [] as string[] }
    if (outcome !== 'neither') all[outcome] = ['to/f']
    expect(result).toEqual(all)
    expect(await work.read('to/f')).toBe(outcome === 'carried' ? theirs : ours)
    expect(await readdir(work.path('to'))).toEqual(['f'])
  })

  test('makes modes equal too, where files are to follow', async () => {
    await put('from/f', 'a', 0o755)
    await put('to/f', 'a', 0o644)
    expect(await carry('grow')).toEqual({ carried: [], kept: ['to/f'] })
    await carry('follow')
    expect((await stat(work.path('to/f'))).mode & 0o777).toBe(0o755)
  })

  test('leads through nothing that stands in the way', async () => {
    await put('from/sub/f', 'a')
    await put('from/g', 'a')
    await mkdir(work.path('to'))
    await mkdir(work.path('elsewhere'))
    await symlink(work.path('elsewhere'), work.path('to/sub'))
    await symlink(work.path('elsewhere/g'), work.path('to/g'))
    expect(await carry('follow')).toEqual({ carried: [], kept: ['to/g', 'to/sub'] })
    expect(await readdir(work.path('elsewhere'))).toEqual([])
  })

  test('lets pass what somebody else carried since it was planned', async () => {
    await put('from/f', 'a')
    const plan = await planCarry({ from: work.path('from'), to: work.path('to'), ruleFor: () => 'once' })
    await put('to/f', 'first')
    await applyCarry(plan)
    expect(await work.read('to/f')).toBe('first')
  })

  test('R8: whatever fails, a file is as it was or as it is to be, and the next time completes it', async () => {
    await put('from/grown', 'one two')
    await put('from/new', 'new')
    let isDone = false
    await faultLoop({
      run: async () => {
        isDone = false
        await put('to/grown', 'one')
        await files.removeTree(work.path('to/new'))
        await carry('grow')
        isDone = true
      },
      verify: async (error) => {
        if (error !== undefined) expect(isLociError(error, 'DISK_IO', 'DISK_FULL')).toBe(true)
        expect(isDone ? ['one two'] : ['one', 'one two']).toContain(await work.read('to/grown'))
        await carry('grow')
        expect([await work.read('to/grown'), await work.read('to/new')]).toEqual(['one two', 'new'])
      },
    })
  })
})
