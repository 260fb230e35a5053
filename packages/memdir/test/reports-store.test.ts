import { rename, rm, writeFile } from 'node:fs/promises'
import { loadMemoryPrompt, memoryDirs, openMemdir } from '@loci/memdir'
import type { Memdir, MemoryDraft } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { before, cutOff } from './cut-off.ts'
import { times } from './thorough.ts'

// What was reported of other products, and its kind: what a memory folder keeps, and what it says of it.

let work: Tree
let memdir: Memdir
let ids = 0
const open = (options: { review?: boolean } = {}): Promise<Memdir> =>
  openMemdir({ dir: work.path('p/memory'), createId: () => `id-${(ids += 1)}`, ...options })
beforeEach(async () => {
  ids = 0
  work = await tree({ 'p/memory/': '' })
  memdir = await open()
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const draft: MemoryDraft = { name: 'One', description: 'about one', type: 'user', body: 'v1' }
const write = (name: string, text: string): Promise<void> => writeFile(work.path(`p/memory/${name}`), text)
const read = (name: string): Promise<string> => work.read(`p/memory/${name}`)
const wrong = async (): Promise<[string, string, number | undefined][]> =>
  (await memdir.verify()).map(({ kind, path, line }) => [kind, path.split('/').at(-1) ?? '', line])

describe('M01 a save says how much room is left, and when its line will not be loaded', () => {
  /** Without the warning, which quotes the first line that is not there. */
  const loaded = async (): Promise<string> => (await prompt()).replace(/^> .*$/m, '')
  const prompt = async (): Promise<string> => {
    const dirs = memoryDirs({ home: work.path('home'), projectDir: work.path('p') })
    return (await loadMemoryPrompt({ dirs, enabled: true }))?.context ?? ''
  }

  test.each([
    [0, 199, true],
    [198, 1, true],
    [199, 0, true],
    [200, 0, false],
    [201, 0, false],
    [260, 0, false],
  ])('over an index of %i lines', async (count, lines, visible) => {
    await write('MEMORY.md', Array.from({ length: count }, (_, n) => `- words ${n}\n`).join(''))
    const saved = await memdir.save(draft)
    expect(saved).toMatchObject({ visible, room: { lines } })
    expect((await loaded()).includes('user_one.md')).toBe(visible)
    if (visible) {
      expect(saved.warnings).toBeUndefined()
      return
    }
    expect(saved.warnings).toHaveLength(1)
    const [warning] = saved.warnings ?? []
    expect(warning).toContain(`it has ${count + 1} lines`)
    expect(warning).toContain('over the limit of 200 lines')
    expect(warning).toContain(`line 201 to ${count + 1} (${count + 1 - 200} of ${count + 1} lines)`)
    // The model is told the same.
    expect(await prompt()).toContain(warning)
  })

  test('whichever limit is hit, in lines of any length', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 150, max: 203 }),
        fc.integer({ min: 1, max: 140 }),
        async (count, size) => {
          await write('MEMORY.md', `${'é'.repeat(size)}\n`.repeat(count))
          const { memory, visible, room, warnings } = await memdir.save(draft)
          const raw = await read('MEMORY.md')
          expect((await loaded()).includes(memory.file)).toBe(visible)
          expect(visible).toBe(warnings === undefined)
          expect(room.lines).toBe(Math.max(0, 200 - (count + 1)))
          expect(room.bytes).toBe(Math.max(0, 25_000 - Buffer.byteLength(raw.trimEnd())))
          await memdir.remove(memory.file, { ifRevision: memory.revision })
        },
      ),
      { numRuns: times(8, 150) },
    )
  })

  test('and of a proposal what it leaves', async () => {
    const reviewed = await open({ review: true })
    expect(await reviewed.save(draft)).toMatchObject({ visible: false, room: { lines: 200, bytes: 25_000 } })
  })
})

