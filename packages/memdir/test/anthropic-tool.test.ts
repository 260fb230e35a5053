import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { openMemdir } from '@loci/memdir'
import type { Memdir } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import type { MemoryToolHandlers } from '@loci/memdir/anthropic'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
let tool: MemoryToolHandlers
let ids = 0
const clock = (): Date => new Date('2031-03-06T10:00:00Z')
beforeEach(async () => {
  ids = 0
  work = await tree({ 'memory/MEMORY.md': '', 'outside.md': 'SECRET' })
  memdir = await openMemdir({ dir: work.path('memory'), clock, createId: () => `id-${++ids}` })
  tool = memoryToolHandlers(memdir)
})
afterEach(() => work.remove())

async function write(name: string, bytes: string | Uint8Array): Promise<void> {
  await mkdir(dirname(work.path(name)), { recursive: true })
  await writeFile(work.path(name), bytes)
}
const create = (path: string, text: string): Promise<string> => tool.create({ path, file_text: text })
const view = (path: string): Promise<string> => tool.view({ path })
const index = (): Promise<string> => work.read('memory/MEMORY.md')
const failed = (message: string, code?: string): object => ({ message, ...(code && { code }) })
const TOPIC = '---\nname: Deploy\ndescription: how we ship\ntype: project\n---\n\nmake ship\n'

describe('view', () => {
  test('of the folder lists sizes and paths two levels deep, without what is hidden', async () => {
    for (const [name, text] of Object.entries({
      'a.md': 'x'.repeat(1536),
      'b/c.md': 'x'.repeat(1024),
      'b/d/e.md': 'x',
      '.hidden.md': 'x',
      'b/.dot/x.md': 'x',
      'node_modules/m.md': 'x',
      'empty.md': '',
      'big.txt': 'x'.repeat(1_258_291),
    }))
      await write(`memory/${name}`, text)
    const lines = (await view('/memories')).split('\n')
    expect(lines[0]).toBe(
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
    )
    expect(lines[1]).toMatch(/^\d[\d.]*[BK]\t\/memories$/)
    expect(lines.slice(2).map((line) => line.replace(/^.*(?=\t.*\/$)/, 'SIZE'))).toEqual([
      '0B\t/memories/MEMORY.md',
      '1.5K\t/memories/a.md',
      'SIZE\t/memories/b/',
      '1K\t/memories/b/c.md',
      'SIZE\t/memories/b/d/',
      '1.2M\t/memories/big.txt',
      '0B\t/memories/empty.md',
    ])
    expect((await view('/memories/b/')).split('\n').slice(2)).toEqual([
      '1K\t/memories/b/c.md',
      expect.stringMatching(/\t\/memories\/b\/d\/$/),
      '1B\t/memories/b/d/e.md',
    ])
  })

  test('of a folder that is not there yet is an empty list, and makes nothing', async () => {
    const none = memoryToolHandlers(await openMemdir({ dir: work.path('none') }))
    expect(await none.view({ path: '/memories' })).toBe(
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories",
    )
    const missing = 'The path /memories/a.md does not exist'
    await expect(none.view({ path: '/memories/a.md' })).rejects.toThrow(missing)
    await expect(none.delete({ path: '/memories/a.md' })).rejects.toThrow(missing)
    await expect(none.insert({ path: '/memories/a.md', insert_line: 0, insert_text: 'x' })).rejects.toThrow(
      missing,
    )
    expect(Object.keys(await work.snapshot())).not.toContain('none')
  })

  test('of a file numbers its lines, six wide', async () => {
    await write('memory/a.md', `${Array.from({ length: 100 }, (_, n) => `line ${n + 1}`).join('\n')}\n`)
    const lines = (await view('/memories/a.md')).split('\n')
    expect(lines.slice(0, 2)).toEqual([
      "Here's the content of /memories/a.md with line numbers:",
      '     1\tline 1',
    ])
    expect(lines.slice(-2)).toEqual(['   100\tline 100', '   101\t'])
  })

  test.each([
    [
      [2, 3],
      ['     2\tb', '     3\tc'],
    ],
    [
      [3, -1],
      ['     3\tc', '     4\td'],
    ],
    [[0, 1], ['     1\ta']],
    [[4, 9], ['     4\td']],
    [[3, 2], ['']],
    [[9, 12], ['']],
  ])('of the lines %j', async (range, lines) => {
    await write('memory/a.md', 'a\nb\nc\nd')
    const text = await tool.view({ path: '/memories/a.md', view_range: range })
    expect(text).toBe(["Here's the content of /memories/a.md with line numbers:", ...lines].join('\n'))
  })

  test('of 999,999 lines is the most', async () => {
    await write('memory/a.md', '\n'.repeat(999_998))
    expect((await view('/memories/a.md')).endsWith('\n999999\t')).toBe(true)
    await write('memory/a.md', '\n'.repeat(999_999))
    await expect(view('/memories/a.md')).rejects.toMatchObject(
      failed('File /memories/a.md has too many lines (1000000). Maximum is 999,999 lines.'),
    )
  })

  test('shows the index and files that are no topics', async () => {
    await create('/memories/a.md', 'A fact.\n')
    await write('memory/notes.txt', 'by hand')
    expect(await view('/memories/MEMORY.md')).toContain('     1\t- [a](a.md) — A fact.\n')
    expect(await view('/memories/notes.txt')).toContain('     1\tby hand')
  })
})

