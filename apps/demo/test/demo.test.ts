import { spawnSync } from 'node:child_process'
import { tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'

test('the demo plays to its end and leaves nothing behind', async () => {
  const work = await tree()
  const demo = new URL('../dist/demo.js', import.meta.url).pathname
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo], {
    cwd: work.root,
    env: { PATH: process.env['PATH'], HOME: work.root, TMPDIR: work.root },
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('all as promised')
  expect(await work.snapshot()).toEqual({})
  await work.remove()
})