describe('M08 whatever is in a field is read back, by us and by strict readers of YAML', () => {
  // prettier-ignore
  const REPORTED = [
    'a: b', 'a #b', '"q"', "it's", '- x', '[x]', '{x}', '%x', '@x', 'yes', '1.0', '2026-01-01', '---', 'line\nbreak', '🎻',
    '', 'x'.repeat(5_000),
  ]

  test.each(REPORTED.map((text) => [text]))('%j', async (text) => {
    const drafts: MemoryDraft[] = [
      { ...draft, description: text },
      { ...draft, name: `n${text}` },
      { ...draft, body: `${text}\nb\n${text}` },
      { ...draft, hook: `h ${text.slice(0, 40)}` },
    ]
    for (const given of drafts) {
      const { memory } = await memdir.save(given)
      const { hook, ...fields } = given
      expect(await memdir.read(memory.file)).toMatchObject(fields)
      if (hook !== undefined) expect((await memdir.read(memory.file))?.hook).toMatch(/^h/)
      const head = (await read(memory.file)).split('\n---\n')[0]?.slice(4) ?? ''
      for (const version of ['1.1', '1.2'] as const) {
        expect(parse(head, { version, strict: true })).toMatchObject({
          name: given.name,
          description: given.description,
        })
      }
    }
    expect((await memdir.verify()).map(({ kind }) => kind)).toEqual([])
  })

  test.each([
    ['is never closed', '---\nname: x\nbody\n', 'front-matter', 1],
    ['has a colon in a value', '---\nname: a: b\n---\nbody\n', 'front-matter', 2],
    ['is indented by tabs', '---\nname: x\nmetadata:\n\ttype: user\n---\nbody\n', 'front-matter', 4],
    ['is a list', '---\n- a\n---\nbody\n', 'front-matter', 2],
    ['is none', 'body\n', 'no-front-matter', 1],
  ])(
    'front matter by hand that %s keeps the file listed, as plain text, with a note',
    async (_, text, kind, line) => {
      await write('note.md', text)
      await memdir.repair()
      const { memories } = await memdir.list()
      expect(memories).toMatchObject([{ file: 'note.md', body: text.trimEnd() }])
      expect(await wrong()).toEqual([[kind, 'note.md', line]])
      expect(await memdir.search('body')).toHaveLength(1)
      expect(await read('note.md')).toBe(text)
    },
  )

  test('keys of others, comments, order, byte order mark and CRLF survive a rewrite', async () => {
    const text =
      '\uFEFF---\r\ntags: [a, "b"] # mine\r\ndescription: d\r\n# a comment\r\nname: x\r\nmetadata:\r\n  node_type: memory\r\n  type: user\r\ntype: user\r\n---\r\n\r\nbody\r\n'
    await write('note.md', text)
    const memory = await memdir.read('note.md')
    if (memory === undefined) throw new Error('not read')
    await memdir.save({ ...memory, description: 'e', body: 'body 2' }, { ifRevision: memory.revision })
    expect(await read('note.md')).toBe(
      text.replace('description: d', 'description: e').replace('body\r', 'body 2\r'),
    )
  })
})

describe('M10 topics and lines that parted are found, and brought together without a change of words', () => {
  const OWN = '# Mine\n\nwords  \n- [elsewhere](https://example.com)\n'

  test('a second step that fails is an error, and nothing is left of the first', async () => {
    await write('MEMORY.md', OWN)
    setFaultHook((operation, path) =>
      operation === 'rename' && path.endsWith('/MEMORY.md')
        ? Object.assign(new Error(), { code: 'EACCES' })
        : undefined,
    )
    await expect(memdir.save(draft)).rejects.toMatchObject({ code: 'DISK_IO' })
    setFaultHook(undefined)
    expect(await memdir.list()).toEqual({ memories: [], damage: [] })
    expect(await wrong()).toEqual([])
    expect((await memdir.save(draft)).memory.file).toBe('user_one.md')
  })

  test('a second step that never came is made up for by the next save', async () => {
    await write('MEMORY.md', OWN)
    await cutOff(() => memdir.save(draft), before('MEMORY.md'))
    expect((await wrong()).map(([kind]) => kind)).toEqual(['unfinished-change', 'topic-without-line'])
    await memdir.save({ ...draft, name: 'Two' })
    expect(await wrong()).toEqual([])
    expect(await read('MEMORY.md')).toBe(
      `${OWN}- [One](user_one.md) — about one\n- [Two](user_two.md) — about one\n`,
    )
  })

  test.each<[string, () => Promise<unknown>, [string, string, number | undefined][], string | undefined]>([
    [
      'a topic written by hand',
      () => write('hand.md', '---\nname: Hand\ndescription: made\ntype: user\n---\nx\n'),
      [['topic-without-line', 'hand.md', undefined]],
      'One, Two, Hand',
    ],
    [
      'a topic deleted by hand',
      () => rm(work.path('p/memory/user_one.md')),
      [['line-without-topic', 'MEMORY.md', 5]],
      undefined,
    ],
    [
      'a topic renamed by hand',
      () => rename(work.path('p/memory/user_one.md'), work.path('p/memory/other.md')),
      [
        ['topic-without-line', 'other.md', undefined],
        ['line-without-topic', 'MEMORY.md', 5],
      ],
      'One, Two',
    ],
    [
      'a line that stands there twice',
      async () => write('MEMORY.md', `${await read('MEMORY.md')}- [One](user_one.md) — about one\n`),
      [['repeated-line', 'MEMORY.md', 7]],
      'One, Two',
    ],
    [
      'a second line with other words',
      async () => write('MEMORY.md', `${await read('MEMORY.md')}- [One](user_one.md) — more\n`),
      [['repeated-line', 'MEMORY.md', 7]],
      undefined,
    ],
    [
      'a line of more than 200 characters',
      async () => write('MEMORY.md', `${await read('MEMORY.md')}${'w'.repeat(201)}\n`),
      [['long-line', 'MEMORY.md', 7]],
      undefined,
    ],
    [
      'an index that is gone',
      () => rm(work.path('p/memory/MEMORY.md')),
      [['index-missing', 'MEMORY.md', undefined]],
      'One, Two',
    ],
  ])('%s', async (_, harm, found, titles) => {
    await write('MEMORY.md', OWN)
    for (const name of ['One', 'Two']) await memdir.save({ ...draft, name })
    const own = (await read('MEMORY.md')).split('\n').slice(0, 4)
    await harm()
    expect(await wrong()).toEqual(found)
    const raw = (await memdir.index()).raw
    await memdir.repair()
    const repaired = (await memdir.index()).raw
    if (titles === undefined) {
      expect(repaired).toBe(raw)
      expect(await wrong()).toEqual(found)
    } else {
      expect((await memdir.index()).entries.map(({ title }) => title).join(', ')).toBe(titles)
      expect(await wrong()).toEqual([])
    }
    if (raw !== '') expect(repaired.split('\n').slice(0, 4)).toEqual(own)
    expect(await memdir.repair()).toEqual({ changes: [] })
  })
})

