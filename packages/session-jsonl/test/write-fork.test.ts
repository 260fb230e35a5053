import { files } from '@loci/disk'
import { tree } from '@loci/disk/testing'
import { expect, test, vi } from 'vitest'
import { writeForkLines } from '../src/write-fork.ts'

test('what is gathered while a piece is written does not reach that piece, however slow the disk', async () => {
  const work = await tree({ source: '' })
  const source = await files.open(work.path('source'), 'r')
  const target = await files.open(work.path('target'), 'wx')
  const write = target.writeAll.bind(target)
  const slow = vi.spyOn(target, 'writeAll').mockImplementation(async (bytes) => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
    await write(bytes)
  })
  const texts = Array.from({ length: 200 }, (_, index) => String(index).padEnd(20_000, '.'))
  await writeForkLines(
    target,
    source,
    texts.map((text) => ({ text })),
  )
  expect(slow.mock.calls.length).toBeGreaterThan(4)
  await Promise.all([source.close(), target.close()])
  const written = (await files.readFile(work.path('target'))).toString()
  expect(written === texts.map((text) => `${text}\n`).join('')).toBe(true)
  await work.remove()
})
