import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeSnapshot } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AgentMemory } from '../src/agent/agent-memory.ts'
import { openMemory } from '../src/agent/open-memory.ts'
import type { ToolResult } from '../src/agent/tools/tool.ts'
import { openConfigHome } from '../src/config-home.ts'
import { toolRoom } from './agent-tools-room.ts'

const SESSION = '00000000-0000-4000-8000-0000000000aa'

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/': '' })
})
afterEach(() => work.remove())

async function open(
  options: { env?: Record<string, string>; bare?: boolean; write?: boolean; home?: string } = {},
): Promise<AgentMemory> {
  const { env = {}, bare = false, write = false, home = 'home' } = options
  return openMemory({
    home: await openConfigHome({ dir: work.path(home), write }),
    cwd: work.path('project'),
    env,
    bare,
    sessionId: SESSION,
    now: () => new Date(2026, 11, 1, 12),
  })
}

type Use = (name: string, input: unknown) => Promise<ToolResult>

async function tools(memory: AgentMemory): Promise<Use> {
  return (await toolRoom({}, { memory })).use
}

const FACT = {
  name: 'Indentation',
  description: 'how we indent',
  type: 'project',
  body: 'Four spaces.',
  scope: 'project',
}

async function below(dir: string): Promise<string[]> {
  return await readdir(work.path(dir), { recursive: true }).catch((): string[] => [])
}

/** Everything but the numbers that say who may write. */
async function withoutLocks(): Promise<TreeSnapshot> {
  const entries = Object.entries(await work.snapshot())
  return Object.fromEntries(entries.filter(([name]) => !name.includes('.lock.')))
}

describe('SaveMemory', () => {
  test.for([
    ['project', 'the memory of this project'],
    ['user', 'the memory for all projects'],
  ] as const)(
    'saves topic file and index line into the %s memory, with where they are from',
    async ([scope, where]) => {
      const memory = await open()
      const use = await tools(memory)
      expect(await below('home')).toEqual([])
      const { text, isError } = await use('SaveMemory', { ...FACT, scope })
      expect(text).toBe(`Saved project_indentation.md in ${where}.`)
      expect(isError).toBe(false)
      const [project = '', user = ''] = memory.dirs
      const dir = scope === 'project' ? project : user
      const topic = await readFile(`${dir}/project_indentation.md`, 'utf8')
      expect(topic).toContain('Four spaces.')
      expect(topic).toMatch(new RegExp(`^ +originSessionId: "?${SESSION}"?$`, 'm'))
      expect(await readFile(`${dir}/MEMORY.md`, 'utf8')).toContain('(project_indentation.md)')
      expect(await memory.read(scope, 'project_indentation.md')).toMatchObject({ name: 'Indentation' })
      expect(
        await memory.read(scope === 'user' ? 'project' : 'user', 'project_indentation.md'),
      ).toBeUndefined()
    },
  )

  test('in two steps: SearchMemory shows file and revision, with them it is changed', async () => {
    const use = await tools(await open())
    await use('SaveMemory', FACT)
    const { text } = await use('SearchMemory', { query: 'indent' })
    const [, file, revision] =
      /^(\S+) \(project, project\): how we indent\nrevision (\S+) \(written today\)\nFour spaces\.$/.exec(
        text,
      ) ?? []
    expect(file).toBe('project_indentation.md')
    const changed = await use('SaveMemory', { ...FACT, body: 'Two spaces.', file, revision })
    expect(changed).toMatchObject({ isError: false, details: { file, scope: 'project' } })
    expect((await use('SearchMemory', { query: 'spaces' })).text).toMatch(/\nTwo spaces\.$/)
  })

  test.for([
    ['another revision', 'x', /was changed since it was read/],
    ['no revision', undefined, /exists: read it and give its revision/],
  ] as const)('with %s nothing is saved, and the answer is how it is now', async ([, revision, message]) => {
    const memory = await open()
    const use = await tools(memory)
    await use('SaveMemory', FACT)
    const before = await withoutLocks()
    const now = await memory.read('project', 'project_indentation.md')
    const input = { ...FACT, body: 'Two.', file: 'project_indentation.md', revision }
    const { text, isError } = await use('SaveMemory', input)
    expect(text).toMatch(/^Nothing was saved: /)
    expect(text).toMatch(message)
    expect(text).toContain(
      `\nIt is now:\nproject_indentation.md (project, project): how we indent\nrevision ${now?.revision}\nFour spaces.`,
    )
    expect(isError).toBe(true)
    expect(await withoutLocks()).toEqual(before)
    // What it was told is enough to do it.
    const [, told] = /revision (\S+)/.exec(text.slice(text.indexOf('It is now'))) ?? []
    expect((await use('SaveMemory', { ...input, revision: told })).isError).toBe(false)
  })

  test('a revision of a memory that is gone says so', async () => {
    const use = await tools(await open())
    const { text, isError } = await use('SaveMemory', { ...FACT, file: 'gone.md', revision: 'x' })
    expect(text).toMatch(/^Nothing was saved: "gone.md" is not there any more/)
    expect(text).not.toContain('It is now')
    expect(isError).toBe(true)
  })

  test.for([
    ['a file outside', { file: '../a.md' }, /^SaveMemory failed: /],
    ['a file that is no topic', { file: 'MEMORY.md' }, /^SaveMemory failed: /],
    ['a scope that there is not', { scope: 'team' }, /^The input of SaveMemory is not valid.*scope: /],
    ['half a character', { body: 'x\uD83D' }, /body: holds half a character/],
    ['a blank name', { name: ' ' }, /^SaveMemory failed: /],
  ] as const)('%s is refused in a line, and nothing is made', async ([, change, message]) => {
    const use = await tools(await open())
    const { text, isError } = await use('SaveMemory', { ...FACT, ...change })
    expect(text).toMatch(message)
    expect(text).not.toContain('\n')
    expect(isError).toBe(true)
    expect((await below('')).filter((name) => name.endsWith('.md'))).toEqual([])
  })

  test('in plan mode nothing is saved', async () => {
    const { use } = await toolRoom({}, { memory: await open(), rules: { mode: 'plan' } })
    expect((await use('SaveMemory', FACT)).text).toBe('In plan mode nothing is changed.')
    expect((await use('SearchMemory', { query: 'x' })).isError).toBe(false)
    expect(await below('home')).toEqual([])
  })
})