describe('create', () => {
  test('keeps the bytes as written and adds a line from name and description', async () => {
    expect(await create('/memories/deploy.md', TOPIC)).toBe(
      'File created successfully at: /memories/deploy.md',
    )
    expect(await work.read('memory/deploy.md')).toBe(TOPIC)
    expect(await index()).toBe('- [Deploy](deploy.md) — how we ship\n')
    expect(await memdir.verify()).toEqual([])
    expect((await memdir.list()).memories).toMatchObject([
      { name: 'Deploy', description: 'how we ship', body: 'make ship' },
    ])
  })

  test('of plain text takes the file name and the first line that says something', async () => {
    await create('/memories/notes/day 1.md', '---\n---\n\n## Meeting [notes]\r\n- discussed\n')
    await create('/memories/plain.md', '\n***\n> Quoted first\n')
    expect(await index()).toBe(
      '- [day 1](<notes/day 1.md>) — Meeting notes\n- [plain](plain.md) — Quoted first\n',
    )
    expect(await work.read('memory/plain.md')).toBe('\n***\n> Quoted first\n')
    expect((await memdir.list()).memories).toMatchObject([
      { file: 'notes/day 1.md', name: 'day 1', hook: 'Meeting notes' },
      { file: 'plain.md', name: 'plain', type: 'project', hook: 'Quoted first' },
    ])
  })

  test.each(['/memories/a.md', '/memories/notes', '/memories/notes.md', '/memories//./a.md'])(
    'of what is there, %s, is refused',
    async (path) => {
      await create('/memories/a.md', 'A fact.')
      await create('/memories/notes/b.md', 'B')
      await create('/memories/notes.md/b.md', 'B')
      await expect(create(path, 'other')).rejects.toMatchObject(failed(`File ${path} already exists`))
      expect(await work.read('memory/a.md')).toBe('A fact.')
    },
  )

  test.each([
    ['notes.txt', /does not end in \.md/],
    ['notes', /does not end in \.md/],
    ['memory.md', /MEMORY\.md is the index/],
    ['sub/MEMORY.md', /MEMORY\.md is the index/],
    ['.trash/x.md', /\.trash is a hidden name/],
    ['.x.md', /\.x\.md is a hidden name/],
    ['a/.b/x.md', /\.b is a hidden name/],
    ['node_modules/x.md', /node_modules is a hidden name/],
    ['logs/2031/03/2031-03-06.md', /daily log/],
    ['a\nb.md', /control character/],
    [`${'x'.repeat(260)}.md`, /too long/],
    ['file.md/x.md', /a part of it is a file/],
  ])('of %s is refused', async (file, message) => {
    await create('/memories/file.md', 'A fact.')
    const before = await work.snapshot()
    await expect(create(`/memories/${file}`, 'x')).rejects.toThrow(message)
    expect(await withoutLocks()).toEqual(without(before))
  })

  test.each([
    ['', /^Nothing was saved: the body is empty/],
    ['```\ncode\n```', /^Nothing was saved: the body is nothing but a block of code/],
    ['x'.repeat(70_000), /over the limit/],
    ['half \uD800', /half a character/],
    [
      '---\nname: a\n',
      /^Nothing was saved: that would break the front matter\. .*not closed by --- \(line 1\)$/,
    ],
    ['---\nname: [a\n---\nx', /front matter is not valid YAML/],
    ['---\ntype: note\n---\nx', /Type "note" is none of user, feedback, project, reference/],
    [7 as unknown as string, /file_text must be a string/],
  ])('of %j is refused with a reason', async (text, message) => {
    await expect(create('/memories/a.md', text)).rejects.toThrow(message)
    expect(await index()).toBe('')
  })

  test('of something that looks like a secret says so', async () => {
    const token = `ghp_${'aB3dE5fG7hI9'.repeat(3)}`
    expect(await create('/memories/a.md', `The token is ${token}.\n`)).toMatch(
      /^File created successfully at: \/memories\/a\.md\nLine 1 of the body looks like a secret/,
    )
  })
})

