import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openMemdir } from '@loci/memdir'
import { tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'

const SAVE_MANY = new URL('./save-many.mjs', import.meta.url).pathname
const run = promisify(execFile)

test.each(Array.from({ length: 20 }, (_, n) => [n + 1]))(
  'R15: two processes that save 50 memories each at once end with 100 files and 100 lines, run %i of 20',
  async () => {
    const work = await tree()
    await Promise.all(['ann', 'ben'].map((who) => run(process.execPath, [SAVE_MANY, work.root, who, '50'])))
    const memdir = await openMemdir({ dir: work.root })
    const files = (await memdir.list()).memories.map(({ file }) => file)
    expect(new Set(files).size).toBe(100)
    expect((await memdir.index()).entries.map(({ file }) => file).toSorted()).toEqual(files)
    expect((await memdir.index()).raw.trimEnd().split('\n')).toHaveLength(100)
    expect(await memdir.verify()).toEqual([])
    await work.remove()
  },
)
