import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dailyLogTemplate, loadMemoryPrompt, memoryDirs, openMemdir } from '@loci/memdir'
import type { MemoryDirs, MemoryPrompt } from '@loci/memdir'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'

let work: Tree | undefined
afterEach(async () => {
  setFaultHook(undefined)
  vi.useRealTimers()
  await work?.remove()
  work = undefined
})

async function place(files: Record<string, TreeFile> = {}): Promise<{ work: Tree; dirs: MemoryDirs }> {
  work = await tree(files)
  return { work, dirs: memoryDirs({ home: work.path('home'), projectDir: work.path('home/projects/p') }) }
}

async function load(
  dirs: MemoryDirs,
  options: { mode?: 'index' | 'daily-log'; team?: boolean } = {},
): Promise<MemoryPrompt> {
  const prompt = await loadMemoryPrompt({ dirs, enabled: true, ...options })
  if (prompt === null) throw new Error('no prompt')
  return prompt
}

const PROJECT = 'home/projects/p/memory/MEMORY.md'

test('M04: switched off it is null, and looks at nothing', async () => {
  const { work: made, dirs } = await place({ [PROJECT]: '- [a](a.md)\n' })
  const seen: string[] = []
  setFaultHook((operation) => void seen.push(operation))
  expect(await loadMemoryPrompt({ dirs, enabled: false })).toBeNull()
  expect(await loadMemoryPrompt({ dirs, enabled: false, mode: 'daily-log', team: true })).toBeNull()
  expect(seen).toEqual([])
  expect(Object.keys(await made.snapshot())).toEqual([PROJECT])
})

test('switched on it makes nothing either', async () => {
  const { work: made, dirs } = await place()
  expect(await load(dirs)).toMatchObject({ context: '', loaded: [] })
  expect(await made.snapshot()).toEqual({})
})

test('context holds each index under its path, in a fixed order; the team only where asked', async () => {
  const { work: made, dirs } = await place({
    'home/MEMORY.md': 'Plain notes.\n',
    'home/memory/MEMORY.md': '\uFEFF- [u](u.md) — user\r\n',
    [PROJECT]: '<!-- hint -->\n- [p](p.md) — project\n',
    'home/projects/p/memory/team/MEMORY.md': '- [t](t.md) — team\n',
  })
  const { context, loaded } = await load(dirs)
  expect(context).toBe(
    [
      `Notes for all projects (${made.path('home/MEMORY.md')}):`,
      'Plain notes.',
      `Index of the memory for all projects (${made.path('home/memory/MEMORY.md')}):`,
      '- [u](u.md) — user',
      `Index of the memory of this project (${made.path(PROJECT)}):`,
      '- [p](p.md) — project',
    ].join('\n\n'),
  )
  expect(loaded).toEqual([
    { file: made.path('home/MEMORY.md'), lines: 1, bytes: 12, truncated: false },
    { file: made.path('home/memory/MEMORY.md'), lines: 1, bytes: 20, truncated: false },
    { file: made.path(PROJECT), lines: 1, bytes: 23, truncated: false },
  ])
  const team = await load(dirs, { team: true })
  expect(team.context.startsWith(context)).toBe(true)
  expect(team.context).toContain('- [t](t.md) — team')
  expect(team.loaded).toHaveLength(4)
  expect(team.system).toContain(dirs.team)
  expect((await load(dirs)).system).not.toContain(dirs.team)
})

test('each index is cut for itself, with its warning; loaded counts what is passed on', async () => {
  const { dirs } = await place({
    'home/memory/MEMORY.md': '- u\n'.repeat(150),
    [PROJECT]: '- p\n'.repeat(250),
  })
  const { context, loaded } = await load(dirs)
  expect(context.match(/^- u$/gm)).toHaveLength(150)
  expect(context.match(/^- p$/gm)).toHaveLength(200)
  expect(context.match(/^> .*$/gm)).toEqual([expect.stringContaining('250 lines')])
  expect(loaded).toMatchObject([
    { lines: 150, bytes: 599, truncated: false },
    { lines: 200, bytes: 799, truncated: true },
  ])
})

describe('M03: only what is empty reads as empty', () => {
  test.each([
    ['a directory', { [`${PROJECT}/x`]: '' }, /is a directory/],
    ['a dangling link', { [PROJECT]: { link: '/nowhere/at/all' } }, /is a symbolic link/],
  ] as const)('%s in its place', async (_, files, message) => {
    const { dirs } = await place(files)
    const { context, loaded } = await load(dirs)
    expect(loaded).toEqual([])
    expect(context).toMatch(message)
  })

  test('a file without permission', async () => {
    const { dirs } = await place({ [PROJECT]: '- [a](a.md)\n', 'home/memory/MEMORY.md': '- u\n' })
    setFaultHook((_, path) =>
      path.startsWith(dirs.project) ? Object.assign(new Error(), { code: 'EACCES' }) : undefined,
    )
    const { context, loaded } = await load(dirs)
    expect(context).toContain('- u')
    expect(context).toMatch(/this project .*\n\n> It is there but could not be read/)
    expect(context).toContain('permissions')
    expect(loaded).toHaveLength(1)
  })

  test.each([
    ['a byte order mark and CRLF', '\uFEFF- [a](a.md)\r\n', '- [a](a.md)'],
    ['a first line over the limit', 'x'.repeat(30_000), 'x'.repeat(25_000)],
    ['bytes that are not UTF-8', Buffer.from([0x2d, 0x20, 0xff, 0x0a]), '- \uFFFD'],
  ])('%s', async (_, text, content) => {
    const { dirs } = await place({ [PROJECT]: text })
    expect((await load(dirs)).context).toContain(`\n\n${content}`)
  })

  test.each(['', '\n\n', '\uFEFF', '<!-- nothing -->\n', '---\na: b\n---\n'])(
    'really empty: %j',
    async (text) => {
      const { dirs } = await place({ [PROJECT]: text })
      expect(await load(dirs)).toMatchObject({ context: '', loaded: [] })
    },
  )

  test('a FIFO is not waited for', async () => {
    const { work: made, dirs } = await place({ 'home/projects/p/memory/': '' })
    const { execFileSync } = await import('node:child_process')
    execFileSync('mkfifo', [made.path(PROJECT)])
    expect((await load(dirs)).context).toMatch(/not a regular file/)
  })
})