describe('str_replace', () => {
  test('changes the one place, shows the lines around and keeps the rest byte for byte', async () => {
    await create('/memories/a.md', 'one\ntwo\nthree\nfour\nfive\nsix\n')
    expect(await tool.str_replace({ path: '/memories/a.md', old_str: 'four', new_str: '$& 4\n4b' })).toBe(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n' +
        '     2\ttwo\n     3\tthree\n     4\t$& 4\n     5\t4b\n     6\tfive',
    )
    expect(await work.read('memory/a.md')).toBe('one\ntwo\nthree\n$& 4\n4b\nfive\nsix\n')
  })

  test('takes several lines, and lets the index follow', async () => {
    await create('/memories/deploy.md', TOPIC)
    await tool.str_replace({
      path: '/memories/deploy.md',
      old_str: 'name: Deploy\ndescription: how we ship',
      new_str: 'name: Ship\ndescription: how we ship now',
    })
    expect(await index()).toBe('- [Ship](deploy.md) — how we ship now\n')
    const [entry] = await memdir.trash()
    expect((await memdir.restore(entry?.id ?? '')).name).toBe('Deploy')
    expect(await work.read('memory/deploy.md')).toBe(TOPIC)
    expect(await index()).toBe('- [Deploy](deploy.md) — how we ship\n')
  })

  test('refuses what is not there, what is there twice, and what is no file', async () => {
    await create('/memories/a.md', 'a b a\nc\na\nxxx')
    await create('/memories/d/a.md', 'a')
    const at = (path: string, old: string): Promise<string> =>
      tool.str_replace({ path, old_str: old, new_str: 'n' })
    await expect(at('/memories/a.md', 'A')).rejects.toMatchObject(
      failed('No replacement was performed, old_str `A` did not appear verbatim in /memories/a.md.'),
    )
    await expect(at('/memories/a.md', '')).rejects.toThrow('did not appear verbatim')
    await expect(at('/memories/a.md', 'a')).rejects.toMatchObject(
      failed(
        'No replacement was performed. Multiple occurrences of old_str `a` in lines: 1, 3. Please ensure it is unique',
      ),
    )
    await expect(at('/memories/a.md', 'xx')).rejects.toThrow('in lines: 4. Please')
    await expect(at('/memories/none.md', 'a')).rejects.toMatchObject(
      failed('The path /memories/none.md does not exist. Please provide a valid path.', 'MEMORY_NOT_FOUND'),
    )
    await expect(at('/memories/d', 'a')).rejects.toMatchObject(failed('The path /memories/d is not a file.'))
    await expect(at('/memories', 'a')).rejects.toMatchObject(failed('The path /memories is not a file.'))
    await expect(at('/memories/MEMORY.md', '[a]')).rejects.toThrow(
      '/memories/MEMORY.md is the index: it follows the memory files by itself; change those',
    )
    expect(await work.read('memory/a.md')).toBe('a b a\nc\na\nxxx')
  })

  test('breaks no front matter, but may mend it', async () => {
    await create('/memories/a.md', TOPIC)
    for (const [old, text] of [
      ['description: how', 'description: [how'],
      ['type: project\n---', 'type: project'],
      ['type: project', 'type: fact'],
      ['---\nname', 'name'],
    ] as const) {
      const edit = tool.str_replace({ path: '/memories/a.md', old_str: old, new_str: text })
      await expect(edit).rejects.toThrow(/^Nothing was saved: that would break the front matter\./)
    }
    expect(await work.read('memory/a.md')).toBe(TOPIC)
    await write('memory/b.md', '---\nname: [b\n---\nbody\n')
    await tool.str_replace({ path: '/memories/b.md', old_str: 'body', new_str: 'text' })
    await tool.str_replace({ path: '/memories/b.md', old_str: '[b', new_str: 'b' })
    expect(await memdir.verify()).toEqual([])
  })

  test('keeps byte order mark and CRLF, and touches nothing that is not UTF-8', async () => {
    await write('memory/a.md', '\uFEFF---\r\nname: A\r\n---\r\none\r\ntwo\r\n')
    await tool.str_replace({ path: '/memories/a.md', old_str: 'one\ntwo', new_str: '1\n2' })
    await tool.insert({ path: '/memories/a.md', insert_line: 4, insert_text: '1b\n' })
    expect(await work.read('memory/a.md')).toBe('\uFEFF---\r\nname: A\r\n---\r\n1\r\n1b\r\n2\r\n')
    await write('memory/b.md', Buffer.from([0x61, 0xff]))
    await expect(tool.str_replace({ path: '/memories/b.md', old_str: 'a', new_str: 'b' })).rejects.toThrow(
      'not UTF-8',
    )
  })
})

