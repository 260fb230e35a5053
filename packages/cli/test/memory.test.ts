import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const DRAFT = {
  name: 'indentation',
  description: 'we indent with 4 spaces',
  type: 'project',
  body: 'Four spaces.',
}

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/.git/HEAD': '', 'project/sub/': '', 'home/loci.json': '{}' })
})
afterEach(() => work.remove())

interface Place {
  env?: Record<string, string>
  input?: unknown
  cwd?: string
}
const run = ({ env, input = DRAFT, cwd = 'project' }: Place, ...argv: string[]): Promise<Run> =>
  loci(
    {
      home: work.path('home'),
      cwd: work.path(cwd),
      input: typeof input === 'string' ? input : JSON.stringify(input),
      ...(env === undefined ? {} : { env }),
    },
    ...argv,
  )

test('save, index, list, show', async () => {
  expect((await run({}, 'memory', 'index')).out).toBe('the index is empty\n')
  const saved = await run({}, 'memory', 'save', '--json')
  expect(saved.json()).toMatchObject({
    memory: { file: 'project_indentation.md', ...DRAFT, body: expect.stringContaining('Four spaces.') },
    visible: true,
    proposed: false,
  })
  expect((await run({}, 'memory', 'index')).out).toContain(
    '- [indentation](project_indentation.md) — we indent with 4 spaces\n',
  )
  expect((await run({}, 'memory', 'list', '--json')).json()).toMatchObject({
    memories: [{ name: 'indentation' }],
    damage: [],
  })
  expect((await run({}, 'memory', 'show', 'project_indentation.md')).out).toContain('Four spaces.')
})

test('remove, trash, restore', async () => {
  await run({}, 'memory', 'save')
  const file = 'project_indentation.md'
  const before = (await run({}, 'memory', 'show', file, '--json')).out
  expect(await run({}, 'memory', 'remove', 'other.md')).toMatchObject({
    code: 1,
    err: expect.stringContaining('There is no memory "other.md"'),
  })
  expect(await run({}, 'memory', 'remove', file)).toMatchObject({ code: 0 })
  expect((await run({}, 'memory', 'index')).out).toBe('the index is empty\n')
  const [entry] = (await run({}, 'memory', 'trash', '--json')).json() as { id: string; file: string }[]
  expect(entry?.file).toBe(file)
  expect((await run({}, 'memory', 'restore', entry?.id ?? '')).out).toBe(`restored ${file}\n`)
  expect(JSON.parse((await run({}, 'memory', 'show', file, '--json')).out)).toMatchObject({
    revision: JSON.parse(before).revision,
  })
  expect((await run({}, 'memory', 'trash')).out).toBe('the trash is empty\n')
})

test('a subfolder of the repository has the same memory, another project another, the user one of all', async () => {
  await run({}, 'memory', 'save')
  await run({}, 'memory', 'save', '--scope', 'user')
  expect((await run({ cwd: 'project/sub' }, 'memory', 'list')).out).toContain('indentation')
  expect((await run({ cwd: 'home' }, 'memory', 'list')).out).toBe('no memories\n')
  expect((await run({ cwd: 'home' }, 'memory', 'list', '--scope', 'user')).out).toContain('indentation')
})

test('status says whether it is on and by which rule, where it is, and how full the index is', async () => {
  await run({}, 'memory', 'save')
  const { json } = await run({}, 'memory', 'status', '--json')
  expect(json()).toMatchObject({
    enabled: true,
    rule: expect.any(String),
    dirs: { project: expect.stringContaining(work.path('home/projects/')), user: work.path('home/memory') },
    index: { lines: 1, lineLimit: 200, byteLimit: 25_000 },
    proposals: 0,
  })
})

test('status names what settings change of how memory is written', async () => {
  const status = async (settings: object): Promise<string> => {
    await writeFile(work.path('home/settings.json'), JSON.stringify(settings))
    return (await run({}, 'memory', 'status')).out
  }
  expect(await status({})).not.toMatch(/memoryMode|memoryReview|memoryExtraction/)
  expect(await status({ memoryMode: 'daily-log', memoryReview: true })).toMatch(
    /\nmemoryMode: new memories go to \S+\/memory\/logs\/YYYY\/MM\/YYYY-MM-DD\.md\nmemoryReview: .+ proposals\n/,
  )
  expect(await status({ memoryReview: true, memoryExtraction: false })).toMatch(
    /\nmemoryExtraction: nothing is remembered in the background\n/,
  )
})

