import { link, mkdir, readFile, readdir, stat, truncate, writeFile } from 'node:fs/promises'
import { readFileSync, readdirSync, truncateSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setFaultHook } from '@loci/disk/testing'
import type { FaultHook } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { countIn } from '../src/agent/tools/edit.ts'
import { cutLines } from '../src/agent/tools/read.ts'
import { FIRST, toolRoom } from './agent-tools-room.ts'

afterEach(() => setFaultHook(undefined))

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777
}

describe('what is written', () => {
  test('Write makes a file and its directories, and replaces a file whole', async () => {
    const { use, tree } = await toolRoom()
    const input = { file_path: 'src/new/a.txt', content: 'one\n' }
    expect(await use('Write', input)).toMatchObject({ text: 'Created src/new/a.txt.', isError: false })
    expect(await use('Write', { ...input, content: '' })).toMatchObject({ text: 'Replaced src/new/a.txt.' })
    expect(await tree.read('project/src/new/a.txt')).toBe('')
    expect(await use('Write', { file_path: tree.path('project/b.txt'), content: 'b' })).toMatchObject({
      text: 'Created b.txt.',
    })
  })

  test.for([0o755, 0o600, 0o444, 0o640])('Write and Edit keep the mode %o', async (mode) => {
    const { use, tree } = await toolRoom({ 'project/a.sh': { text: 'one', mode } })
    expect((await use('Write', { file_path: 'a.sh', content: 'two' })).isError).toBe(false)
    expect(await modeOf(tree.path('project/a.sh'))).toBe(mode)
    expect((await use('Edit', { file_path: 'a.sh', old_string: 'two', new_string: 'three' })).isError).toBe(
      false,
    )
    expect(await modeOf(tree.path('project/a.sh'))).toBe(mode)
    expect(await tree.read('project/a.sh')).toBe('three')
  })

  test.for([
    ['CRLF stays', 'a\r\nb\r\n', 'b', 'c', 'a\r\nc\r\n'],
    ['a byte order mark stays', '\uFEFFa\nb', 'a', 'c', '\uFEFFc\nb'],
    ['a missing last line feed stays missing', 'a\nb', 'b', 'c', 'a\nc'],
    ['mixed ends of lines stay', 'a\r\nb\nc\rd', 'c', 'x', 'a\r\nb\nx\rd'],
    ['$& and $1 are what they are', 'a(b)', '(b)', '$&$1$$`', 'a$&$1$$`'],
    ['a pattern is text', 'a.c abc', 'a.c', '[x]', '[x] abc'],
    ['a NUL in a text is a character', 'a\0b', '\0', '', 'ab'],
    ['all of it can go', 'abc', 'abc', '', ''],
    ['characters beyond the BMP are whole', '😀x', '😀', '😁', '😁x'],
  ] as const)('Edit: %s', async ([, before, old_string, new_string, after]) => {
    const { use, tree } = await toolRoom({ 'project/a.txt': before })
    const result = await use('Edit', { file_path: 'a.txt', old_string, new_string })
    expect(result).toMatchObject({ text: 'Changed a.txt in 1 place.', isError: false })
    expect(await readFile(tree.path('project/a.txt'))).toEqual(Buffer.from(after))
  })

  test('Edit with replace_all changes every place', async () => {
    const { use, tree } = await toolRoom({ 'project/a.txt': 'x1x2x' })
    const input = { file_path: 'a.txt', old_string: 'x', new_string: 'xx', replace_all: true }
    expect((await use('Edit', input)).text).toBe('Changed a.txt in 3 places.')
    expect(await tree.read('project/a.txt')).toBe('xx1xx2xx')
  })

  test('any edit of any bytes that are text changes that place and nothing else', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\n', '😀', '\uFEFF', '$', 'é') })
    const { use, tree } = await toolRoom()
    const path = tree.path('project/a.txt')
    const property = fc.asyncProperty(text, text, text, async (before, between, after) => {
      await writeFile(path, `${before}<${between}>${after}`)
      await use('Read', { file_path: 'a.txt' })
      const input = { file_path: 'a.txt', old_string: `<${between}>`, new_string: `>${between}<` }
      expect((await use('Edit', input)).isError).toBe(false)
      expect(await readFile(path)).toEqual(Buffer.from(`${before}>${between}<${after}`))
    })
    await fc.assert(property, { numRuns: 40 })
  })

  test('a hard link of a written file goes on holding the old bytes: the file is a new one', async () => {
    const { use, tree } = await toolRoom({ 'project/a.txt': 'old' })
    await link(tree.path('project/a.txt'), tree.path('outside/twin.txt'))
    await use('Edit', { file_path: 'a.txt', old_string: 'old', new_string: 'new' })
    expect(await tree.read('project/a.txt')).toBe('new')
    expect(await tree.read('outside/twin.txt')).toBe('old')
  })
})