describe('insert', () => {
  test.each([
    [0, 'new\n', 'new\na\nb\n'],
    [1, 'new', 'a\nnew\nb\n'],
    [2, 'n\nm\n', 'a\nb\nn\nm\n'],
    [3, 'new\n\n', 'a\nb\n\nnew\n'],
  ])('behind line %i', async (line, text, expected) => {
    await create('/memories/a.md', 'a\nb\n')
    expect(await tool.insert({ path: '/memories/a.md', insert_line: line, insert_text: text })).toBe(
      'The file /memories/a.md has been edited.',
    )
    expect(await work.read('memory/a.md')).toBe(expected)
    expect(await index()).toContain(`](a.md) — ${expected.split('\n')[0]}\n`)
    expect(await memdir.trash()).toHaveLength(1)
  })

  test.each([-1, 4, 1.5, Number.NaN])('behind line %d is refused', async (line) => {
    await create('/memories/a.md', 'a\nb\n')
    await expect(
      tool.insert({ path: '/memories/a.md', insert_line: line, insert_text: 'x' }),
    ).rejects.toMatchObject(
      failed(
        `Invalid \`insert_line\` parameter: ${line}. It should be within the range of lines of the file: [0, 3]`,
      ),
    )
  })

  test('before the front matter, into nothing and into a directory is refused', async () => {
    await create('/memories/d/a.md', TOPIC)
    const at = (path: string): Promise<string> => tool.insert({ path, insert_line: 0, insert_text: 'x' })
    await expect(at('/memories/d/a.md')).rejects.toThrow('that would break the front matter')
    await expect(at('/memories/x.md')).rejects.toMatchObject(
      failed('The path /memories/x.md does not exist. Please provide a valid path.'),
    )
    await expect(at('/memories/d')).rejects.toMatchObject(failed('The path /memories/d is not a file.'))
  })
})

