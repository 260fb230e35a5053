import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { times } from './thorough.ts'

const USE_TOOL = new URL('./use-memory-tool.mjs', import.meta.url).pathname

let work: Tree
beforeEach(async () => {
  work = await tree({
    'memory/MEMORY.md': '- [shared](shared.md) — shared\n',
    'memory/shared.md': 'shared\n',
  })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

test('R15: what several processes do by the tool is all there, one index line each', async () => {
  const count = times(4, 20)
  const run = promisify(execFile)
  const children = ['ann', 'ben'].map((who) =>
    run(process.execPath, [USE_TOOL, work.path('memory'), who, `${count}`]),
  )
  await Promise.all(children)
  const memdir = await openMemdir({ dir: work.path('memory') })
  const names = ['ann', 'ben'].flatMap((who) => Array.from({ length: count }, (_, n) => `${who}-${n}`))
  const lines = (await work.read('memory/shared.md')).trim().split('\n')
  expect(lines.toSorted()).toEqual([...names.map((name) => `${name} stayed`), 'shared'].toSorted())
  const files = [...names.map((name) => `done/${name}.md`), 'shared.md'].toSorted()
  expect((await memdir.list()).memories.map(({ file }) => file)).toEqual(files)
  expect((await memdir.index()).entries.map(({ file }) => file).toSorted()).toEqual(files)
})

test('an edit is made of what the file holds once the lease is had, and of what somebody writes even then', async () => {
  const tool = memoryToolHandlers(await openMemdir({ dir: work.path('memory') }))
  const moments = new Map([
    // The look is done, the lease is not had yet.
    ['link .MEMORY.md.lock', 'shared\nbefore the lease\n'],
    // The plan is made: the trash has the old text.
    ['open .trash', 'shared\nbefore the lease\nafter the plan\n'],
  ])
  setFaultHook((operation, path) => {
    for (const [moment, text] of moments) {
      const [what = '', where = ''] = moment.split(' ')
      if (operation !== what || !path.includes(where)) continue
      moments.delete(moment)
      writeFileSync(work.path('memory/shared.md'), text)
    }
    return undefined
  })
  await tool.str_replace({ path: '/memories/shared.md', old_str: 'shared', new_str: 'ours' })
  expect([...moments.keys()]).toEqual([])
  expect(await work.read('memory/shared.md')).toBe('ours\nbefore the lease\nafter the plan\n')
})

test('what was created or deleted meanwhile is told, and stays', async () => {
  const tool = memoryToolHandlers(await openMemdir({ dir: work.path('memory') }))
  let file = 'new.md'
  setFaultHook((operation, path) => {
    if (operation === 'link' && path.includes('.MEMORY.md.lock') && file !== '') {
      writeFileSync(work.path(`memory/${file}`), 'by hand')
      file = ''
    }
    return undefined
  })
  await expect(tool.create({ path: '/memories/new.md', file_text: 'ours' })).rejects.toThrow(
    'File /memories/new.md already exists',
  )
  file = 'to.md'
  await expect(tool.rename({ old_path: '/memories/shared.md', new_path: '/memories/to.md' })).rejects.toThrow(
    'The destination /memories/to.md already exists',
  )
  expect(await work.read('memory/new.md')).toBe('by hand')
  expect(await work.read('memory/to.md')).toBe('by hand')
})
