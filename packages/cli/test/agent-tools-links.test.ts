import { execFileSync } from 'node:child_process'
import { appendFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { lstat, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { FIRST, toolRoom } from './agent-tools-room.ts'
import type { ToolRoom } from './agent-tools-room.ts'

afterEach(() => setFaultHook(undefined))

const CALLS = [
  ['Read', {}],
  ['Write', { content: 'new' }],
  ['Edit', { old_string: 'old', new_string: 'new' }],
] as const

describe('a link', () => {
  test('inside the project: its target is tracked and changed, it stays a link, a rewind restores the target', async () => {
    const { use, history, tree } = await toolRoom({
      'project/real/a.txt': { text: 'old', mode: 0o600 },
      'project/link.txt': { link: 'real/a.txt' },
      'project/links': { link: 'real' },
    })
    const before = await tree.snapshot()
    const edit = { old_string: 'old', new_string: 'new' }
    expect((await use('Edit', { file_path: 'link.txt', ...edit })).text).toBe(
      'Changed real/a.txt in 1 place.',
    )
    expect(await tree.read('project/real/a.txt')).toBe('new')
    expect((await lstat(tree.path('project/link.txt'))).isSymbolicLink()).toBe(true)
    expect((await use('Write', { file_path: 'links/b.txt', content: 'b' })).text).toBe('Created real/b.txt.')
    expect(history.snapshots().at(-1)?.trackedFileBackups).toHaveProperty(['real/a.txt'])
    const { restored, deleted } = await history.rewind(FIRST)
    expect([restored, deleted]).toEqual([
      [tree.path('project/real/a.txt')],
      [tree.path('project/real/b.txt')],
    ])
    const after = await tree.snapshot()
    for (const name of ['project/real/a.txt', 'project/link.txt', 'project/links'])
      expect(after[name]).toEqual(before[name])
  })

  test.for(CALLS)('to outside: %s needs permission for the target', async ([name, input]) => {
    const { prepare, tree } = await toolRoom({
      'outside/a.txt': 'old',
      'project/link.txt': { link: '../outside/a.txt' },
      'project/links': { link: '../outside' },
    })
    for (const file_path of ['link.txt', 'links/a.txt', '../outside/a.txt', tree.path('outside/a.txt')]) {
      const { access, summary } = await prepare(name, { file_path, ...input })
      expect(access).toMatchObject({
        kind: name === 'Read' ? 'read' : 'edit',
        path: tree.path('outside/a.txt'),
      })
      expect(summary).toContain(tree.path('outside/a.txt'))
    }
  })

  test.for(CALLS)(
    'to outside, in a mode that asks: %s is refused and does nothing',
    async ([name, input]) => {
      const { use, tree } = await toolRoom(
        { 'outside/a.txt': 'old', 'project/link.txt': { link: '../outside/a.txt' } },
        { rules: { mode: 'acceptEdits' } },
      )
      expect(await use(name, { file_path: 'link.txt', ...input })).toMatchObject({
        text: `${name} was not allowed: nobody is there to ask. Start loci with --permission-mode bypassPermissions (everything) to allow it.`,
        isError: true,
      })
      expect(await tree.read('outside/a.txt')).toBe('old')
    },
  )

  test.for(CALLS)('that leads nowhere, or in a circle: %s says so in a line', async ([name, input]) => {
    const { use, tree } = await toolRoom({
      'project/dangling': { link: 'nothing' },
      'project/circle': { link: 'circle' },
      'project/one': { link: 'two' },
      'project/two': { link: 'one' },
      'project/file': 'x',
      'project/through': { link: 'file' },
    })
    const before = await tree.snapshot()
    for (const [file_path, message] of [
      ['dangling', 'is a link that leads nowhere'],
      ['dangling/a.txt', 'is a link that leads nowhere'],
      ['circle', 'leads in a circle of links'],
      ['one/a.txt', 'leads in a circle of links'],
      ['through/a.txt', 'leads through something that is no directory'],
    ] as const) {
      const { text, isError } = await use(name, { file_path, ...input })
      expect(text).toMatch(new RegExp(`^${name} failed: "[^"]*" ${message}[^\n]*$`))
      expect(isError).toBe(true)
    }
    expect(await tree.snapshot()).toEqual(before)
  })

  test('".." is taken from the text, so that what is asked about is what is written', async () => {
    const { use, prepare, tree } = await toolRoom({
      'outside/deep/': '',
      'project/links': { link: '../outside/deep' },
    })
    const input = { file_path: 'links/../a.txt', content: 'new' }
    expect((await prepare('Write', input)).access).toMatchObject({
      kind: 'edit',
      path: tree.path('project/a.txt'),
    })
    await use('Write', input)
    expect(Object.keys(await tree.snapshot()).filter((name) => name.endsWith('a.txt'))).toEqual([
      'project/a.txt',
    ])
  })
})

/** What somebody does between permission and deed. */
const SWAPS: readonly [string, (room: ToolRoom) => Promise<void>][] = [
  [
    'the file becomes a link to outside',
    async ({ tree }) => {
      await rm(tree.path('project/dir/a.txt'))
      await symlink(tree.path('outside/a.txt'), tree.path('project/dir/a.txt'))
    },
  ],
  [
    'its directory becomes a link to outside',
    async ({ tree }) => {
      await rename(tree.path('project/dir'), tree.path('project/away'))
      await symlink(tree.path('outside'), tree.path('project/dir'))
    },
  ],
  [
    'it becomes a link to another file of the project',
    async ({ tree }) => {
      await writeFile(tree.path('project/other'), 'old')
      await rm(tree.path('project/dir/a.txt'))
      await symlink('../other', tree.path('project/dir/a.txt'))
    },
  ],
]

describe('between permission and deed', () => {
  for (const [what, swap] of SWAPS) {
    test.for(CALLS)(`${what}: %s is refused`, async ([name, input]) => {
      const room = await toolRoom({ 'outside/a.txt': 'old', 'project/dir/a.txt': 'old' })
      const call = await room.prepare(name, { file_path: 'dir/a.txt', ...input })
      await swap(room)
      const before = await room.tree.snapshot()
      const refused = expect(call.run()).rejects.toThrow(/leads to .* now|symbolic link/)
      await refused
      expect(leftIn(await room.tree.snapshot())).toEqual(leftIn(before))
    })

    test(`${what}, while the old bytes are backed up: nothing is written`, async () => {
      const room = await toolRoom({ 'outside/a.txt': 'old', 'project/dir/a.txt': 'old' })
      const call = await room.prepare('Write', { file_path: 'dir/a.txt', content: 'new' })
      const track = room.history.trackEdit.bind(room.history)
      room.history.trackEdit = async (path, messageId) => {
        const backup = await track(path, messageId)
        await swap(room)
        return backup
      }
      await expect(call.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
      expect(await room.tree.read('outside/a.txt')).toBe('old')
    })
  }

  test('a file that is swapped while it is opened is not the one that is read', async () => {
    const room = await toolRoom({ 'outside/a.txt': 'secret', 'project/dir/a.txt': 'old' })
    const call = await room.prepare('Read', { file_path: 'dir/a.txt' })
    const dir = room.tree.path('project/dir')
    setFaultHook((operation) => {
      if (operation === 'open') {
        renameSync(dir, room.tree.path('project/away'))
        symlinkSync(room.tree.path('outside'), dir)
      } else if (operation === 'realpath' || operation === 'fstat') {
        // And back again: every path looks as it did.
        setFaultHook(undefined)
        rmSync(dir)
        renameSync(room.tree.path('project/away'), dir)
      }
      return undefined
    })
    await expect(call.run()).rejects.toThrow('dir/a.txt was replaced while it was read. Nothing was done')
  })

  test('a new file is not written where a directory became a link, and what somebody else made stays', async () => {
    const room = await toolRoom({ 'project/dir/': '' })
    const call = await room.prepare('Write', { file_path: 'dir/a.txt', content: 'new' })
    const second = await room.prepare('Write', { file_path: 'b.txt', content: 'new' })
    await rename(room.tree.path('project/dir'), room.tree.path('project/away'))
    await symlink(room.tree.path('outside'), room.tree.path('project/dir'))
    await writeFile(room.tree.path('project/b.txt'), 'by hand')
    await expect(call.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
    await expect(second.run()).rejects.toThrow(
      'b.txt was changed in the meantime; read it again. Nothing was done',
    )
    expect(leftIn(await room.tree.snapshot())).toMatchObject({ 'project/b.txt': { text: 'by hand' } })
    expect(Object.keys(await room.tree.snapshot())).not.toContain('outside/a.txt')
  })

  test('a file that a person changed before they said yes is not written over', async () => {
    const room = await toolRoom({ 'project/a.txt': 'old' })
    const call = await room.prepare('Write', { file_path: 'a.txt', content: 'new' })
    await writeFile(room.tree.path('project/a.txt'), 'by hand')
    await expect(call.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
    expect(await room.tree.read('project/a.txt')).toBe('by hand')
  })

  test('a file that a person saves while it is edited is not written over', async () => {
    const room = await toolRoom({ 'project/a.txt': 'old' })
    const track = room.history.trackEdit.bind(room.history)
    room.history.trackEdit = async (path, messageId) => {
      const backup = await track(path, messageId)
      await writeFile(path, 'old, by hand')
      return backup
    }
    const input = { file_path: 'a.txt', old_string: 'old', new_string: 'new' }
    expect((await room.use('Edit', input)).text).toMatch(/^Edit failed: a.txt was changed in the meantime/)
    expect(await readFile(room.tree.path('project/a.txt'), 'utf8')).toBe('old, by hand')
  })

  test('a file that somebody makes at the very moment in which it is written stays', async () => {
    const room = await toolRoom()
    const track = room.history.trackEdit.bind(room.history)
    room.history.trackEdit = async (path, messageId) => {
      const backup = await track(path, messageId)
      setFaultHook((operation, opened) => {
        if (operation === 'open' && opened.startsWith(room.tree.path('project/')))
          writeFileSync(path, 'by hand')
        return undefined
      })
      return backup
    }
    const { text } = await room.use('Write', { file_path: 'a.txt', content: 'new' })
    expect(text).toBe('Write failed: a.txt was made in the meantime; read it first. Nothing was done')
    expect(await room.tree.read('project/a.txt')).toBe('by hand')
  })

  test.for(CALLS)('a FIFO in the place of a file keeps nobody waiting: %s', async ([name, input]) => {
    const room = await toolRoom({ 'project/a.txt': 'old' })
    const path = room.tree.path('project/a.txt')
    const call = await room.prepare(name, { file_path: 'a.txt', ...input })
    await rm(path)
    execFileSync('mkfifo', [path])
    await expect(call.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
    expect((await lstat(path)).isFIFO()).toBe(true)
  })

  test('a log that grows while it is read is read', async () => {
    const room = await toolRoom({ 'project/log': 'one\n' })
    const call = await room.prepare('Read', { file_path: 'log' })
    setFaultHook((operation) => {
      if (operation !== 'fstat') return undefined
      setFaultHook((next) => {
        if (next === 'realpath') appendFileSync(room.tree.path('project/log'), 'two\n')
        return undefined
      })
      return undefined
    })
    expect((await call.run()).text).toBe('one\ntwo\n')
  })

  test('a directory in the place of a file is left alone', async () => {
    const room = await toolRoom({ 'project/a.txt': 'old' })
    const call = await room.prepare('Write', { file_path: 'a.txt', content: 'new' })
    await rm(room.tree.path('project/a.txt'))
    await mkdir(room.tree.path('project/a.txt'))
    await expect(call.run()).rejects.toMatchObject({ code: 'PATH_CHANGED' })
  })
})

/** Without what the history keeps for itself. */
function leftIn(snapshot: Awaited<ReturnType<ToolRoom['tree']['snapshot']>>): typeof snapshot {
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => !name.startsWith('home/')))
}