describe('M13: the same files give the same bytes', () => {
  const FILES = ['c', 'a', 'b'].map((name) => [`${name}.md`, `---\nname: ${name}\n---\n`] as const)

  async function fill(dir: string, order: readonly (readonly [string, string])[]): Promise<void> {
    await mkdir(dir, { recursive: true })
    for (const [name, text] of order) await writeFile(join(dir, name), text)
    await writeFile(
      join(dir, 'MEMORY.md'),
      order
        .map(([name]) => `- [${name}](${name})\n`)
        .toSorted()
        .join(''),
    )
  }

  test.each(['index', 'daily-log'] as const)(
    'before and after midnight, after a touch, in another order (%s)',
    async (mode) => {
      const { dirs } = await place()
      await fill(dirs.project, FILES)
      vi.useFakeTimers({ toFake: ['Date'], now: new Date('2033-12-31T23:59:59Z') })
      const first = await load(dirs, { mode })
      vi.setSystemTime(new Date('2034-01-01T00:01:00Z'))
      await utimes(join(dirs.project, 'MEMORY.md'), 1, 1)
      await utimes(join(dirs.project, 'a.md'), 2, 2)
      expect(await load(dirs, { mode })).toEqual(first)
      await rm(dirs.project, { recursive: true })
      await fill(dirs.project, FILES.toReversed())
      expect(await load(dirs, { mode })).toEqual(first)
      expect(JSON.stringify(first)).not.toMatch(/2033|2034|\d{4}-\d\d/)
    },
  )

  test('guidance does not depend on what is remembered, context does', async () => {
    const { dirs } = await place()
    const before = await load(dirs)
    await (
      await openMemdir({ dir: dirs.project })
    ).save({ name: 'a', description: 'new', type: 'user', body: 'x' })
    const after = await load(dirs)
    expect(after.system).toBe(before.system)
    expect(after.context).toContain('- [a](user_a.md) — new')
  })
})

describe('guidance', () => {
  test('names the places, the four types, what not to save, both steps and the limits', async () => {
    const { dirs } = await place()
    const { system } = await load(dirs)
    for (const text of [dirs.user, dirs.project, '- user:', '- feedback:', '- project:', '- reference:']) {
      expect(system).toContain(text)
    }
    expect(system).toMatch(/What not to remember/)
    expect(system).toMatch(/1\. The topic file[^]*2\. One line for it in MEMORY\.md/)
    expect(system).toMatch(/200 lines and 25000 bytes/)
    expect(system).not.toContain('logs/')
    expect(system).not.toContain('undefined')
  })

  test.each(['user', 'feedback', 'project', 'reference'])(
    'shows a good and a bad example of type %s',
    async (type) => {
      const { dirs } = await place()
      expect((await load(dirs)).system).toMatch(new RegExp(`^- ${type}: .*\\n  Good: ".+" Bad: ".+"`, 'm'))
    },
  )

  test('says when to read a topic file, to verify before relying, and which tools do it at once', async () => {
    const { dirs } = await place()
    for (const mode of ['index', 'daily-log'] as const) {
      const { system } = await load(dirs, { mode })
      expect(system).toMatch(/Read a topic file .* when its line touches the task/)
      expect(system).toMatch(/Before you rely on .* check that it is still so/)
      expect(system).toMatch(/If you have a tool SaveMemory, use it/)
      expect(system).toMatch(/Otherwise .*by hand/)
    }
  })

  test.each([
    ['index', true],
    ['index', false],
    ['daily-log', true],
  ] as const)('takes at most 1,500 tokens (mode %s, team %s)', async (mode, team) => {
    const dirs = memoryDirs({
      home: '/home/someone/.config/agent',
      projectDir: '/home/someone/.config/agent/projects/-home-someone-code-a-project',
    })
    const { system } = await load(dirs, { mode, team })
    // English prose has more than 4 characters a token in the tokenizers of today; 3.2 is on the safe side.
    expect(Math.ceil(system.length / 3.2)).toBeLessThanOrEqual(1500)
    // Its own examples name no day that could be taken for today's.
    expect(system).not.toMatch(/\b20[012]\d\b/)
  })

  test('M8: in daily-log mode holds the template of the path, letter by letter, in place of the two steps', async () => {
    const { dirs } = await place()
    const { system } = await load(dirs, { mode: 'daily-log' })
    expect(system).toContain(`${dirs.project}/logs/YYYY/MM/YYYY-MM-DD.md`)
    expect(system).not.toContain('both steps')
    expect(dailyLogTemplate('/m')).toBe('/m/logs/YYYY/MM/YYYY-MM-DD.md')
  })
})
