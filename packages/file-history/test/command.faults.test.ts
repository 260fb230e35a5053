import { rmSync, writeFileSync } from 'node:fs'
import { isLociError } from '@loci/disk'
import { setFaultHook } from '@loci/disk/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { damageOf, faultScene, withFault } from './fault-scene.ts'
import type { Fault, FaultScene, FaultWay, Files } from './fault-scene.ts'

let scene: FaultScene
beforeAll(async () => {
  scene = await faultScene()
})
afterEach(() => setFaultHook(undefined))
afterAll(() => scene.dispose())

const isLong = process.env['LOCI_LONG'] === '1'
const WAYS: readonly FaultWay[] = ['ENOSPC', 'EIO', 'EACCES', 'torn']

/** The names of files that are not alike. */
function differing(one: Files, other: Files): string[] {
  return Object.keys({ ...one, ...other }).filter((name) => one[name] !== other[name])
}

/** Whether one of these absolute paths is the file, or a directory above it. */
function isNamed(name: string, paths: readonly string[]): boolean {
  const path = scene.work.path(name)
  return paths.some((named) => path === named || path.startsWith(`${named}/`) || named === scene.work.root)
}

/** A command whose tracking has a fault. Resolves to whether it came so far. */
async function tryOnce(fault: Fault): Promise<boolean> {
  scene.reset()
  const { work } = scene
  let history = await scene.open()
  let hasRun = false
  let named: string[] = []
  try {
    await history.makeSnapshot('m4')
    const before = scene.look()
    const command = async (): Promise<void> => {
      hasRun = true
      writeFileSync(work.path('a.txt'), 'by the command')
      writeFileSync(work.path('made.txt'), 'made')
      rmSync(work.path('b.sh'), { force: true })
      writeFileSync(work.path('mine.txt'), 'no longer mine')
    }
    const { error, isTripped } = await withFault(fault, async () => {
      const { changed, untracked } = await history.trackCommand('m4', command)
      named = untracked
      for (const name of ['a.txt', 'made.txt', 'b.sh', 'mine.txt']) {
        expect(isNamed(name, [...changed, ...untracked]), name).toBe(true)
      }
    })
    if (error !== undefined && !isLociError(error, 'DISK_FULL', 'DISK_IO')) throw error
    if (!hasRun) {
      expect(scene.look()).toEqual(before)
      named = (await history.trackCommand('m4', command)).untracked
      expect(named).toEqual([])
    }
    await history.close()
    history = await scene.open()
    const after = scene.look()
    // What is not covered is named, by the command or by the rewind.
    const { skipped, conflicts } = await history.rewind('m4', { onConflict: 'skip' })
    named = [...named, ...[...skipped, ...conflicts].map(({ path }) => path)]
    for (const name of differing(before, scene.look())) expect(isNamed(name, named), name).toBe(true)
    if (differing(before, after).length > 0 && differing(after, scene.look()).length > 0) {
      await history.undoRewind()
      expect(scene.look()).toEqual(after)
    }
    if (named.length === 0) expect(await damageOf(work)).toEqual([])
    return isTripped
  } finally {
    await history.close()
  }
}

test.each([
  { lasts: false, when: 'once' },
  { lasts: true, when: 'and all after it' },
])(
  'with any file operation of a tracked command failing, $when: it is not run, or covered now or by the next call, or named',
  async ({ lasts }) => {
    let tried = 0
    const stride = isLong ? 1 : 29
    let isTripped = true
    for (let nth = lasts ? 1 : 1 + (stride >> 1); isTripped; nth += stride) {
      isTripped = false
      const ways = isLong ? WAYS : WAYS.filter((_, index) => index === tried % WAYS.length)
      for (const way of ways) {
        try {
          if (await tryOnce({ nth, way, lasts })) isTripped = true
        } catch (cause) {
          throw new Error(`${way} at operation ${nth}`, { cause })
        }
      }
      tried += 1
    }
    expect(tried).toBeGreaterThan(5)
  },
  600_000,
)