describe('delete', () => {
  test('puts a topic into the trash, with its line', async () => {
    await create('/memories/a.md', TOPIC)
    await create('/memories/b.md', 'B')
    expect(await tool.delete({ path: '/memories/a.md' })).toBe('Successfully deleted /memories/a.md')
    expect(await index()).toBe('- [b](b.md) — B\n')
    await expect(tool.delete({ path: '/memories/a.md' })).rejects.toMatchObject(
      failed('The path /memories/a.md does not exist'),
    )
    const [entry] = await memdir.trash()
    await memdir.restore(entry?.id ?? '')
    expect(await work.read('memory/a.md')).toBe(TOPIC)
    expect(await memdir.verify()).toMatchObject([{ kind: 'no-front-matter' }])
  })

  test('of a directory deletes all in it, each restorable, or nothing', async () => {
    for (const file of ['d/a.md', 'd/e/b.md', 'x.md']) await create(`/memories/${file}`, file)
    await write('memory/d/e/hand.txt', 'by hand')
    await expect(tool.delete({ path: '/memories/d' })).rejects.toThrow(
      'Nothing was changed: /memories/d/e/hand.txt is no memory file',
    )
    expect((await memdir.list()).memories).toHaveLength(3)
    await rm(work.path('memory/d/e/hand.txt'))
    expect(await tool.delete({ path: '/memories/d' })).toBe('Successfully deleted /memories/d')
    expect(await index()).toBe('- [x](x.md) — x.md\n')
    await expect(view('/memories/d')).rejects.toThrow('does not exist')
    for (const { id } of await memdir.trash()) await memdir.restore(id)
    expect((await memdir.list()).memories.map(({ body }) => body)).toEqual(['d/a.md', 'd/e/b.md', 'x.md'])
  })

  test('of the folder itself and of the index is refused', async () => {
    await expect(tool.delete({ path: '/memories/' })).rejects.toMatchObject(
      failed('Cannot delete the /memories directory itself'),
    )
    await expect(tool.delete({ path: '/memories/MEMORY.md' })).rejects.toThrow('is the index')
  })
})

describe('rename', () => {
  test('moves the bytes and lets the line point there, in its place', async () => {
    await create('/memories/draft.md', '# Draft\n')
    await create('/memories/b.md', 'B')
    expect(await tool.rename({ old_path: '/memories/draft.md', new_path: '/memories/x/final.md' })).toBe(
      'Successfully renamed /memories/draft.md to /memories/x/final.md',
    )
    expect(await index()).toBe('- [final](x/final.md) — Draft\n- [b](b.md) — B\n')
    expect(await work.read('memory/x/final.md')).toBe('# Draft\n')
    await expect(view('/memories/draft.md')).rejects.toThrow('does not exist')
    expect(await memdir.trash()).toEqual([])
  })

  test("keeps a line of somebody's own, but for the target", async () => {
    await create('/memories/a.md', TOPIC)
    await write('memory/MEMORY.md', '# Mine\n* [My words](./a.md): in my form\n- [Deploy](a.md) — own hook\n')
    await tool.rename({ old_path: '/memories/a.md', new_path: '/memories/b (1).md' })
    expect(await index()).toBe(
      '# Mine\n* [My words](<b (1).md>): in my form\n- [Deploy](<b (1).md>) — own hook\n',
    )
  })

  test('of a directory moves all in it in one change', async () => {
    for (const file of ['d/a.md', 'd/e/b.md', 'x.md']) await create(`/memories/${file}`, file)
    expect(await tool.rename({ old_path: '/memories/d', new_path: '/memories/new/d' })).toBe(
      'Successfully renamed /memories/d to /memories/new/d',
    )
    expect((await memdir.index()).entries.map(({ file }) => file)).toEqual([
      'new/d/a.md',
      'new/d/e/b.md',
      'x.md',
    ])
    await expect(view('/memories/d')).rejects.toThrow('does not exist')
    await tool.delete({ path: '/memories/new/d/a.md' })
    await tool.delete({ path: '/memories/new/d/e/b.md' })
    await tool.rename({ old_path: '/memories/new/d', new_path: '/memories/z' })
    expect(await view('/memories')).toMatch(/\/memories\/z\/$/)
  })

  test('over something, of nothing and out of its kind is refused', async () => {
    await create('/memories/a.md', 'A')
    await create('/memories/d/b.md', 'B')
    const before = await withoutLocks()
    for (const [from, to, message] of [
      ['a.md', 'd/b.md', 'The destination /memories/d/b.md already exists'],
      ['a.md', 'a.md', 'The destination /memories/a.md already exists'],
      ['a.md', 'd', 'The destination /memories/d already exists'],
      ['a.md', '', 'The destination /memories/ already exists'],
      ['d', 'a.md', 'The destination /memories/a.md already exists'],
      ['none.md', 'c.md', 'The path /memories/none.md does not exist'],
      ['', 'c', 'Cannot rename the /memories directory itself'],
      ['d', 'd/e', 'Cannot rename /memories/d to /memories/d/e, which is inside it'],
      ['a.md', 'a.txt', 'does not end in .md'],
      ['a.md', '.a.md', 'is a hidden name'],
      ['d', '.d', 'is a hidden name'],
      ['d', 'node_modules/d', 'is a hidden name'],
      ['MEMORY.md', 'c.md', 'is the index'],
    ]) {
      const rename = tool.rename({ old_path: `/memories/${from}`, new_path: `/memories/${to}` })
      await expect(rename, `${from} to ${to}`).rejects.toThrow(message)
    }
    expect(await withoutLocks()).toEqual(before)
  })
})