describe('M12 nothing is taken away without a trace', () => {
  /** All bytes that a topic has or had, as text: those in place and those in the trash. */
  async function everything(): Promise<string> {
    const files = Object.entries(await work.snapshot())
    return files
      .flatMap(([name, file]) => {
        if (!('text' in file) || name.includes('.lock.')) return []
        return name.includes('/.trash/') ? Object.values(JSON.parse(file.text) as object).flat() : [file.text]
      })
      .join('\0')
  }

  test('whatever is done, in any order: each text and each line that was there is there, or in the trash', async () => {
    const action = fc.record({
      what: fc.constantFrom('save', 'over', 'hand', 'remove', 'restore', 'approve', 'line', 'repair'),
      which: fc.nat({ max: 5 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 12 }), async (actions) => {
        await rm(work.path('p/memory'), { recursive: true, force: true })
        const seen: string[] = []
        const reviewed = await open({ review: true })
        let count = 0
        await memdir.save(draft)
        for (const { what, which } of actions) {
          const { memories } = await memdir.list()
          const target = memories[which % Math.max(1, memories.length)]
          const mark = `mark ${(count += 1)}.`
          if (what === 'save') await memdir.save({ ...draft, body: mark })
          else if (what === 'repair') await memdir.repair()
          else if (what === 'restore') {
            const [entry] = (await memdir.trash()).toReversed().slice(which)
            // Lines alone cannot come back without their topic.
            if (entry) await memdir.restore(entry.id).catch(() => undefined)
          } else if (target === undefined) continue
          else if (what === 'hand') await write(target.file, `${await read(target.file)}${mark}\n`)
          else if (what === 'line') {
            const raw = await read('MEMORY.md')
            await write('MEMORY.md', raw.replace(/$/m, ` ${mark}`))
          } else if (what === 'remove') await memdir.remove(target.file, { ifRevision: target.revision })
          else {
            const next = { ...draft, name: mark, file: target.file, body: mark }
            const handle = what === 'over' ? memdir : reviewed
            await handle.save(next, { ifRevision: target.revision })
            if (what === 'approve') await memdir.approve((await memdir.proposals())[0]?.id ?? '')
          }
          if (!['repair', 'restore', 'remove'].includes(what)) seen.push(mark)
          const all = await everything()
          for (const text of seen) expect(all).toContain(text)
        }
        // And each comes back byte for byte.
        for (const { id, file } of (await memdir.trash()).toReversed()) {
          const kept = JSON.parse(await read(`.trash/${id}.json`)) as { text?: string }
          if (kept.text === undefined) continue
          await memdir.restore(id)
          expect(await read(file)).toBe(kept.text)
        }
      }),
      { numRuns: times(5, 200) },
    )
  })

  test('what was replaced says when, and comes back with its lines in exchange for the newer', async () => {
    const { file, revision } = (await memdir.save({ ...draft, hook: 'first' })).memory
    await memdir.save({ ...draft, file, hook: 'second', body: 'v2' }, { ifRevision: revision })
    const [old, ...more] = await memdir.trash()
    expect(more).toEqual([])
    expect(old).toMatchObject({ file, removedAt: expect.stringMatching(/^\d{4}-.*Z$/) })
    expect(await memdir.restore(old?.id ?? '')).toMatchObject({ body: 'v1', hook: 'first', revision })
    const [newer, ...none] = await memdir.trash()
    expect(none).toEqual([])
    expect(await memdir.restore(newer?.id ?? '')).toMatchObject({ body: 'v2', hook: 'second' })
  })

  test('a memory that somebody changed by hand is not overwritten, and stays when it is to be removed', async () => {
    const { file, revision } = (await memdir.save(draft)).memory
    await write(file, 'mine')
    for (const refused of [
      memdir.save({ ...draft, file }, { ifRevision: revision }),
      memdir.remove(file, { ifRevision: revision }),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
    expect(await read(file)).toBe('mine')
    expect(await memdir.trash()).toEqual([])
  })
})
