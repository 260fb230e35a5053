import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import type { MemoryToolHandlers } from '@anthropic-ai/sdk/helpers/beta/memory'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { tree } from '@loci/disk/testing'
import { openMemdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import { expect, test } from 'vitest'

type Run = (command: object) => Promise<string>

/** Runs a command as the SDK's tool runner does: an error's message is the text of the result. */
function runner(handlers: MemoryToolHandlers): Run {
  const tool = betaMemoryTool(handlers)
  return async (command) => {
    try {
      return JSON.stringify(await tool.run(tool.parse(command)))
    } catch (error) {
      return `Error: ${error instanceof Error ? error.message : String(error)}`
    }
  }
}

const LONG = Array.from({ length: 12 }, (_, n) => `line ${n + 1}`).join('\n')
const COMMANDS = [
  { command: 'view', path: '/memories/a.md' },
  { command: 'create', path: '/memories/a.md', file_text: `${LONG}\n` },
  { command: 'create', path: '/memories/a.md', file_text: 'again' },
  { command: 'create', path: '/memories/d/e/b.md', file_text: 'a b\r\n\nc' },
  { command: 'create', path: '/memories/d', file_text: 'x' },
  { command: 'create', path: '/memories/d/t.md', file_text: '\tTabs “and” ünï\n\n' },
  { command: 'view', path: '/memories/d' },
  { command: 'view', path: '/memories/a.md' },
  { command: 'view', path: '/memories/d/t.md' },
  { command: 'view', path: '/memories/a.md', view_range: [3, 5] },
  { command: 'view', path: '/memories/a.md', view_range: [11, -1] },
  { command: 'view', path: '/memories/a.md', view_range: [-4, 2] },
  { command: 'view', path: '/memories/a.md', view_range: [5, 2] },
  { command: 'view', path: '/memories/a.md', view_range: [50, 60] },
  { command: 'view', path: '/memories/none.md' },
  { command: 'view', path: '/elsewhere' },
  { command: 'view', path: '/memories/../x.md' },
  { command: 'str_replace', path: '/memories/a.md', old_str: 'line 7', new_str: 'line $& seven\nmore' },
  { command: 'str_replace', path: '/memories/a.md', old_str: 'line 12', new_str: '' },
  { command: 'str_replace', path: '/memories/a.md', old_str: 'nowhere', new_str: 'x' },
  { command: 'str_replace', path: '/memories/a.md', old_str: 'line', new_str: 'x' },
  { command: 'str_replace', path: '/memories/none.md', old_str: 'a', new_str: 'x' },
  { command: 'str_replace', path: '/memories/d', old_str: 'a', new_str: 'x' },
  { command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: 'top\n' },
  { command: 'insert', path: '/memories/a.md', insert_line: 3, insert_text: 'three\n\n' },
  { command: 'insert', path: '/memories/a.md', insert_line: 999, insert_text: 'x' },
  { command: 'insert', path: '/memories/a.md', insert_line: -1, insert_text: 'x' },
  { command: 'insert', path: '/memories/none.md', insert_line: 0, insert_text: 'x' },
  { command: 'insert', path: '/memories/d', insert_line: 0, insert_text: 'x' },
  { command: 'view', path: '/memories/a.md' },
  { command: 'rename', old_path: '/memories/none.md', new_path: '/memories/x.md' },
  { command: 'rename', old_path: '/memories/a.md', new_path: '/memories/d/t.md' },
  { command: 'rename', old_path: '/memories/a.md', new_path: '/memories/new/a.md' },
  { command: 'rename', old_path: '/memories/d', new_path: '/memories/new/d' },
  { command: 'rename', old_path: '/memories', new_path: '/memories/x' },
  { command: 'view', path: '/memories/new' },
  { command: 'view', path: '/memories/new/a.md' },
  { command: 'view', path: '/memories/d' },
  { command: 'delete', path: '/memories/new/a.md' },
  { command: 'delete', path: '/memories/new/a.md' },
  { command: 'delete', path: '/memories/new' },
  { command: 'delete', path: '/memories' },
  { command: 'view', path: '/memories/new' },
]
// Commands for which its documentation and its implementation differ, or that memory cannot hold, are not among them.
test('every command answers as the implementation that comes with the SDK', async () => {
  const work = await tree()
  try {
    const theirs = runner(await BetaLocalFilesystemMemoryTool.init(work.path('theirs')))
    const memdir = await openMemdir({ dir: work.path('ours') })
    const ours = runner(memoryToolHandlers(memdir))
    for (const command of COMMANDS) {
      expect(await ours(command), JSON.stringify(command)).toBe(await theirs(command))
      const kinds = (await memdir.verify()).map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind !== 'no-front-matter')).toEqual([])
    }
    expect((await memdir.list()).memories).toEqual([])
    expect(Object.keys(await work.snapshot()).filter((name) => name.startsWith('theirs/'))).toEqual([])
  } finally {
    await work.remove()
  }
})
