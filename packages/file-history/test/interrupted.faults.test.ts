import { setFaultHook } from '@loci/disk/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { failure } from './project.ts'
import { interrupted } from './interrupted-rewind.ts'
import type { Interrupted } from './interrupted-rewind.ts'

let scene: Interrupted
beforeAll(async () => {
  scene = await interrupted()
})
afterEach(() => setFaultHook(undefined))
afterAll(() => scene.dispose())

/** Odd, so that both ways of resolving get their turn. The long run tries each operation. */
const STEP = process.env['LOCI_LONG'] === '1' ? 1 : 13

const injected = (code: string): Error => Object.assign(new Error('injected'), { code })

test('where nothing works any more from some moment on, it is as after a crash: before, after, or pending', async () => {
  let pendings = 0
  let isTripped = true
  for (let nth = 1; isTripped; nth += STEP) {
    isTripped = false
    const history = await scene.work.open()
    let count = 0
    let isCut = false
    setFaultHook((operation) => {
      count += 1
      if (count < nth) return undefined
      isTripped = true
      if (operation !== 'write' || isCut) return injected('EIO')
      // The write that fails has written a part.
      isCut = true
      return { shortWriteBytes: 1 }
    })
    await failure(history.rewind('m1'))
    await failure(history.close())
    setFaultHook(undefined)
    if (await scene.check(nth % 2 === 0 ? 'finish' : 'undo')) pendings += 1
    await scene.reset()
  }
  expect(pendings).toBeGreaterThan(5)
}, 120_000)

test.each(['finish', 'undo'] as const)(
  'a resolve by %s that fails can be tried again',
  async (how) => {
    let isTripped = true
    for (let nth = 1; isTripped; nth += STEP) {
      // Interrupted after the second file.
      let history = await scene.work.open()
      let renames = 0
      setFaultHook((operation, path) => {
        if (operation === 'rename' && path.startsWith(scene.work.root)) renames += 1
        return renames > 1 ? injected('EIO') : undefined
      })
      await failure(history.rewind('m1'))
      await failure(history.close())
      setFaultHook(undefined)
      history = await scene.work.open()
      expect(history.pendingRewind).not.toBeNull()
      let count = 0
      isTripped = false
      setFaultHook(() => {
        count += 1
        if (count !== nth) return undefined
        isTripped = true
        return injected('EIO')
      })
      const result = await history.resolveRewind(how).catch(() => undefined)
      setFaultHook(undefined)
      if (history.pendingRewind) await history.resolveRewind(how)
      else if (how === 'finish' && (result?.skipped.length ?? 0) > 0) await history.rewind('m1')
      expect(history.pendingRewind).toBeNull()
      expect(await scene.work.files()).toEqual(how === 'finish' ? scene.rewound : scene.edited)
      await history.close()
      await scene.reset()
    }
  },
  120_000,
)
