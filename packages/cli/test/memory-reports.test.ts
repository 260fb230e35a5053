import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const DRAFT = { name: 'Secret of A', description: 'only for A', type: 'project', body: 'The words of A.' }

let work: Tree
beforeEach(async () => {
  work = await tree({ 'home/loci.json': '{"formatVersion":1}', 'user/': '' })
})
afterEach(() => work.remove())

interface Where {
  cwd: string
  env?: Record<string, string>
}
const run = ({ cwd, env = {} }: Where, ...argv: string[]): Promise<Run> =>
  loci(
    {
      home: work.path('home'),
      cwd: work.path(cwd),
      input: JSON.stringify(DRAFT),
      env: { HOME: work.path('user'), ...env },
    },
    ...argv,
  )

interface Status {
  enabled: boolean
  rule: string
  dirs: { project: string; user: string; warnings?: string[] }
}
const status = async (where: Where): Promise<Status> =>
  (await run(where, 'memory', 'status', '--json')).json() as Status

async function folders(...names: string[]): Promise<void> {
  for (const name of names) await mkdir(work.path(name), { recursive: true })
}

/** Every name below a folder, but for locks. */
async function below(dir: string): Promise<string[]> {
  const names = await readdir(work.path(dir), { recursive: true }).catch((): string[] => [])
  return names.filter((name) => !name.includes('.lock')).toSorted()
}

/** What a prompt of the offline model is sent of memory: it answers from it. */
const asked = async (where: Where): Promise<string> =>
  (await run(where, '-p', '--offline', 'what do you remember?')).out

describe('M07 a project never sees the memory of another, whatever their paths have in common', () => {
  test.for([
    ['five characters each that a folder name cannot hold', '甲乙丙丁戊', '子丑寅卯辰'],
    ['a dot and a dash', 'a.b', 'a-b'],
    ['an underscore and a blank', 'a_b', 'a b'],
    ['composed and decomposed', 'caf\u00e9', 'cafe\u0301'],
  ] as const)('%s', async ([, first, second]) => {
    const [a, b] = [`p/${first}`, `p/${second}`]
    await folders(`${a}/`, `${b}/`)
    expect((await run({ cwd: a }, 'memory', 'save')).code).toBe(0)
    const before = await status({ cwd: a })
    await rm(work.path(a), { recursive: true })
    const after = await status({ cwd: b })
    expect(after.dirs.project).not.toBe(before.dirs.project)
    expect((await run({ cwd: b }, 'memory', 'list')).out).toBe('no memories\n')
    expect(await asked({ cwd: b })).not.toContain('only for A')
    // Each goes on with its own.
    expect((await run({ cwd: b }, 'memory', 'save')).code).toBe(0)
    await folders(`${a}/`)
    expect((await status({ cwd: a })).dirs.project).toBe(before.dirs.project)
  })

  test('a folder that was renamed begins anew', async () => {
    await folders('p/a/')
    await run({ cwd: 'p/a' }, 'memory', 'save')
    await rename(work.path('p/a'), work.path('p/moved'))
    expect((await run({ cwd: 'p/moved' }, 'memory', 'list')).out).toBe('no memories\n')
  })

  test('a link to a project is that project', async () => {
    await folders('p/a/')
    await run({ cwd: 'p/a' }, 'memory', 'save')
    await symlink(work.path('p/a'), work.path('p/link'))
    expect((await status({ cwd: 'p/link' })).dirs.project).toBe((await status({ cwd: 'p/a' })).dirs.project)
  })
})