describe('where it may not be', () => {
  test.for([{ bare: true }, { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' } }])(
    'memory that is off saves nothing and makes nothing: %o',
    async (options) => {
      const memory = await open(options)
      expect(memory).toMatchObject({ enabled: false, dirs: [] })
      expect(await memory.prompt()).toBeNull()
      const use = await tools(memory)
      expect((await use('SaveMemory', FACT)).text).toMatch(/^SaveMemory failed: Memory is off: /)
      expect((await use('SearchMemory', { query: 'x' })).text).toMatch(/^Memory is off: /)
      expect(await below('home')).toEqual([])
    },
  )

  test.for(['project', 'user'])(
    "nothing is saved (%s) into another program's config home without --write",
    async (scope) => {
      await mkdir(work.path('home'))
      await writeFile(work.path('home/settings.json'), '{}')
      const { text, isError } = await (await tools(await open()))('SaveMemory', { ...FACT, scope })
      expect(text).toMatch(/^SaveMemory failed: .*was not made by Loci and is only read/)
      expect(isError).toBe(true)
      expect(await below('home')).toEqual(['settings.json'])
      const allowed = await tools(await open({ write: true }))
      expect((await allowed('SaveMemory', { ...FACT, scope })).isError).toBe(false)
      expect(await below('home')).not.toContain('loci.json')
    },
  )

  test('its folders are real paths, so that permissions know them, before and after they are made', async () => {
    await mkdir(work.path('real'))
    await symlink('real', work.path('home'))
    const before = await open()
    await (
      await tools(before)
    )('SaveMemory', { ...FACT, scope: 'user' })
    const after = await open()
    expect(after.dirs).toEqual(before.dirs)
    for (const dir of after.dirs) expect(dir.startsWith(work.path('real/'))).toBe(true)
  })
})

describe('SearchMemory', () => {
  test('finds in both scopes, the project first, ten of each', async () => {
    const use = await tools(await open())
    for (let index = 0; index < 12; index += 1)
      await use('SaveMemory', { ...FACT, name: `Indentation ${index}` })
    await use('SaveMemory', { ...FACT, name: 'Indentation everywhere', scope: 'user' })
    const { text } = await use('SearchMemory', { query: 'indentation' })
    const heads = text.split('\n').filter((line) => line.includes('): how we indent'))
    expect(heads.map((line) => /\((\w+),/.exec(line)?.[1])).toEqual([
      ...Array.from({ length: 10 }, () => 'project'),
      'user',
    ])
    expect(text.endsWith('\n\n[2 more fit less well; more exact words would show them]')).toBe(true)
  })

  test('marks files that a memory names and that are gone, and says how old it is; nothing is changed', async () => {
    const memory = await open()
    const body = 'Read `src/gone.ts`, src/there.ts:12 and src/never.ts (see https://example.com/a/b.html).'
    const { use, root } = await toolRoom(
      { 'project/src/there.ts': '' },
      { memory, now: () => new Date(Date.now() + 100 * 24 * 60 * 60 * 1000) },
    )
    await use('SaveMemory', { ...FACT, body })
    await use('SaveMemory', { ...FACT, body, name: 'Everywhere', scope: 'user' })
    const before = await work.snapshot()
    const { text } = await use('SearchMemory', { query: 'indent' })
    const revision = /revision (\S+)/.exec(text)?.[1]
    expect(text).toContain(
      `how we indent\nrevision ${revision} (written 3 months ago)\nsrc/gone.ts, src/never.ts, which it names, are not there now\n${body}`,
    )
    // What holds in every project names files of others too.
    expect(text.match(/not there now/g)).toHaveLength(1)
    await writeFile(`${root}/src/gone.ts`, '')
    expect((await use('SearchMemory', { query: 'indent' })).text).toContain(
      'src/never.ts, which it names, is not there now',
    )
    expect(await work.snapshot()).toEqual(before)
  })

  test('what is said of its age is not in what is sent from the start', async () => {
    const memory = await open()
    await (
      await tools(memory)
    )('SaveMemory', FACT)
    expect(JSON.stringify(await memory.prompt())).not.toMatch(/written today|ago/)
  })

  test('nothing that fits is no error', async () => {
    const use = await tools(await open())
    expect(await use('SearchMemory', { query: 'x' })).toEqual({ text: 'No memory fits.', isError: false })
  })

  test.for(['project', 'user'])(
    'a damaged folder (%s) does not hide the other, and is named',
    async (broken) => {
      const use = await tools(await open())
      await use('SaveMemory', { ...FACT, scope: broken === 'user' ? 'project' : 'user' })
      const [project = '', user = ''] = (await open()).dirs
      const dir = broken === 'user' ? user : project
      await mkdir(work.path('home'), { recursive: true })
      await mkdir(dir.slice(0, dir.lastIndexOf('/')), { recursive: true })
      await writeFile(dir, 'no folder')
      const { text, isError } = await use('SearchMemory', { query: 'indent' })
      expect(text).toContain('Four spaces.')
      expect(text).toContain(`The memory of scope ${broken} could not be searched: `)
      expect(isError).toBe(false)
      const nothing = await use('SearchMemory', { query: 'nothing' })
      expect(nothing.text).toMatch(/^No memory fits\.\n\nThe memory of scope/)
      expect(nothing.isError).toBe(true)
    },
  )

  test('a damaged topic file does not hide the others', async () => {
    const memory = await open()
    const use = await tools(memory)
    await use('SaveMemory', FACT)
    const [project = ''] = memory.dirs
    await writeFile(`${project}/project_broken.md`, '---\nname: [\n---\nindent')
    await symlink('/nowhere', `${project}/project_link.md`)
    expect((await use('SearchMemory', { query: 'indent' })).text).toContain('Four spaces.')
  })
})
