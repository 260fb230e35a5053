import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { interrupted } from './interrupted-rewind.ts'
import type { Interrupted } from './interrupted-rewind.ts'

let scene: Interrupted
beforeAll(async () => {
  scene = await interrupted()
})
afterAll(() => scene.dispose())

const child = fileURLToPath(new URL('./rewind-until-killed.mjs', import.meta.url))

/** Runs the rewind in a child that is killed at its Nth file operation; resolves to how many it made, if it ended. */
function rewindUntil(nth: number): number | undefined {
  const { dir, root } = scene.work
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [child, dir, root, String(nth)], {
    encoding: 'utf8',
  })
  if (status === 0) return Number(stdout)
  if (signal !== 'SIGKILL') throw new Error(stderr)
  return undefined
}

test('killed in the middle of a rewind: the state before, or after, or pending and resolved either way', async () => {
  const operations = rewindUntil(Infinity) ?? 0
  await scene.reset()
  expect(operations).toBeGreaterThan(50)
  // Some moments of its second half, where files are written; the long run tries each moment.
  const isLong = process.env['LOCI_LONG'] === '1'
  const step = isLong ? 1 : Math.floor(operations / 9)
  let pendings = 0
  for (let nth = operations; nth > (isLong ? 0 : operations / 2); nth -= step) {
    // A file that is older than a second by now is read once less, so that it may end before.
    expect(rewindUntil(nth) ?? 0).toBeLessThan(nth)
    if (await scene.check(nth % 2 === 0 ? 'finish' : 'undo')) pendings += 1
    await scene.reset()
  }
  expect(pendings).toBeGreaterThan(2)
}, 300_000)