describe('what is refused, in one line, with nothing changed', () => {
  const edit = { file_path: 'a.txt', old_string: 'a', new_string: 'b' }
  const half = '\uD83D'
  test.for([
    ['Edit', 'text that is not there', 'bcd', edit, 'does not hold that text'],
    ['Edit', 'text that is there twice', 'a a', edit, 'holds that text 2 times'],
    [
      'Edit',
      'text that is there twice, overlapping',
      'xaaax',
      { ...edit, old_string: 'aa' },
      'holds that text 2',
    ],
    ['Edit', 'the same text', 'a', { ...edit, new_string: 'a' }, 'are the same'],
    ['Edit', 'an empty file', '', edit, 'does not hold that text'],
    ['Edit', 'no old text', 'a', { ...edit, old_string: '' }, 'old_string: '],
    ['Edit', 'half a character', '😀', { ...edit, old_string: half }, 'old_string: holds half a character'],
    [
      'Edit',
      'half a new character',
      'a',
      { ...edit, new_string: half },
      'new_string: holds half a character',
    ],
    ['Edit', 'a field that there is not', 'a', { ...edit, all: true }, 'all'],
    ['Edit', 'bytes that are no UTF-8', Buffer.from([0x61, 0xe9, 0x62]), edit, 'a.txt is no UTF-8 text'],
    ['Read', 'bytes that are no UTF-8', Buffer.from([0x61, 0xff]), { file_path: 'a.txt' }, 'no UTF-8 text'],
    ['Write', 'half a character', 'a', { file_path: 'a.txt', content: `x${half}` }, 'content: holds half'],
    ['Write', 'no content', 'a', { file_path: 'a.txt' }, 'content: '],
    ['Write', 'a NUL in the path', 'a', { file_path: 'a\0.txt', content: '' }, 'file_path: holds a NUL'],
    ['Write', 'no path', 'a', { file_path: '', content: '' }, 'file_path: '],
    [
      'Write',
      'a directory by its slash',
      'a',
      { file_path: 'new/', content: '' },
      '"new/" names a directory',
    ],
    ['Write', 'a directory by its dots', 'a', { file_path: 'new/..', content: '' }, 'names a directory'],
    ['Write', 'the project', 'a', { file_path: '.', content: '' }, 'names a directory'],
    ['Write', 'a home that no shell puts in', 'a', { file_path: '~/x', content: '' }, 'begins with "~"'],
    [
      'Write',
      'a file as directory',
      'a',
      { file_path: 'a.txt/b', content: '' },
      'through something that is no',
    ],
    ['Write', 'a name too long', 'a', { file_path: 'x'.repeat(300), content: '' }, 'is too long a path'],
    ['Write', 'an empty last name', 'a', 'a.txt', 'input'],
    ['Read', 'a file that is not there', 'a', { file_path: 'b.txt' }, 'b.txt does not exist'],
    ['Edit', 'a file that is not there', 'a', { ...edit, file_path: 'b.txt' }, 'b.txt does not exist'],
  ] as const)('%s: %s', async ([name, , before, input, message]) => {
    const { use, tree } = await toolRoom({ 'project/a.txt': before })
    const seen = await tree.snapshot()
    const result = await use(name, input)
    expect(result.text).toContain(message)
    expect(result.text).not.toContain('\n')
    expect(result.isError).toBe(true)
    expect(await tree.snapshot()).toEqual(seen)
  })

  test('a directory, a FIFO, a socket and a device, by every tool, with file history and without', async () => {
    const history = await toolRoom()
    const none = await toolRoom({}, { history: null })
    for (const { use, tree } of [history, none]) {
      const root = tree.path('project')
      await mkdir(`${root}/dir`)
      execFileSync('mkfifo', [`${root}/fifo`])
      const server = createServer().listen(`${root}/socket`)
      await once(server, 'listening')
      for (const file_path of ['dir', 'fifo', 'socket', '/dev/zero', '/dev/null']) {
        for (const [name, input] of [
          ['Read', { file_path }],
          ['Write', { file_path, content: 'x' }],
          ['Edit', { file_path, old_string: 'a', new_string: 'b' }],
        ] as const) {
          const { text, isError } = await use(name, input)
          expect(text, `${name} ${file_path}`).toMatch(/is a directory|is no regular file/)
          expect(isError).toBe(true)
        }
      }
      expect((await readdir(root)).toSorted()).toEqual(['dir', 'fifo', 'socket'])
      server.close()
    }
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true)
  })

  test('a file over 10 MiB, before it is read, and one that an edit would make so', async () => {
    const { use, tree } = await toolRoom({ 'project/big': '', 'project/a.txt': 'a'.repeat(1000) })
    await truncate(tree.path('project/big'), (10 << 20) + 1)
    expect((await use('Read', { file_path: 'big' })).text).toMatch(/big has 10485761 bytes, and only/)
    const input = { file_path: 'big', old_string: 'a', new_string: 'b' }
    expect((await use('Edit', input)).text).toMatch(/big has 10485761 bytes, and only/)
    await truncate(tree.path('project/big'), 10 << 20)
    expect((await use('Read', { file_path: 'big' })).isError).toBe(false)
    const growing = {
      file_path: 'a.txt',
      old_string: 'a',
      new_string: 'b'.repeat(1 << 20),
      replace_all: true,
    }
    expect((await use('Edit', growing)).text).toBe(
      'a.txt would grow over 10485760 bytes. Nothing was changed.',
    )
    expect(await tree.read('project/a.txt')).toBe('a'.repeat(1000))
  })

  test('a file that says to be small and has no end is read to a bound', async () => {
    const { use, prepare, tree } = await toolRoom({ 'project/log': 'x' })
    const call = await prepare('Read', { file_path: 'log' })
    // It grows between the look at its size and the reading.
    setFaultHook((operation, path) => {
      if (operation === 'read' && path.endsWith('log')) {
        setFaultHook(undefined)
        truncateSync(path, 11 << 20)
      }
      return undefined
    })
    await expect(call.run()).rejects.toMatchObject({ code: 'FILE_TOO_LARGE' })
    expect((await use('Read', { file_path: 'log' })).text).toMatch(/^Read failed: log has \d+ bytes/)
    expect((await stat(tree.path('project/log'))).size).toBe(11 << 20)
  })
})

