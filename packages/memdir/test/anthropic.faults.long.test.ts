import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import { faultLoop, tree } from '@loci/disk/testing'
import { expect, test } from 'vitest'
import { draft, loop } from './change-faults.ts'

const topic = (name: string): string =>
  `---\nname: ${name}\ndescription: about ${name}\ntype: user\n---\n\n${name}.\n`

test('R8: whichever file operation fails, an edit is made with its line and its trash, or not at all', async () => {
  const { undone } = await loop({
    given: async (memdir) => {
      await memdir.save(draft('other'))
      await memoryToolHandlers(memdir).create({ path: '/memories/a.md', file_text: topic('one') })
    },
    change: (memdir) =>
      memoryToolHandlers(memdir).str_replace({
        path: '/memories/a.md',
        old_str: 'description: about one\ntype: user\n---\n\none.',
        new_str: 'description: new\ntype: user\n---\n\nnew.',
      }),
  })
  expect(undone).toBeGreaterThan(30)
})

test('R8: whichever file operation fails, a rename is made or not, now or with the next change', async () => {
  const text = topic('one')
  const seen = { before: 0, after: 0 }
  let place = await tree()
  await faultLoop({
    faults: ['EIO'],
    run: async () => {
      await place.remove()
      place = await tree({
        'MEMORY.md': '- [two](b.md) — about two\n- [one](a.md) — about one\n',
        'a.md': text,
        'b.md': topic('two'),
      })
      const tool = memoryToolHandlers(await openMemdir({ dir: place.root, waitMs: 0 }))
      await tool.rename({ old_path: '/memories/a.md', new_path: '/memories/d/c.md' })
    },
    verify: async (error) => {
      const memdir = await openMemdir({ dir: place.root, waitMs: 0 })
      const files = async (): Promise<string[]> => (await memdir.list()).memories.map(({ file }) => file)
      const isLeft = JSON.stringify(error ?? {}).includes('leftBehind')
      if (error === undefined) expect(await files()).toEqual(['b.md', 'd/c.md'])
      else if (!isLeft) expect(await files()).toEqual(['a.md', 'b.md'])
      if (!isLeft) {
        seen[error === undefined ? 'after' : 'before'] += 1
        expect(await memdir.verify()).toEqual([])
      }
      // What was left half done, that is said, is finished or taken back by the next change.
      await memdir.repair()
      expect(await memdir.verify()).toEqual([])
      expect([
        ['a.md', 'b.md'],
        ['b.md', 'd/c.md'],
      ]).toContainEqual(await files())
    },
  })
  await place.remove()
  expect(seen.before).toBeGreaterThan(30)
  expect(seen.after).toBeGreaterThan(0)
})