test('a daily log is shown as it is; one that is not there is named, a link is refused', async () => {
  const { dirs } = (await run({}, 'memory', 'status', '--json')).json() as { dirs: { project: string } }
  const file = 'logs/2031/03/2031-03-01.md'
  const absent = await run({}, 'memory', 'show', file)
  expect(absent.err).toMatch(/^loci: There is no memory "logs[^\n]+\[MEMORY_NOT_FOUND\]\n$/)
  await mkdir(`${dirs.project}/logs/2031/03`, { recursive: true })
  await writeFile(`${dirs.project}/${file}`, '- (project) frozen\n')
  expect(await run({}, 'memory', 'show', file)).toMatchObject({ code: 0, out: '- (project) frozen\n' })
  await symlink(`${dirs.project}/logs/2031`, `${dirs.project}/logs/2032`)
  expect((await run({}, 'memory', 'show', 'logs/2032/03/2031-03-01.md')).err).toContain('[PATH_LINK]')
})

test('a memory without description is shown by its name, with no blank at the end of a line', async () => {
  const { dirs } = (await run({}, 'memory', 'status', '--json')).json() as { dirs: { project: string } }
  await mkdir(dirs.project, { recursive: true })
  await writeFile(`${dirs.project}/plain.md`, 'Words.\n')
  expect((await run({}, 'memory', 'list')).out).toMatch(/^plain\.md  project  plain\n/)
  expect((await run({}, 'memory', 'show', 'plain.md')).out).toBe('plain (project)\n\nWords.\n')
})

test.each([
  [{ name: 'x' }, 'at description: it must be a text'],
  [{ ...DRAFT, body: 5 }, 'at body: it must be a text'],
  [{ ...DRAFT, type: 'idea' }, 'at type: it must be one of user, feedback, project, reference'],
])('of a draft it is said what is wrong: %j', async (input, message) => {
  expect((await run({ input }, 'memory', 'save')).err).toContain(message)
})

test('an existing memory needs the revision it was read with; else it is a conflict, exit code 3', async () => {
  const { memory } = (await run({}, 'memory', 'save', '--json')).json() as {
    memory: { file: string; revision: string }
  }
  const changed = { ...DRAFT, body: 'Two.', file: memory.file }
  const refused = await run({ input: changed }, 'memory', 'save')
  expect(refused.err).toMatch(/\[MEMORY_CONFLICT\]\n$/)
  expect(refused.code).toBe(3)
  expect((await run({ input: { ...changed, ifRevision: memory.revision } }, 'memory', 'save')).code).toBe(0)
  expect((await run({}, 'memory', 'show', memory.file)).out).toContain('Two.')
})

test('damage in the folder is listed and makes the exit code 3', async () => {
  const { dirs } = (await run({}, 'memory', 'status', '--json')).json() as { dirs: { project: string } }
  await run({}, 'memory', 'save')
  await writeFile(`${dirs.project}/broken.md`, '---\nname: [never closed\n')
  const { code, json } = await run({}, 'memory', 'list', '--json')
  expect(code).toBe(3)
  expect(json()).toMatchObject({ damage: [{ path: `${dirs.project}/broken.md` }] })
})

describe('where memory is off', () => {
  test.each([
    ['by the environment', { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'yes' } }, []],
    ['in simple mode', { env: { CLAUDE_CODE_SIMPLE: '1' } }, []],
    ['far away without a directory', { env: { CLAUDE_CODE_REMOTE: '1' } }, []],
    ['with --bare', {}, ['--bare']],
    [
      'with --bare, whatever the environment says',
      { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0' } },
      ['--bare'],
    ],
  ])('%s: nothing is saved and nothing made', async (_, place, flags) => {
    const before = await work.snapshot()
    const { code, err } = await run(place, 'memory', 'save', ...flags)
    expect(err).toMatch(/^loci: Memory is off: [^\n]+ \[MEMORY_DISABLED\]\n$/)
    expect(code).toBe(1)
    expect(await work.snapshot()).toEqual(before)
    expect((await run(place, 'memory', 'status', '--json', ...flags)).json()).toMatchObject({
      enabled: false,
    })
  })

  test('by a setting, and the environment can turn it on again', async () => {
    await writeFile(
      work.path('home/settings.json'),
      '\uFEFF{ "autoMemoryEnabled": false, "theme": "dark" }\r\n',
    )
    expect((await run({}, 'memory', 'save')).err).toContain('[MEMORY_DISABLED]')
    expect((await run({ env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0' } }, 'memory', 'save')).code).toBe(0)
  })
})

describe('settings', () => {
  test('a project may not say where memory is, its local file may', async () => {
    const away = JSON.stringify({ autoMemoryDirectory: work.path('away') })
    const dirOf = async (): Promise<string> =>
      ((await run({}, 'memory', 'status', '--json')).json() as { dirs: { project: string } }).dirs.project
    await mkdir(work.path('project/.claude'))
    await writeFile(work.path('project/.claude/settings.json'), away)
    expect(await dirOf()).toContain(work.path('home/projects/'))
    await writeFile(work.path('project/.claude/settings.local.json'), away)
    expect(await dirOf()).toBe(work.path('away'))
    expect((await run({}, 'memory', 'save')).code).toBe(0)
    expect(Object.keys(await work.snapshot()).filter((name) => name.startsWith('home/projects'))).toEqual([])
  })

  test.each([
    ['{ "autoMemoryEnabled": ', 'is not valid JSON'],
    ['{ "autoMemoryEnabled": "no" }', 'autoMemoryEnabled'],
    ['[]', 'at the top'],
  ])('%j is refused with the file named, and kept', async (text, what) => {
    await writeFile(work.path('home/settings.json'), text)
    const { code, err } = await run({}, 'memory', 'save')
    expect(err).toMatch(/^loci: "[^\n]+settings\.json" [^\n]+ \[CONFIG_INVALID\]\n$/)
    expect(err).toContain(what)
    expect(code).toBe(1)
    expect(await work.read('home/settings.json')).toBe(text)
  })
})

test.each([
  ['not JSON', '{"name":'],
  ['not a draft', { name: 'x' }],
  ['an unknown field', { ...DRAFT, tags: [] }],
  ['a type there is none of', { ...DRAFT, type: 'idea' }],
  ['a file that leads elsewhere', { ...DRAFT, file: '../../x.md' }],
  ['nothing', ''],
])('a draft that is %s is refused in one line, and nothing is saved', async (_, input) => {
  const { code, err } = await run({ input }, 'memory', 'save')
  expect(err).toMatch(/^loci: [^\n]+ \[(MEMORY_INVALID|PATH_OUTSIDE)\]\n$/)
  expect(code).toBe(1)
  expect((await run({}, 'memory', 'list')).out).toBe('no memories\n')
})

test('an unknown memory is named', async () => {
  const { code, err } = await run({}, 'memory', 'show', 'nothing.md')
  expect(err).toMatch(/^loci: There is no memory "nothing\.md"[^\n]+\[MEMORY_NOT_FOUND\]\n$/)
  expect(code).toBe(1)
})