describe('what is read', () => {
  const three = 'one\ntwo\nthree\n'
  test.for([
    ['whole', three, {}, three],
    ['whole, without a last line feed', 'one\ntwo', {}, 'one\ntwo'],
    ['CRLF as it is', 'one\r\ntwo\r\n', {}, 'one\r\ntwo\r\n'],
    ['from a line on', three, { offset: 2 }, 'two\nthree\n[cut: lines 2 to 3 of 3]'],
    ['some lines', three, { limit: 1 }, 'one\n[cut: lines 1 to 1 of 3; offset 2 goes on]'],
    [
      'some lines of the middle',
      three,
      { offset: 2, limit: 1 },
      'two\n[cut: lines 2 to 2 of 3; offset 3 goes on]',
    ],
    ['as many lines as there are', three, { limit: 3 }, three],
    ['beyond the end', three, { offset: 9 }, '[cut: the file has 3 lines, none from 9 on]'],
    ['nothing', '', {}, '(the file is empty)'],
    ['nothing, from a line on', '', { offset: 2 }, '(the file is empty)'],
    ['one line feed', '\n', {}, '\n'],
    ['without the byte order mark', '\uFEFFa', {}, 'a'],
  ] as const)('%s', async ([, content, range, expected]) => {
    const { use } = await toolRoom({ 'project/a.txt': content })
    expect(await use('Read', { file_path: 'a.txt', ...range })).toEqual({ text: expected, isError: false })
  })

  test('of a long file 2000 lines, and where it goes on', async () => {
    const lines = Array.from({ length: 2001 }, (_, index) => `line ${index + 1}`)
    const { use } = await toolRoom({ 'project/a.txt': lines.join('\n') })
    const { text } = await use('Read', { file_path: 'a.txt' })
    expect(text.endsWith('line 2000\n[cut: lines 1 to 2000 of 2001; offset 2001 goes on]')).toBe(true)
    expect((await use('Read', { file_path: 'a.txt', offset: 2001 })).text).toBe(
      'line 2001\n[cut: lines 2001 to 2001 of 2001]',
    )
  })

  test('in pieces of any size every line is shown once', () => {
    const property = fc.property(
      fc.array(fc.constantFrom('a', '', 'b\r'), { minLength: 1 }),
      fc.integer({ min: 1, max: 5 }),
      (lines, limit) => {
        const whole = `${lines.join('\n')}\n`
        const shown: string[] = []
        for (let offset = 1; offset <= lines.length; offset += limit) {
          const part = cutLines(whole, offset, limit).split('\n')
          shown.push(...part.slice(0, -1))
        }
        expect(shown).toEqual(lines)
      },
    )
    fc.assert(property)
  })

  test('a file of /proc, which says to have no bytes', async () => {
    const { use } = await toolRoom()
    expect((await use('Read', { file_path: '/proc/version' })).text).toMatch(/^Linux/)
  })

  test('a name with a line feed does not look like two lines', async () => {
    const { use, prepare } = await toolRoom({ 'project/a\nb': 'x' })
    expect((await prepare('Read', { file_path: 'a\nb' })).summary).toBe('"a\\nb"')
    expect((await use('Read', { file_path: 'a\nb' })).text).toBe('x')
  })

  test('what overlaps is counted', () => {
    expect([countIn('aaa', 'aa'), countIn('abab', 'ab'), countIn('b', 'a')]).toEqual([2, 2, 0])
  })
})