describe('M11 one place for reading, writing, the prompt and permissions', () => {
  const SOURCES = {
    user: 'home/settings.json',
    local: 'p/.claude/settings.local.json',
    'checked in': 'p/.claude/settings.json',
  } as const
  const VALUES: [value: string, place: string | undefined][] = [
    ['ABSOLUTE/mem', 'mem'],
    ['ABSOLUTE/mem/', 'mem'],
    ['~/mem', 'user/mem'],
    ['~/../mem', undefined],
    ['~someone/mem', undefined],
    ['mem', undefined],
    ['./mem', undefined],
    ['', undefined],
    ['/', undefined],
    ['~', undefined],
    ['\\\\server\\share', undefined],
    ['ABSOLUTE/a\0b', undefined],
  ]
  const cases = Object.entries(SOURCES).flatMap(([source, file]) =>
    VALUES.map(([value, place]) => ({
      source,
      file,
      value,
      place: source === 'checked in' ? undefined : place,
    })),
  )
  test.for(cases)('$source: $value', async ({ file, value, place }) => {
    await folders('p/.claude/')
    const autoMemoryDirectory = value.replace('ABSOLUTE', work.root)
    await writeFile(work.path(file), JSON.stringify({ autoMemoryDirectory }))
    const { dirs } = await status({ cwd: 'p' })
    if (place === undefined) {
      expect(dirs.warnings).toEqual([expect.stringContaining('autoMemoryDirectory')])
      expect(dirs.project).toMatch(new RegExp(`^${work.path('home/projects')}/[^/]+/memory$`))
    } else {
      expect(dirs).toMatchObject({ project: work.path(place) })
      expect(dirs.warnings).toBeUndefined()
    }
    expect((await run({ cwd: 'p' }, 'memory', 'save')).code).toBe(0)
    const folder = dirs.project.slice(work.root.length + 1)
    expect(await below(folder)).toEqual(['MEMORY.md', 'project_secret_of_a.md'])
    expect((await run({ cwd: 'p' }, 'memory', 'list')).out).toContain('project_secret_of_a.md')
    expect(await asked({ cwd: 'p' })).toContain('only for A')
    if (place !== undefined)
      expect((await below('home')).filter((name) => name.includes('memory'))).toEqual([])
  })

  test('a file in the place of the directory is an error that says so, and stays', async () => {
    await folders('p')
    await writeFile(work.path('user/mem'), 'mine')
    await writeFile(work.path('home/settings.json'), '{"autoMemoryDirectory":"~/mem"}')
    const { code, err } = await run({ cwd: 'p' }, 'memory', 'save')
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('user/mem') })
    expect(await work.read('user/mem')).toBe('mine')
  })
})

describe('M04 one gate for every door', () => {
  const ENV: Record<string, string>[] = [
    { CLAUDE_CODE_DISABLE_AUTO_MEMORY: 'yes' },
    { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1', CLAUDE_CODE_REMOTE_MEMORY_DIR: '/x' },
    { CLAUDE_CODE_SIMPLE: 'on' },
    { CLAUDE_CODE_REMOTE: 'TRUE' },
    {},
  ]
  test.for(ENV)('%j: off is off', async (env) => {
    await folders('p/')
    expect((await run({ cwd: 'p' }, 'memory', 'save')).code).toBe(0)
    if (Object.keys(env).length === 0)
      await writeFile(work.path('home/settings.json'), '{"autoMemoryEnabled":false}')
    const before = await below('home')
    const where = { cwd: 'p', env }
    expect(await status(where)).toMatchObject({ enabled: false })
    expect((await run(where, 'memory', 'status')).out).toMatch(/^memory is off: .+\n/)
    expect((await run(where, 'memory', 'save')).err).toContain('Memory is off')
    expect(await asked(where)).not.toContain('only for A')
    await run(where, '-p', '--offline', 'remember that everything changed')
    const after = (await below('home')).filter((name) => name.includes('memory'))
    expect(after).toEqual(before.filter((name) => name.includes('memory')))
  })

  test('the settings of a project hold in its subfolders and worktrees, and its checked-in file overrules nobody', async () => {
    await folders('p/.git/objects', 'p/.git/refs', 'p/.claude', 'p/sub/deep')
    await writeFile(work.path('p/.git/HEAD'), 'ref: refs/heads/main\n')
    await writeFile(work.path('p/.git/config'), '[core]\n\tbare = false\n')
    const say = (file: string, value: unknown): Promise<void> =>
      writeFile(work.path(file), JSON.stringify(value))
    await say('p/.claude/settings.local.json', { autoMemoryEnabled: false })
    for (const cwd of ['p', 'p/sub', 'p/sub/deep'])
      expect(await status({ cwd })).toMatchObject({ enabled: false })
    await say('p/.claude/settings.local.json', {})
    await say('home/settings.json', { autoMemoryEnabled: false })
    await say('p/.claude/settings.json', { autoMemoryEnabled: true })
    for (const cwd of ['p', 'p/sub']) expect(await status({ cwd })).toMatchObject({ enabled: false })
    await say('home/settings.json', {})
    await say('p/.claude/settings.json', { autoMemoryEnabled: false })
    for (const cwd of ['p', 'p/sub']) expect(await status({ cwd })).toMatchObject({ enabled: false })
  })

  test('off from the beginning no folder is made', async () => {
    await folders('p/')
    const where = { cwd: 'p', env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' } }
    await run(where, '-p', '--offline', 'remember that we indent with tabs')
    expect((await below('home')).filter((name) => name.includes('memory'))).toEqual([])
  })
})
