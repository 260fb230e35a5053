import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { openMemdir } from '@loci/memdir'
import type { Memdir, Memory, MemoryDraft } from '@loci/memdir'
import { memoryToolHandlers } from '@loci/memdir/anthropic'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { before, cutOff } from './cut-off.ts'

let work: Tree
let memdir: Memdir
let ids = 0
const clock = (): Date => new Date('2031-03-06T10:00:00Z')
const open = (options: { review?: boolean } = {}): Promise<Memdir> =>
  openMemdir({ dir: work.root, clock, createId: () => `id-${++ids}`, ...options })
beforeEach(async () => {
  ids = 0
  work = await tree()
  memdir = await open()
  await memdir.save({ ...draft, name: 'Other' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await work.remove()
})

const draft: MemoryDraft = { name: 'One', description: 'about one', type: 'user', body: 'v1' }
const OTHER = '- [Other](user_other.md) — about one\n'
const ONE = '- [One](user_one.md) — about one\n'
const index = (): Promise<string> => work.read('MEMORY.md')
const write = (name: string, text: string): Promise<void> => writeFile(work.path(name), text)
const writeSync = (name: string, text: string): void => writeFileSync(work.path(name), text)
const snapshot = async (): Promise<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(await work.snapshot()).filter(([name]) => !/\.lock\.|\.tmp$/.test(name)))
const names = async (): Promise<string[]> => Object.keys(await snapshot())
const kinds = async (): Promise<string[]> => (await memdir.verify()).map(({ kind }) => kind)
const trashed = async (): Promise<string[]> => (await memdir.trash()).map(({ file }) => file)
const one = async (): Promise<Memory> => {
  const memory = await memdir.read('user_one.md')
  if (memory === undefined) throw new Error('not there')
  return memory
}

/** What finishes a change: the next one, whatever it is about, or `repair`. */
const FINISHERS = {
  'the next change': () => memdir.save({ ...draft, name: 'Next' }),
  repair: () => memdir.repair(),
}
const finishers = Object.keys(FINISHERS) as (keyof typeof FINISHERS)[]
const NEXT = '- [Next](user_next.md) — about one\n'
const withoutNext = (text: string): string => text.replace(NEXT, '')

const save = (): Promise<unknown> => memdir.save({ ...draft, hook: 'own words' })
const saveOver = async (): Promise<unknown> => {
  const { file, revision } = await one()
  return memdir.save({ ...draft, file, hook: 'own words', body: 'v2' }, { ifRevision: revision })
}
const remove = async (): Promise<unknown> => {
  const { file, revision } = await one()
  return memdir.remove(file, { ifRevision: revision })
}

describe.each(finishers)('R15: after a crash in the middle of a change, %s', (finisher) => {
  const finish = (): Promise<unknown> => FINISHERS[finisher]()

  test('writes the line of a topic that was saved, with the hook that was given', async () => {
    await cutOff(save, before('MEMORY.md'))
    expect(await index()).toBe(OTHER)
    expect(await kinds()).toEqual(['unfinished-change', 'topic-without-line'])
    await finish()
    expect(withoutNext(await index())).toBe(`${OTHER}- [One](user_one.md) — own words\n`)
    expect(await kinds()).toEqual([])
    expect(await names()).not.toContain('.index')
  })

  test('writes the line that belongs to what a memory was replaced with, in its place', async () => {
    await memdir.save(draft)
    await write('MEMORY.md', `${ONE}${OTHER}* [One](user_one.md) by hand\n`)
    await cutOff(saveOver, before('MEMORY.md'))
    await write('MEMORY.md', `# Mine\n${await index()}`)
    await finish()
    expect(withoutNext(await index())).toBe(
      `# Mine\n- [One](user_one.md) — own words\n${OTHER}* [One](user_one.md) by hand\n`,
    )
    expect(await one()).toMatchObject({ body: 'v2' })
    expect(await trashed()).toEqual(['user_one.md'])
  })

  test('forgets a change of which nothing was done, and what it put into the trash', async () => {
    await memdir.save(draft)
    const start = await snapshot()
    for (const change of [saveOver, remove]) {
      await cutOff(change, before(change === remove ? 'MEMORY.md' : 'user_one.md'))
      expect(await trashed()).toEqual(['user_one.md'])
      expect(await kinds()).toEqual(['unfinished-change'])
      await finish()
      expect(await trashed()).toEqual([])
    }
    await rm(work.path('user_next.md'), { force: true })
    await write('MEMORY.md', (await index()).replace(/.*user_next.*\n/g, ''))
    expect(Object.keys(start)).toEqual((await names()).filter((name) => !name.includes('next')))
    expect(await one()).toMatchObject({ body: 'v1' })
  })

  test('takes away a topic that was removed and lay in the trash already', async () => {
    await memdir.save(draft)
    await cutOff(remove, before('user_one.md'))
    expect(await index()).toBe(OTHER)
    await finish()
    expect(await memdir.read('user_one.md')).toBeUndefined()
    expect(withoutNext(await index())).toBe(OTHER)
    expect(await kinds()).toEqual([])
    expect(await trashed()).toEqual(['user_one.md'])
  })

  test('brings a restored memory to its line and ends its trash entry', async () => {
    await memdir.save({ ...draft, hook: 'own words' })
    await remove()
    const [entry] = await memdir.trash()
    await cutOff(() => memdir.restore(entry?.id ?? ''), before('MEMORY.md'))
    await finish()
    expect(withoutNext(await index())).toBe(`${OTHER}- [One](user_one.md) — own words\n`)
    expect(await trashed()).toEqual([])
  })

  test.each(['MEMORY.md', 'id-1.json'])(
    'ends a proposal that was approved, cut off before %s',
    async (name) => {
      ids = 0
      await (await open({ review: true })).save(draft)
      await cutOff(() => memdir.approve('id-1'), before(name))
      expect(await memdir.proposals()).toHaveLength(1)
      await finish()
      expect(await memdir.proposals()).toEqual([])
      expect(withoutNext(await index())).toBe(`${OTHER}${ONE}`)
      expect((await memdir.list()).memories.filter(({ name: title }) => title === 'One')).toHaveLength(1)
    },
  )

  test('takes out of the trash what a repair that did not come to the index put there', async () => {
    await write('MEMORY.md', OTHER + OTHER)
    await cutOff(() => memdir.repair(), before('MEMORY.md'))
    expect(await trashed()).toEqual(['user_other.md'])
    await finish()
    // The repair then does it anew.
    expect(await trashed()).toEqual(finisher === 'repair' ? ['user_other.md'] : [])
    expect(withoutNext(await index())).toBe(finisher === 'repair' ? OTHER : OTHER + OTHER)
  })

  test.each([
    ['two.md', 'One'],
    ['MEMORY.md', 'One'],
    ['user_one.md', 'Two'],
  ])('leaves a topic that was to be moved in one place, cut off before %s', async (name, where) => {
    await memdir.save({ ...draft, hook: 'own words' })
    const bytes = await work.read('user_one.md')
    const tool = memoryToolHandlers(memdir)
    const move = { old_path: '/memories/user_one.md', new_path: '/memories/two.md' }
    await cutOff(() => tool.rename(move), before(name))
    await finish()
    const [there, gone] = where === 'One' ? ['user_one.md', 'two.md'] : ['two.md', 'user_one.md']
    expect(await work.read(there)).toBe(bytes)
    expect(await names()).not.toContain(gone)
    expect(withoutNext(await index())).toBe(`${OTHER}- [One](${there}) — own words\n`)
    expect(await kinds()).toEqual([])
  })

  describe('leaves what somebody wrote since:', () => {
    test('a topic that was to be moved, and the copy that was made of it', async () => {
      await memdir.save(draft)
      const tool = memoryToolHandlers(memdir)
      const move = { old_path: '/memories/user_one.md', new_path: '/memories/two.md' }
      await cutOff(() => tool.rename(move), before('MEMORY.md'))
      const copy = await work.read('two.md')
      await write('user_one.md', 'mine')
      await finish()
      expect(await work.read('user_one.md')).toBe('mine')
      expect(await work.read('two.md')).toBe(copy)
    })

    test('a topic, which gets the line that fits it', async () => {
      await cutOff(save, before('MEMORY.md'))
      const text = '---\nname: Mine\ndescription: by hand\ntype: user\n---\nmine\n'
      await write('user_one.md', text)
      await finish()
      expect(await work.read('user_one.md')).toBe(text)
      expect(withoutNext(await index())).toBe(`${OTHER}- [Mine](user_one.md) — by hand\n`)
    })

    test('a topic over one that was saved; what that had replaced stays in the trash', async () => {
      await memdir.save(draft)
      await cutOff(saveOver, before('MEMORY.md'))
      await write('user_one.md', 'mine')
      await finish()
      expect(await work.read('user_one.md')).toBe('mine')
      expect(withoutNext(await index())).toBe(OTHER + ONE)
      const [entry] = await memdir.trash()
      expect(await memdir.restore(entry?.id ?? '')).toMatchObject({ body: 'v1' })
    })

    test('a line for it', async () => {
      await cutOff(save, before('MEMORY.md'))
      await write('MEMORY.md', `* [Uno](user_one.md) mine\n${OTHER}`)
      await finish()
      expect(withoutNext(await index())).toBe(`* [Uno](user_one.md) mine\n${OTHER}`)
    })

    test('all the rest of the index', async () => {
      await cutOff(save, before('MEMORY.md'))
      await write('MEMORY.md', `\uFEFF# Mine\r\n${OTHER}words`)
      await finish()
      expect((await index()).replace(`${NEXT.trim()}\r\n`, '')).toBe(
        `\uFEFF# Mine\r\n${OTHER}words\r\n- [One](user_one.md) — own words\r\n`,
      )
    })

    test('nothing, where the topic was deleted', async () => {
      await cutOff(save, before('MEMORY.md'))
      await rm(work.path('user_one.md'))
      await finish()
      expect(withoutNext(await index())).toBe(OTHER)
      expect(await names()).not.toContain('user_one.md')
    })

    test('nothing, where the topic was deleted when all but the record was done', async () => {
      await cutOff(save, (operation, path) => operation === 'unlink' && path.endsWith('/.index'))
      expect(await index()).toContain('user_one.md')
      await rm(work.path('user_one.md'))
      await finish()
      expect(await names()).not.toContain('user_one.md')
    })

    test('a topic in the middle of being removed, and its lines come back', async () => {
      await memdir.save({ ...draft, hook: 'own words' })
      await cutOff(remove, before('user_one.md'))
      await write('user_one.md', 'mine')
      await finish()
      expect(await work.read('user_one.md')).toBe('mine')
      expect(withoutNext(await index())).toBe(`${OTHER}- [One](user_one.md) — own words\n`)
      expect(await kinds()).toEqual(['no-front-matter'])
      expect(await trashed()).toEqual(['user_one.md'])
    })

    test('a line of a topic that was to be removed: then all stays', async () => {
      await memdir.save(draft)
      await cutOff(remove, before('MEMORY.md'))
      await write('MEMORY.md', `${OTHER}- [One](user_one.md) — new words\n`)
      await finish()
      expect(await one()).toMatchObject({ body: 'v1', hook: 'new words' })
    })

    test('an emptied trash: the topic whose only copy it was stays, with its lines', async () => {
      await memdir.save(draft)
      await cutOff(remove, before('user_one.md'))
      await rm(work.path('.trash'), { recursive: true })
      await finish()
      expect(await one()).toMatchObject({ body: 'v1' })
      expect(withoutNext(await index())).toBe(OTHER + ONE)
    })

    test('a topic over one that was restored, whose trash entry stays then', async () => {
      await memdir.save(draft)
      await remove()
      const [entry] = await memdir.trash()
      await cutOff(() => memdir.restore(entry?.id ?? ''), before('MEMORY.md'))
      await write('user_one.md', 'mine')
      await finish()
      expect(await work.read('user_one.md')).toBe('mine')
      expect(await trashed()).toEqual(['user_one.md'])
    })

    test('nothing of a restored topic, where it was deleted: its trash entry stays then', async () => {
      await memdir.save(draft)
      await remove()
      const [entry] = await memdir.trash()
      await cutOff(() => memdir.restore(entry?.id ?? ''), before(`${entry?.id}.json`))
      await rm(work.path('user_one.md'))
      await finish()
      expect(await memdir.read('user_one.md')).toBeUndefined()
      expect(await memdir.restore(entry?.id ?? '')).toMatchObject({ body: 'v1' })
    })

    test('a link in the place of the topic', async () => {
      await cutOff(save, before('MEMORY.md'))
      await rm(work.path('user_one.md'))
      await symlink(work.path('user_other.md'), work.path('user_one.md'))
      await finish()
      expect(withoutNext(await index())).toBe(OTHER)
      expect(await kinds()).toEqual(['not-a-file'])
    })
  })

  test.each([
    ['torn', '{"startedAt": "2031'],
    ['of something else', '[1, 2]'],
    ['with a way out', record('../secret.md')],
    ['with a file that is none of ours', record('notes.txt')],
    ['with a lock', record('.MEMORY.md.lock.1')],
    ['with a topic that can be none', record('logs/2031/03/2031-03-06.md')],
  ])('a record that is %s is named, leads to nothing and keeps nobody waiting', async (_, text) => {
    await write('.index', text)
    await write('notes.txt', 'x')
    await mkdir(work.path('logs/2031/03'), { recursive: true })
    await write('logs/2031/03/2031-03-06.md', 'x')
    expect(await memdir.verify()).toMatchObject([{ kind: 'unreadable', path: work.path('.index') }])
    expect(await memdir.repair({ dryRun: true })).toEqual({ changes: [] })
    await finish()
    expect(await work.read('notes.txt')).toBe('x')
    expect(await work.read('logs/2031/03/2031-03-06.md')).toBe('x')
    expect(await kinds()).toEqual([])
  })

  test('a record in whose place is something else is refused and stays', async () => {
    mkdirSync(work.path('.index'))
    await expect(finish()).rejects.toMatchObject({ code: 'MEMORY_INVALID' })
    await rm(work.path('.index'), { recursive: true })
    await symlink('nowhere', work.path('.index'))
    await expect(finish()).rejects.toMatchObject({ code: 'PATH_LINK' })
    expect(await kinds()).toEqual(['unreadable'])
    expect(await index()).toBe(OTHER)
  })

  test('a record that cannot be read is an error, and nothing is written before it can', async () => {
    await cutOff(save, before('MEMORY.md'))
    setFaultHook((_, path) =>
      path.endsWith('/.index') ? Object.assign(new Error(), { code: 'EACCES' }) : undefined,
    )
    const start = await snapshot()
    await expect(finish()).rejects.toMatchObject({ code: 'DISK_IO' })
    expect(await snapshot()).toEqual(start)
  })

  test('which is cut off itself, the one after that', async () => {
    await memdir.save(draft)
    await cutOff(remove, before('user_one.md'))
    await cutOff(finish, before('user_one.md'))
    await cutOff(finish, before('.index'))
    await finish()
    expect(await memdir.read('user_one.md')).toBeUndefined()
    expect(await kinds()).toEqual([])
    expect(await trashed()).toEqual(['user_one.md'])
  })
})

function record(path: string): string {
  const step = { path, before: 'x', after: null }
  return JSON.stringify({ startedAt: 'x', steps: [{ ...step, path: 'MEMORY.md', after: 'x' }, step] })
}

test('R15: reading finishes nothing and writes nothing', async () => {
  await memdir.save(draft)
  await cutOff(remove, before('user_one.md'))
  await chmod(work.root, 0o755)
  const start = await snapshot()
  await memdir.index()
  await memdir.list()
  await memdir.read('user_one.md')
  await memdir.search('v1')
  await memdir.trash()
  await memdir.proposals()
  await memdir.verify()
  const { changes } = await memdir.repair({ dryRun: true })
  expect(changes).toEqual([`finish the change begun ${clock().toISOString()}: take away user_one.md`])
  expect(await snapshot()).toEqual(start)
  expect(await memdir.repair()).toEqual({ changes })
})

test('R15: a dry run of repair says what repair does, after a save that was cut off too', async () => {
  await cutOff(save, before('MEMORY.md'))
  const { changes } = await memdir.repair({ dryRun: true })
  expect(changes).toEqual([
    `finish the change begun ${clock().toISOString()}: write in MEMORY.md: - [One](user_one.md) — own words`,
  ])
  expect(await memdir.repair()).toEqual({ changes })
})

test('R15: the record is on the disk before the first step, and holds no words of the memory but its line', async () => {
  await cutOff(() => memdir.save({ ...draft, body: 'the body' }), before('user_one.md'))
  const text = readFileSync(work.path('.index'), 'utf8')
  expect(JSON.parse(text)).toMatchObject({
    startedAt: clock().toISOString(),
    file: 'user_one.md',
    steps: [
      { path: 'user_one.md', before: null, after: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { path: 'MEMORY.md', lines: { before: [], after: [ONE.trim()] } },
    ],
  })
  expect(text).not.toContain('the body')
  expect(await names()).not.toContain('user_one.md')
})

describe('R15: what somebody without a lease writes between the look and the write', () => {
  /** Writes as soon as the record is there, which is after the look. */
  function meanwhile(act: () => void): void {
    let isDone = false
    setFaultHook((operation, path) => {
      if (!isDone && operation === 'rename' && path.endsWith('/.index')) {
        isDone = true
        act()
      }
      return undefined
    })
  }

  test('into the index is kept: the save looks again', async () => {
    meanwhile(() => writeSync('MEMORY.md', `# Mine\n${OTHER}`))
    await memdir.save(draft)
    expect(await index()).toBe(`# Mine\n${OTHER}${ONE}`)
    expect(await kinds()).toEqual([])
  })

  test('into the topic is kept, and the save refused', async () => {
    await memdir.save(draft)
    meanwhile(() => writeSync('user_one.md', 'mine'))
    await expect(saveOver()).rejects.toMatchObject({
      code: 'MEMORY_CONFLICT',
      details: { file: 'user_one.md' },
    })
    expect(await work.read('user_one.md')).toBe('mine')
    expect(await trashed()).toEqual([])
    expect(await names()).not.toContain('.index')
  })

  test('under a name that was free: the save takes another', async () => {
    meanwhile(() => writeSync('user_one.md', 'mine'))
    expect((await memdir.save(draft)).memory.file).toBe('user_one_2.md')
    expect(await work.read('user_one.md')).toBe('mine')
  })

  test('as the same bytes is kept too when the save makes place', async () => {
    await memdir.save(draft)
    const bytes = readFileSync(work.path('user_one.md'))
    await remove()
    meanwhile(() => writeFileSync(work.path('user_one.md'), bytes))
    expect((await memdir.save(draft)).memory.file).toBe('user_one_2.md')
    expect(readFileSync(work.path('user_one.md'))).toEqual(bytes)
  })

  test('into a topic that is removed is kept', async () => {
    await memdir.save(draft)
    meanwhile(() => writeSync('user_one.md', 'mine'))
    await expect(remove()).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
    expect(await work.read('user_one.md')).toBe('mine')
    expect(await index()).toBe(OTHER + ONE)
  })

  test('again and again ends as a conflict', async () => {
    let n = 0
    setFaultHook((operation, path) => {
      if (operation === 'rename' && path.endsWith('/.index'))
        writeSync('MEMORY.md', `# ${(n += 1)}\n${OTHER}`)
      return undefined
    })
    await expect(memdir.save(draft)).rejects.toMatchObject({ code: 'MEMORY_CONFLICT' })
    expect(n).toBe(3)
    expect(await index()).toBe(`# 3\n${OTHER}`)
    expect(await names()).not.toContain('user_one.md')
  })
})

test.each(['MEMORY.md', '.index'])(
  'R15: a save that is made again after it was cut off before %s is made once',
  async (name) => {
    await cutOff(
      save,
      (operation, path) => before(name)(operation, path) && (name === 'MEMORY.md' || operation === 'unlink'),
    )
    expect(await save()).toMatchObject({ memory: { file: 'user_one.md', hook: 'own words' }, visible: true })
    expect(await index()).toBe(`${OTHER}- [One](user_one.md) — own words\n`)
    // Made a third time it is another memory, as ever.
    expect(await save()).toMatchObject({ memory: { file: 'user_one_2.md' } })
  },
)

test('R15: a save over a memory that is made again after it was cut off needs no new revision', async () => {
  const { memory } = await memdir.save(draft)
  const again = (): Promise<unknown> =>
    memdir.save({ ...draft, file: memory.file, body: 'v2' }, { ifRevision: memory.revision })
  await cutOff(again, (operation, path) => operation === 'unlink' && path.endsWith('/.index'))
  expect(await again()).toMatchObject({ memory: { body: 'v2' } })
  expect(await trashed()).toEqual(['user_one.md'])
})

test('R15: each step of a change is flushed before the next, and the record before the first', async () => {
  const { file, revision } = (await memdir.save(draft)).memory
  const steps: string[] = []
  setFaultHook((operation, path) => {
    const name = path
      .slice(work.root.length + 1)
      .replace(/^(.*\/)?\.(.*)\.[0-9a-f]{8}\.tmp$/, '$1$2 in the making')
    const isFlush = operation === 'fdatasync' || ['link', 'rename', 'unlink'].includes(operation)
    if (isFlush && !/\.lock\.|unlink .*making/.test(`${operation} ${name}`))
      steps.push(`${operation} ${name}`.trim())
    return undefined
  })
  await memdir.remove(file, { ifRevision: revision })
  expect(steps).toEqual(
    [
      ['fdatasync .index in the making', 'rename .index', 'fdatasync'],
      // The folder is new.
      ['fdatasync', 'fdatasync .trash/id-1.json in the making', 'link .trash/id-1.json', 'fdatasync .trash'],
      ['fdatasync MEMORY.md in the making', 'rename MEMORY.md', 'fdatasync'],
      ['unlink user_one.md', 'fdatasync'],
      ['unlink .index'],
    ].flat(),
  )
})