describe('file history', () => {
  test('the old bytes are in the backup before the new ones are on the disk', async () => {
    const { use, root, home } = await toolRoom({ 'project/a.txt': 'old bytes' })
    const seen: string[][] = []
    setFaultHook((operation, path) => {
      if (operation === 'rename' && path === `${root}/a.txt`) {
        const dir = `${home}/file-history/session`
        seen.push(readdirSync(dir).map((name) => readFileSync(`${dir}/${name}`, 'utf8')))
      }
      return undefined
    })
    expect((await use('Edit', { file_path: 'a.txt', old_string: 'old', new_string: 'new' })).isError).toBe(
      false,
    )
    expect(seen).toHaveLength(1)
    expect(seen[0]).toContain('old bytes')
  })

  test.for([
    ['Write', { file_path: 'a.txt', content: 'new' }],
    ['Write', { file_path: 'dir/b.txt', content: 'new' }],
    ['Edit', { file_path: 'a.txt', old_string: 'old', new_string: 'new' }],
  ] as const)('%s writes nothing when the backup fails', async ([name, input]) => {
    const { use, home, tree } = await toolRoom({ 'project/a.txt': 'old' })
    setFaultHook((operation, path) =>
      path.startsWith(`${home}/file-history`) && operation !== 'lstat'
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined,
    )
    const { text, isError } = await use(name, input)
    setFaultHook(undefined)
    expect(text).toMatch(new RegExp(`^${name} failed: Cannot .*free some space`))
    expect(isError).toBe(true)
    expect(await readdir(tree.path('project'))).toEqual(['a.txt'])
    expect(await tree.read('project/a.txt')).toBe('old')
  })

  test('a write that could not be recorded says that it was done', async () => {
    const { use, root, tree } = await toolRoom({ 'project/a.txt': 'old' })
    let isWritten = false
    const hook: FaultHook = (operation, path) => {
      if (operation === 'rename' && path === `${root}/a.txt`) isWritten = true
      return isWritten && path.includes('file-history')
        ? Object.assign(new Error('broken'), { code: 'EIO' })
        : undefined
    }
    setFaultHook(hook)
    const { text, isError } = await use('Write', { file_path: 'a.txt', content: 'new' })
    setFaultHook(undefined)
    expect(text).toMatch(/^Write failed: a.txt was written, but that could not be recorded/)
    expect(isError).toBe(true)
    expect(await tree.read('project/a.txt')).toBe('new')
  })

  test('a rewind brings back bytes, mode and absence; what was changed by hand since is a conflict', async () => {
    const { use, history, tree } = await toolRoom({
      'project/a.txt': { text: 'a', mode: 0o600 },
      'project/b.txt': 'b',
    })
    await use('Write', { file_path: 'a.txt', content: 'A' })
    await use('Edit', { file_path: 'b.txt', old_string: 'b', new_string: 'B' })
    await use('Write', { file_path: 'new/c.txt', content: 'C' })
    expect((await history.planRewind(FIRST)).conflicts).toEqual([])
    await writeFile(tree.path('project/b.txt'), 'by hand')
    const plan = await history.planRewind(FIRST)
    expect(plan.conflicts.map(({ path }) => path)).toEqual([tree.path('project/b.txt')])
    expect(await history.rewind(FIRST, { onConflict: 'skip' })).toMatchObject({
      restored: [tree.path('project/a.txt')],
      deleted: [tree.path('project/new/c.txt')],
    })
    expect(await tree.read('project/a.txt')).toBe('a')
    expect(await modeOf(tree.path('project/a.txt'))).toBe(0o600)
    expect(await tree.read('project/b.txt')).toBe('by hand')
  })

  test('without a history files are written all the same', async () => {
    const { use, tree } = await toolRoom({ 'project/a.txt': 'a' }, { history: null })
    await use('Edit', { file_path: 'a.txt', old_string: 'a', new_string: 'b' })
    expect(await tree.read('project/a.txt')).toBe('b')
  })

  test('the files of the history itself are not written', async () => {
    const { use, home } = await toolRoom({}, { rules: { configDir: '/nowhere' } })
    const input = { file_path: `${home}/file-history/session/x`, content: '' }
    expect((await use('Write', input)).text).toMatch(/^Write failed: .*belongs to the file history/)
  })
})