test('a subfolder with its own index is a folder for itself: shown, and changed by no command', async () => {
  await write('memory/team/MEMORY.md', '- [t](t.md)\n')
  await write('memory/team/t.md', 'T')
  await create('/memories/a.md', 'A')
  const before = await withoutLocks()
  expect(await view('/memories/team/t.md')).toContain('     1\tT')
  for (const change of [
    () => create('/memories/team/x.md', 'x'),
    () => tool.insert({ path: '/memories/team/t.md', insert_line: 0, insert_text: 'x' }),
    () => tool.str_replace({ path: '/memories/team/t.md', old_str: 'T', new_str: 'x' }),
    () => tool.delete({ path: '/memories/team/t.md' }),
    () => tool.delete({ path: '/memories/team' }),
    () => tool.rename({ old_path: '/memories/team/t.md', new_path: '/memories/t.md' }),
    () => tool.rename({ old_path: '/memories/a.md', new_path: '/memories/team/a.md' }),
    () => tool.rename({ old_path: '/memories/team', new_path: '/memories/t' }),
  ]) {
    await expect(change()).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
  }
  expect(await withoutLocks()).toEqual(before)
})

test('with review what is written waits as a proposal, and the text says so', async () => {
  await create('/memories/a.md', TOPIC)
  const reviewed = await openMemdir({ dir: memdir.dir, review: true })
  const handlers = memoryToolHandlers(reviewed)
  const before = without(await work.snapshot())
  const waits = (path: string): string =>
    `The change of ${path} waits for a person to approve it. Until then memory stays as it is.`
  expect(await handlers.create({ path: '/memories/b.md', file_text: 'B' })).toBe(waits('/memories/b.md'))
  expect(
    await handlers.str_replace({ path: '/memories/a.md', old_str: 'make ship', new_str: 'make it' }),
  ).toBe(waits('/memories/a.md'))
  expect(without(await work.snapshot(), '.proposed')).toEqual(before)
  const proposals = await reviewed.proposals()
  for (const { id } of proposals) await reviewed.approve(id)
  expect((await memdir.list()).memories.map(({ body }) => body)).toEqual(['make it', 'B'])
})

test('only the handle of openMemdir will do', () => {
  expect(() => memoryToolHandlers({ ...memdir })).toThrow(TypeError)
})

async function withoutLocks(): Promise<Record<string, unknown>> {
  return without(await work.snapshot())
}

function without(snapshot: Record<string, unknown>, other = '.lock.'): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(snapshot).filter(([name]) => !name.includes('.lock.') && !name.includes(other)),
  )
}
