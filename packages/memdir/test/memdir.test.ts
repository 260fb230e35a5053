import { chmod, mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { acquireLease, isLociError } from '@loci/disk'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let work: Tree
let memdir: Memdir
let ids = 0
const clock = (): Date => new Date('2031-03-06T10:00:00Z')
const open = (options: { waitMs?: number } = {}): Promise<Memdir> =>
  openMemdir({ dir: work.path('memory'), clock, createId: () => `id-${++ids}`, ...options })
beforeEach(async () => {
  ids = 0
  work = await tree()
  memdir = await open()
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const draft: MemoryDraft = { name: 'Likes tabs', description: 'prefers tabs', type: 'user', body: 'Tabs.' }
const withoutLocks = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => !name.includes('.lock.')))
/** Makes every operation on files with that name fail as it does without permission. */
const forbid = (name: string): void =>
  setFaultHook((_, path) =>
    path.endsWith(`/${name}`) ? Object.assign(new Error('not permitted'), { code: 'EACCES' }) : undefined,
  )

test('opening and reading make nothing', async () => {
  expect(await memdir.list()).toEqual({ memories: [], damage: [] })
  expect(await memdir.read('x.md')).toBeUndefined()
  expect(await memdir.trash()).toEqual([])
  expect(await memdir.proposals()).toEqual([])
  expect(await memdir.search('x')).toEqual([])
  expect(await memdir.verify()).toEqual([])
  expect(await memdir.repair()).toEqual({ changes: [] })
  for (const refused of [
    memdir.remove('x.md', { ifRevision: '' }),
    memdir.restore('x'),
    memdir.approve('x'),
    memdir.reject('x'),
  ]) {
    await expect(refused).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
  }
  await memdir.close()
  expect(await work.snapshot()).toEqual({})
})

test('the first save makes the folder, the topic file and the index', async () => {
  const { memory, visible, proposed } = await memdir.save(draft)
  expect({ visible, proposed }).toEqual({ visible: true, proposed: false })
  expect(memory).toEqual({
    ...draft,
    file: 'user_likes_tabs.md',
    revision: expect.stringMatching(/^[0-9a-f]{64}$/),
    modifiedAtMs: expect.any(Number),
  })
  expect(Object.keys(await withoutLocks())).toEqual(['memory/MEMORY.md', 'memory/user_likes_tabs.md'])
  expect(await (await open()).read('user_likes_tabs.md')).toEqual(memory)
  expect(await memdir.list()).toEqual({ memories: [memory], damage: [] })
})

test('the first save into a folder that has topics but no index lists those too, since others take an index for whole', async () => {
  await mkdir(work.path('memory/sub/deep'), { recursive: true })
  const topics: Record<string, string> = {
    'likes-tabs.md':
      '---\nname: likes-tabs\ndescription: user prefers tabs\nmetadata:\n  type: user\n---\n\nTabs.\n',
    'weird.md': '---\nname: "we]ird [x]"\ndescription: "multi\\nline"\n---\nx\n',
    'plain_note.md': 'no frontmatter here\n',
    'other.txt': 't\n',
    'sub/deep/d.md': '---\nname: deep-one\ndescription: nested fact\n---\nx\n',
  }
  for (const [name, text] of Object.entries(topics)) await writeFile(work.path(`memory/${name}`), text)
  const listed = await memdir.list()
  expect(listed.memories.map(({ file, name, description }) => [file, name, description])).toEqual([
    ['likes-tabs.md', 'likes-tabs', 'user prefers tabs'],
    ['plain_note.md', 'plain_note', ''],
    ['sub/deep/d.md', 'deep-one', 'nested fact'],
    ['weird.md', 'we]ird [x]', 'multi\nline'],
  ])
  expect(listed.damage).toMatchObject([{ kind: 'no-front-matter', path: work.path('memory/plain_note.md') }])
  await memdir.save(draft)
  expect(await work.read('memory/MEMORY.md')).toBe(
    [
      '- [likes-tabs](likes-tabs.md) — user prefers tabs',
      '- [plain_note](plain_note.md)',
      '- [deep-one](sub/deep/d.md) — nested fact',
      '- [we ird x](weird.md) — multi line',
      '- [Likes tabs](user_likes_tabs.md) — prefers tabs',
      '',
    ].join('\n'),
  )
})

describe('the default file name', () => {
  test.each([
    ['Likes tabs', 'user_likes_tabs.md'],
    ['  A--B / C!  ', 'user_a_b_c.md'],
    ['Über ÜNÏ 2', 'user_über_ünï_2.md'],
    ['日本語 メモ', 'user_日本語_メモ.md'],
    ['e\u0301te\u0301', 'user_été.md'],
    ['!!!', 'user_memory.md'],
    ['../../etc/passwd', 'user_etc_passwd.md'],
    ['x'.repeat(100), `user_${'x'.repeat(72)}.md`],
    ['記'.repeat(100), `user_${'記'.repeat(24)}.md`],
  ])('of %j is %j', async (name, file) => {
    expect((await memdir.save({ ...draft, name })).memory.file).toBe(file)
    expect(Buffer.byteLength(file)).toBeLessThanOrEqual(80)
  })

  test('is numbered where taken, without regard to case, and stays within its length', async () => {
    await mkdir(work.path('memory'))
    await writeFile(work.path('memory/USER_Likes_Tabs.md'), 'x')
    expect((await memdir.save(draft)).memory.file).toBe('user_likes_tabs_2.md')
    expect((await memdir.save(draft)).memory.file).toBe('user_likes_tabs_3.md')
    const name = 'x'.repeat(100)
    await memdir.save({ ...draft, name })
    expect((await memdir.save({ ...draft, name })).memory.file).toBe(`user_${'x'.repeat(70)}_2.md`)
  })
})

describe('a save over an existing memory', () => {
  test('needs the revision it was read at, and tells the current one', async () => {
    const { memory } = await memdir.save(draft)
    const { file, revision } = memory
    for (const ifRevision of [undefined, '', 'f'.repeat(64)]) {
      const refused = memdir.save({ ...draft, body: 'new', file }, { ifRevision })
      await expect(refused).rejects.toMatchObject({ code: 'MEMORY_CONFLICT', details: { file, revision } })
    }
    expect(await memdir.read(file)).toEqual(memory)
    const saved = await memdir.save({ ...draft, name: 'New', body: 'new', file }, { ifRevision: revision })
    expect(saved.memory).toMatchObject({ name: 'New', body: 'new', file })
    expect(saved.memory.revision).not.toBe(revision)
    expect(await memdir.read(file)).toEqual(saved.memory)
    expect(await work.read('memory/MEMORY.md')).toBe('- [New](user_likes_tabs.md) — prefers tabs\n')
  })

  test('made by hand meanwhile is refused, and the words written by hand stay', async () => {
    const { memory } = await memdir.save(draft)
    await writeFile(work.path(`memory/${memory.file}`), 'mine')
    await expect(
      memdir.save({ ...draft, file: memory.file }, { ifRevision: memory.revision }),
    ).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
    expect(await work.read(`memory/${memory.file}`)).toBe('mine')
  })

  test('that has gone is refused too', async () => {
    const { memory } = await memdir.save(draft)
    await rm(work.path(`memory/${memory.file}`))
    await expect(
      memdir.save({ ...draft, file: memory.file }, { ifRevision: memory.revision }),
    ).rejects.toMatchObject({ code: 'MEMORY_CONFLICT', details: { revision: null } })
  })

  test('keeps its mode', async () => {
    const { memory } = await memdir.save(draft)
    await chmod(work.path(`memory/${memory.file}`), 0o600)
    await memdir.save({ ...draft, body: 'new', file: memory.file }, { ifRevision: memory.revision })
    expect((await work.snapshot())[`memory/${memory.file}`]).toMatchObject({ mode: 0o600 })
  })

  test('of two that start from one revision one is refused', async () => {
    const { memory } = await memdir.save(draft)
    const other = await open()
    const results = await Promise.allSettled(
      [memdir, other].map((handle, n) =>
        handle.save({ ...draft, body: `by ${n}`, file: memory.file }, { ifRevision: memory.revision }),
      ),
    )
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('M01: whether the model will see a new line', () => {
  test.each([
    [198, true],
    [199, true],
    [200, false],
    [259, false],
  ])('in an index of %i lines: %s', async (count, visible) => {
    await mkdir(work.path('memory'))
    const raw = Array.from({ length: count }, (_, n) => `- words ${n}\n`).join('')
    await writeFile(work.path('memory/MEMORY.md'), raw)
    const saved = await memdir.save(draft)
    expect(saved.visible).toBe(visible)
    const { content, warning } = await memdir.index()
    expect(content.includes('user_likes_tabs.md')).toBe(visible)
    expect(warning === undefined).toBe(visible)
  })

  test('in an index that is full of bytes', async () => {
    await mkdir(work.path('memory'))
    await writeFile(work.path('memory/MEMORY.md'), `${'x'.repeat(24_980)}\n`)
    expect((await memdir.save(draft)).visible).toBe(false)
  })

  test('in an index full of comments, which count for nothing', async () => {
    await mkdir(work.path('memory'))
    await writeFile(work.path('memory/MEMORY.md'), '<!-- x -->\n'.repeat(5_000))
    expect((await memdir.save(draft)).visible).toBe(true)
  })
})

describe('names that are refused', () => {
  test.each([
    '',
    '../x.md',
    'a/../../x.md',
    'a/../x.md',
    '/etc/x.md',
    'x.txt',
    'x',
    '.hidden.md',
    '.trash/x.md',
    'a/.b/x.md',
    'MEMORY.md',
    'memory.MD',
    'Memory.md',
    'sub/MEMORY.md',
    'a//x.md',
    './x.md',
    'a\0.md',
    'a\n.md',
    'a\\b.md',
    `${'x'.repeat(300)}.md`,
    'logs/2031/03/2031-03-06.md',
    'x\ud800.md',
  ])('%j', async (file) => {
    await expect(memdir.save({ ...draft, file })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await expect(memdir.read(file)).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    expect(await work.snapshot()).toEqual({})
  })

  test('links, dangling ones too, in any part', async () => {
    await mkdir(work.path('memory/real'), { recursive: true })
    await writeFile(work.path('secret.md'), 'secret')
    await symlink('../secret.md', work.path('memory/a.md'))
    await symlink('../gone.md', work.path('memory/b.md'))
    await symlink('..', work.path('memory/dir'))
    for (const file of ['a.md', 'b.md', 'dir/secret.md', 'dir/new.md']) {
      await expect(memdir.save({ ...draft, file }, { ifRevision: 'x' })).rejects.toMatchObject({
        code: 'PATH_LINK',
      })
      await expect(memdir.read(file)).rejects.toMatchObject({ code: 'PATH_LINK' })
    }
    expect(await work.read('secret.md')).toBe('secret')
    const { memories, damage } = await memdir.list()
    expect(memories).toEqual([])
    expect(damage.map(({ kind, path }) => [kind, path])).toEqual([
      ['not-a-file', work.path('memory/a.md')],
      ['not-a-file', work.path('memory/b.md')],
    ])
  })

  test('an index that is a link, which is neither read nor written', async () => {
    await mkdir(work.path('memory'))
    await writeFile(work.path('elsewhere.md'), '- [a](a.md)\n')
    await symlink('../elsewhere.md', work.path('memory/MEMORY.md'))
    await expect(memdir.index()).rejects.toMatchObject({ code: 'PATH_LINK' })
    await expect(memdir.save(draft)).rejects.toMatchObject({ code: 'PATH_LINK' })
    expect(Object.keys(await withoutLocks())).toEqual(['elsewhere.md', 'memory/MEMORY.md'])
  })

  test('a file where a folder should be, a folder where a file should be', async () => {
    await mkdir(work.path('memory/dir.md'), { recursive: true })
    await writeFile(work.path('memory/file'), '')
    await expect(memdir.save({ ...draft, file: 'dir.md' })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await expect(memdir.save({ ...draft, file: 'file/x.md' })).rejects.toMatchObject({ code: 'PATH_INVALID' })
  })

  test('inside a folder with an index of its own, whose memories are not ours', async () => {
    await mkdir(work.path('memory/team/deep'), { recursive: true })
    await writeFile(work.path('memory/team/MEMORY.md'), '')
    await writeFile(work.path('memory/team/theirs.md'), 'x')
    for (const file of ['team/x.md', 'team/deep/x.md']) {
      await expect(memdir.save({ ...draft, file })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    }
    expect((await memdir.list()).memories).toEqual([])
    const team = await openMemdir({ dir: work.path('memory/team') })
    expect((await team.list()).memories.map(({ file }) => file)).toEqual(['theirs.md'])
  })
})

describe('drafts that are refused', () => {
  test('write nothing', async () => {
    await expect(memdir.save({ ...draft, name: ' \n' })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    const type = 'note' as 'user'
    await expect(memdir.save({ ...draft, type })).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
      message: expect.stringContaining('user, feedback, project, reference'),
    })
    await expect(memdir.save(draft, { ifRevision: 'x' })).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    for (const field of ['name', 'description', 'body', 'hook']) {
      // Half a character has no bytes: written, it would be read back as another.
      await expect(memdir.save({ ...draft, [field]: 'x\ud800y' })).rejects.toMatchObject({
        code: 'MEMORY_INVALID',
        message: expect.stringContaining(field),
      })
    }
    // @ts-expect-error a caller without types
    await expect(memdir.save({ ...draft, body: undefined })).rejects.toThrow(TypeError)
    // @ts-expect-error a caller without types
    await expect(memdir.save({ ...draft, hook: 5 })).rejects.toThrow(TypeError)
    // @ts-expect-error a caller without types
    await expect(openMemdir({})).rejects.toThrow(TypeError)
    expect(await withoutLocks()).toEqual({})
  })
})

test('topics in subfolders, daily logs and other files beside them', async () => {
  const saved = await memdir.save({ ...draft, file: 'sub/deep/x.md' })
  await mkdir(work.path('memory/logs/2031/03'), { recursive: true })
  await writeFile(work.path('memory/logs/2031/03/2031-03-06.md'), '- a log')
  await writeFile(work.path('memory/notes.txt'), 'x')
  await writeFile(work.path('memory/.hidden.md'), 'x')
  expect((await memdir.list()).memories).toEqual([saved.memory])
  expect(await memdir.verify()).toEqual([])
})

test('the list is by file name, and one file that cannot be read hides no other', async () => {
  for (const name of ['b', 'a', 'c']) await memdir.save({ ...draft, name })
  await utimes(work.path('memory/user_a.md'), 1, 1)
  expect(
    (await memdir.list()).memories.map(({ name, modifiedAtMs }) => [name, modifiedAtMs === 1_000]),
  ).toEqual([
    ['a', true],
    ['b', false],
    ['c', false],
  ])
})

describe('what cannot be read is never taken for absent', () => {
  test('a topic file is reported in the list and an error when read or saved', async () => {
    const { memory } = await memdir.save(draft)
    await memdir.save({ ...draft, name: 'Other' })
    forbid(memory.file)
    const { memories, damage } = await memdir.list()
    expect(memories.map(({ name }) => name)).toEqual(['Other'])
    expect(damage).toMatchObject([{ kind: 'unreadable', path: work.path(`memory/${memory.file}`) }])
    await expect(memdir.read(memory.file)).rejects.toMatchObject({ code: 'DISK_IO' })
    await expect(memdir.save({ ...draft, file: memory.file })).rejects.toMatchObject({ code: 'DISK_IO' })
  })

  test('an index is an error and stays as it was', async () => {
    await memdir.save(draft)
    const before = await work.read('memory/MEMORY.md')
    forbid('MEMORY.md')
    await expect(memdir.index()).rejects.toMatchObject({ code: 'DISK_IO' })
    await expect(memdir.save({ ...draft, name: 'Other' })).rejects.toMatchObject({ code: 'DISK_IO' })
    expect((await memdir.list()).memories).toHaveLength(1)
    setFaultHook(undefined)
    expect(await work.read('memory/MEMORY.md')).toBe(before)
  })

  test('a folder is an error', async () => {
    await memdir.save(draft)
    forbid('memory')
    await expect(memdir.list()).rejects.toMatchObject({ code: 'DISK_IO' })
  })
})

test('a folder that is a file is an error, not an empty folder', async () => {
  await writeFile(work.path('memory'), 'x')
  await expect(memdir.list()).rejects.toMatchObject({ code: 'DISK_IO' })
  await expect(memdir.save(draft)).rejects.toMatchObject({ code: 'DISK_IO' })
})

describe('removing', () => {
  test('takes file and line away, and restoring brings both back byte for byte', async () => {
    await memdir.save(draft)
    const { memory } = await memdir.save({ ...draft, name: 'Other', hook: 'own words' })
    await memdir.save({ ...draft, name: 'Third' })
    const text = await work.read(`memory/${memory.file}`)
    await memdir.remove(memory.file, { ifRevision: memory.revision })
    expect(await memdir.read(memory.file)).toBeUndefined()
    expect(await work.read('memory/MEMORY.md')).toBe(
      '- [Likes tabs](user_likes_tabs.md) — prefers tabs\n- [Third](user_third.md) — prefers tabs\n',
    )
    expect(await memdir.verify()).toEqual([])
    const [entry, ...more] = await memdir.trash()
    expect(more).toEqual([])
    expect(entry).toEqual({ id: 'id-1', file: memory.file, removedAt: '2031-03-06T10:00:00.000Z' })
    const restored = await memdir.restore('id-1')
    expect(restored).toMatchObject({ file: memory.file, revision: memory.revision, name: 'Other' })
    expect(await work.read(`memory/${memory.file}`)).toBe(text)
    expect((await memdir.index()).raw).toContain('- [Other](user_other.md) — own words\n')
    expect(await memdir.trash()).toEqual([])
    expect(await memdir.verify()).toEqual([])
  })

  test('needs the revision, and an existing memory', async () => {
    const { memory } = await memdir.save(draft)
    const before = await withoutLocks()
    await expect(memdir.remove(memory.file, { ifRevision: 'x' })).rejects.toMatchObject({
      code: 'MEMORY_CONFLICT',
      details: { revision: memory.revision },
    })
    await expect(memdir.remove('gone.md', { ifRevision: 'x' })).rejects.toMatchObject({
      code: 'MEMORY_NOT_FOUND',
    })
    await expect(memdir.remove('MEMORY.md', { ifRevision: 'x' })).rejects.toMatchObject({
      code: 'MEMORY_INVALID',
    })
    expect(await withoutLocks()).toEqual(before)
  })

  test('leaves every other byte of the index, and takes all lines of that file', async () => {
    const { memory } = await memdir.save({ ...draft, file: 'x.md' })
    await writeFile(work.path('memory/MEMORY.md'), '\uFEFF- [x](x.md)\r\n# a\r\n* [x](./x.md) by hand\r\nend')
    await memdir.remove('x.md', { ifRevision: memory.revision })
    expect(await work.read('memory/MEMORY.md')).toBe('\uFEFF# a\r\nend')
  })

  test('keeps bytes that are no text', async () => {
    await memdir.save(draft)
    const bytes = Buffer.from([0xff, 0x00, 0xfe])
    await writeFile(work.path('memory/bin.md'), bytes)
    const memory = await memdir.read('bin.md')
    await memdir.remove('bin.md', { ifRevision: memory?.revision ?? '' })
    expect(await memdir.restore('id-1')).toMatchObject({ revision: memory?.revision })
  })

  test('restoring over a newer file puts that into the trash first', async () => {
    const first = await memdir.save({ ...draft, file: 'x.md' })
    await memdir.remove('x.md', { ifRevision: first.memory.revision })
    const second = await memdir.save({ ...draft, file: 'x.md', body: 'newer' })
    await memdir.restore('id-1')
    expect(await memdir.read('x.md')).toMatchObject({ body: 'Tabs.' })
    const [entry] = await memdir.trash()
    expect(entry).toMatchObject({ id: 'id-2', file: 'x.md' })
    expect(await memdir.restore('id-2')).toMatchObject({ revision: second.memory.revision })
    expect((await memdir.trash()).map(({ id }) => id)).toEqual(['id-3'])
    expect((await memdir.index()).entries).toHaveLength(1)
  })

  test('the trash lists the newest first, and nothing in it ends in .md', async () => {
    let now = 0
    const dir = work.path('memory')
    const ticking = await openMemdir({
      dir,
      clock: () => new Date((now += 1_000)),
      createId: () => `t-${++ids}`,
    })
    for (const name of ['a', 'b', 'c']) {
      const { memory } = await ticking.save({ ...draft, name })
      await ticking.remove(memory.file, { ifRevision: memory.revision })
    }
    expect((await ticking.trash()).map(({ file }) => file)).toEqual(['user_c.md', 'user_b.md', 'user_a.md'])
    expect(Object.keys(await withoutLocks()).filter((name) => name.endsWith('.md'))).toEqual([
      'memory/MEMORY.md',
    ])
  })

  test.each(['nope', '../x', '', 'a/b', '.'])('restoring %j is refused', async (id) => {
    await memdir.save(draft)
    await expect(memdir.restore(id)).rejects.toMatchObject({ code: 'MEMORY_NOT_FOUND' })
  })
})

test('M10: the topic comes before its line, and goes after it, so that a crash leaves no line without topic', async () => {
  const steps: string[] = []
  setFaultHook((operation, path) => {
    const name = path.slice(work.root.length + 1)
    if (
      ['link', 'rename', 'unlink'].includes(operation) &&
      !name.endsWith('.tmp') &&
      !name.includes('.lock.')
    ) {
      steps.push(`${operation} ${name}`)
    }
    return undefined
  })
  const { memory } = await memdir.save(draft)
  await memdir.remove(memory.file, { ifRevision: memory.revision })
  await memdir.restore('id-1')
  const around = (...names: string[]): string[] => ['rename memory/.index', ...names, 'unlink memory/.index']
  expect(steps).toEqual([
    ...around('link memory/user_likes_tabs.md', 'link memory/MEMORY.md'),
    ...around('link memory/.trash/id-1.json', 'rename memory/MEMORY.md', 'unlink memory/user_likes_tabs.md'),
    ...around('link memory/user_likes_tabs.md', 'rename memory/MEMORY.md', 'unlink memory/.trash/id-1.json'),
  ])
})

describe('two at once', () => {
  test('a folder that another process holds is a conflict that names it', async () => {
    await mkdir(work.path('memory'))
    const lease = await acquireLease(work.path('memory/MEMORY.md'))
    const error: unknown = await (await open({ waitMs: 0 })).save(draft).catch((thrown: unknown) => thrown)
    expect(isLociError(error, 'MEMORY_CONFLICT')).toBe(true)
    expect(error).toMatchObject({
      details: { pid: process.pid, host: expect.any(String), since: expect.any(String), decidable: true },
      message: expect.stringMatching(
        new RegExp(`^Memory in ".*/memory/MEMORY.md" is being changed by process ${process.pid} on .*; wait`),
      ),
    })
    const waiting = memdir.save(draft)
    await lease.release()
    expect((await waiting).visible).toBe(true)
  })

  test('one whose holder cannot be decided says how to go on', async () => {
    await mkdir(work.path('memory'))
    await writeFile(work.path('memory/.MEMORY.md.lock.1'), 'not the record of an owner')
    await expect((await open({ waitMs: 0 })).save(draft)).rejects.toMatchObject({
      code: 'MEMORY_CONFLICT',
      details: { pid: null, host: null, since: null, decidable: false },
      message: expect.stringMatching(/an unknown process; .*breakLease/),
    })
  })

  test('after close a handle goes on working', async () => {
    await memdir.close()
    expect((await memdir.save(draft)).visible).toBe(true)
    await memdir.close()
    expect((await memdir.list()).memories).toHaveLength(1)
  })

  test('calls on one handle keep their order, awaited or not, and close waits for them', async () => {
    const names = Array.from({ length: 10 }, (_, n) => `m${n}`)
    const saves = names.map((name) => memdir.save({ ...draft, name }))
    await memdir.close()
    expect((await memdir.index()).entries.map(({ title }) => title)).toEqual(names)
    await Promise.all(saves)
  })

  test('a call that fails keeps none after it from being made', async () => {
    const refused = memdir.save({ ...draft, file: 'x.md' }, { ifRevision: 'x' })
    const saved = memdir.save(draft)
    await expect(refused).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
    expect((await saved).visible).toBe(true)
  })

  test('many handles on one folder: all memories are there, one line each', async () => {
    const handles = await Promise.all(Array.from({ length: 4 }, () => open()))
    await Promise.all(
      handles.flatMap((handle, h) =>
        Array.from({ length: 6 }, (_, n) =>
          handle.save({ ...draft, name: n < 3 ? `same ${n}` : `own ${h} ${n}` }),
        ),
      ),
    )
    const { entries } = await memdir.index()
    const { memories } = await memdir.list()
    expect(memories).toHaveLength(24)
    expect(entries.map(({ file }) => file).toSorted()).toEqual(memories.map(({ file }) => file))
    expect(await memdir.verify()).toEqual([])
  })
})
