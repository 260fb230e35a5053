import { execFileSync } from 'node:child_process'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { MAX_FILE_BYTES, importsIn, instructionsNote, shownText } from '../src/agent/instructions-text.ts'
import { readInstructions } from '../src/agent/project-instructions.ts'
import { loci } from './run.ts'
import { prompt, resume, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

describe('the files that are read', () => {
  let work: Tree
  async function plant(files: Record<string, TreeFile>): Promise<void> {
    const planted = await tree(files)
    onTestFinished(() => planted.remove())
    work = planted
  }
  /** What is read for `repo/project`, in a repository at `repo`. */
  async function read(files: Record<string, TreeFile>): Promise<Record<string, string>> {
    await plant({ 'repo/.git/': '', 'repo/project/': '', 'home/': '', ...files })
    return look()
  }
  async function look(isDenied: (path: string) => boolean = () => false): Promise<Record<string, string>> {
    const place = {
      root: work.path('repo/project'),
      configDir: work.path('home'),
      userHome: work.path('user'),
    }
    const sections = await readInstructions({ ...place, isDenied })
    expect(new Set(sections.map(({ name }) => name)).size).toBe(sections.length)
    return Object.fromEntries(sections.map(({ name, text }) => [name, text]))
  }

  test('none where there are none', async () => {
    expect(await read({})).toEqual({})
    expect(await read({ 'repo/project/CLAUDE.md': ' \n' })).toEqual({})
  })

  test('of the user, of the repository, of the project, in this order; nothing above the repository', async () => {
    const all = await read({
      'CLAUDE.md': 'above',
      'home/CLAUDE.md': 'user',
      'repo/CLAUDE.md': 'repo c',
      'repo/AGENTS.md': 'repo a',
      'repo/project/AGENTS.md': 'project a',
      'repo/project/CLAUDE.md': 'project c',
      'repo/project/sub/CLAUDE.md': 'below',
    })
    expect(Object.entries(all)).toEqual([
      ["the user's CLAUDE.md", 'user'],
      ['../CLAUDE.md', 'repo c'],
      ['../AGENTS.md', 'repo a'],
      ['CLAUDE.md', 'project c'],
      ['AGENTS.md', 'project a'],
    ])
  })

  test('outside a repository those of the project alone', async () => {
    await plant({ 'repo/CLAUDE.md': 'above', 'repo/project/CLAUDE.md': 'mine', 'home/': '' })
    expect(await look()).toEqual({ 'CLAUDE.md': 'mine' })
  })

  test('one file under two names is read once', async () => {
    const files = { 'repo/project/CLAUDE.md': { link: 'AGENTS.md' }, 'repo/project/AGENTS.md': 'a' }
    expect(await read(files)).toEqual({ 'CLAUDE.md': 'a' })
    expect(await read({ 'repo/project/CLAUDE.md': '@AGENTS.md\n', 'repo/project/AGENTS.md': 'a' })).toEqual({
      'CLAUDE.md': '@AGENTS.md\n',
      'AGENTS.md': 'a',
    })
  })

  test('what it imports follows it; circles end, and what is no file is left alone', async () => {
    const all = await read({
      'repo/project/CLAUDE.md':
        'see @docs/a.md, @docs/a.md and (@docs)\n@nothing mail@example.org @~/secret `@docs/c.md`',
      'repo/project/docs/a.md': '@b.md @../CLAUDE.md',
      'repo/project/docs/b.md': 'b @/etc/hostname-that-is-not',
      'repo/project/docs/c.md': 'c',
      'user/secret': 'key',
    })
    expect(Object.keys(all)).toEqual(['CLAUDE.md', 'docs/a.md', 'docs/b.md'])
  })

  test("only the user's own file reaches outside the repository", async () => {
    const all = await read({
      'home/CLAUDE.md': '@~/notes.md',
      'user/notes.md': 'notes',
      'outside/key': 'secret key',
      'repo/project/CLAUDE.md': { link: '../../outside/key' },
      'repo/project/AGENTS.md': `@../../outside/key @link.md`,
      'repo/project/link.md': { link: '../../outside/key' },
    })
    expect(Object.values(all).join()).not.toContain('secret key')
    expect(all).toMatchObject({
      [work.path('user/notes.md')]: 'notes',
      'CLAUDE.md': '[not read: it leads out of the repository]',
    })
  })

  test('what is no readable text is said, and keeps no other from being read', async () => {
    await plant({
      'repo/.git/': '',
      'repo/project/CLAUDE.md/': '',
      'repo/AGENTS.md': Buffer.from([0xff, 0x41]),
      'home/': '',
    })
    execFileSync('mkfifo', [work.path('repo/CLAUDE.md')])
    await symlink('nowhere', work.path('home/CLAUDE.md'))
    await writeFile(work.path('repo/project/AGENTS.md'), 'a')
    expect(await look()).toEqual({
      "the user's CLAUDE.md": expect.stringMatching(/^\[not read: it cannot be read: .*leads nowhere/),
      '../CLAUDE.md': '[not read: it is no regular file]',
      '../AGENTS.md': '[not read: it is no UTF-8 text]',
      'CLAUDE.md': '[not read: it is no regular file]',
      'AGENTS.md': 'a',
    })
  })

  test('a file that cannot be opened is said', async () => {
    await read({ 'repo/project/CLAUDE.md': 'a', 'repo/project/AGENTS.md': 'b' })
    onTestFinished(() => setFaultHook(undefined))
    setFaultHook((operation, path) =>
      operation === 'open' && path.endsWith('CLAUDE.md')
        ? Object.assign(new Error('no'), { code: 'EACCES' })
        : undefined,
    )
    expect(await look()).toEqual({
      'CLAUDE.md': expect.stringContaining('check its permissions'),
      'AGENTS.md': 'b',
    })
  })

  test('a rule that denies reading holds for imports', async () => {
    await read({ 'repo/project/CLAUDE.md': '@.env', 'repo/project/.env': 'KEY=1' })
    expect(await look((path) => path.endsWith('.env'))).toMatchObject({
      '.env': '[not read: it is kept from the agent by a rule]',
    })
  })

  test('a large one is cut at a line, and says so; a large import is not read; all together have an end', async () => {
    const line = `${'x'.repeat(99)}\n`
    const imports = Array.from({ length: 60 }, (_, n) => `@i${n}.md`).join(' ')
    const all = await read({
      'repo/CLAUDE.md': line.repeat(500),
      'repo/AGENTS.md': '@large.md',
      'repo/large.md': line.repeat(500),
      'repo/project/CLAUDE.md': imports,
      ...Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`repo/project/i${n}.md`, line.repeat(100)]),
      ),
    })
    expect(all['../CLAUDE.md']).toBe(
      `${line.repeat(400)}[cut: the file has 50000 bytes, these are the first 40000; Read shows the rest]`,
    )
    expect(all['../large.md']).toBe('[not read: it has 50000 bytes, and only up to 40000 are imported]')
    expect(all['i5.md']).toBe(line.repeat(100))
    expect(all['i20.md']).toBe('[not read: it comes after 120000 bytes of others]')
    expect(Object.keys(all)).toHaveLength(40)
  })
})

describe('texts', () => {
  test('without an end of line a cut falls between two characters', () => {
    fc.assert(
      fc.property(fc.constantFrom('é', '😀', 'a', '€'), fc.nat(4), (char, shift) => {
        const bytes = Buffer.from(`${'a'.repeat(shift)}${char.repeat(MAX_FILE_BYTES)}`)
        const text = shownText(bytes.subarray(0, MAX_FILE_BYTES + 1), bytes.length) ?? expect.fail('no text')
        const [shown = ''] = text.split('\n')
        expect(shown).not.toContain('\uFFFD')
        expect(MAX_FILE_BYTES - Buffer.byteLength(shown)).toBeLessThan(4)
      }),
    )
  })

  test('imports are words outside of code', () => {
    expect(importsIn('@a b@c @d/e.md. (@f) "@g"\n```\n@h\n```\n`@i` @my\\ file @a')).toEqual([
      'a',
      'd/e.md',
      'my file',
    ])
    expect(importsIn('~~~\n@a')).toEqual([])
  })

  test('a note names what changed, what is gone, and nothing else', () => {
    const a = { name: 'A', text: 'a' }
    const b = { name: 'B', text: 'b' }
    expect(instructionsNote([], [])).toBeUndefined()
    expect(instructionsNote([a, b], [b, a])).toBeUndefined()
    expect(instructionsNote([], [a])).toMatch(/^What the user.*\n\n--- A\na$/)
    expect(instructionsNote([a, b], [{ ...a, text: 'c </context>' }])).toBe(
      'The instructions have changed since.\n\n--- A\nc <\\/context>\n\n--- B\n[no longer there: what it said does not count any more]',
    )
  })
})

describe('in an agent', () => {
  let world: TurnWorld
  beforeEach(async () => {
    world = await turnWorld({ 'a.txt': 'one\n', 'AGENTS.md': 'Indent with tabs.\n' })
  })
  afterEach(async () => {
    expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
    await world.close()
  })
  const told = (): string[] =>
    textsIn(world.requests.at(-1)).filter((text) => text.startsWith('<context name="instructions">'))

  test('they are in the first request, once; a change comes at the end, and what was sent stays', async () => {
    const agent = await world.open()
    await prompt(agent, 'first')
    expect(told()).toEqual([expect.stringMatching(/--- AGENTS\.md\nIndent with tabs\.\n<\/context>$/)])
    await prompt(agent, 'second')
    expect(told()).toHaveLength(1)
    await writeFile(`${world.root}/AGENTS.md`, 'Indent with spaces.\n')
    await prompt(agent, 'third')
    expect(told()).toEqual([
      expect.stringContaining('tabs'),
      '<context name="instructions">\nThe instructions have changed since.\n\n--- AGENTS.md\nIndent with spaces.\n</context>',
    ])
    await agent.close()
    await rm(`${world.root}/AGENTS.md`)
    await prompt(await world.open(resume(agent.session, world.root)), 'fourth')
    expect(told().slice(2)).toEqual([expect.stringContaining('[no longer there')])
    for (const [at, seen] of world.requests.slice(1).entries())
      expect(seen.sharedBytes).toBe(world.requests[at]?.promptBytes)
  })
})

test('--bare reads none', async () => {
  const work = await tree({ 'project/CLAUDE.md': 'Say nothing.', 'home/': '' })
  onTestFinished(() => work.remove())
  const place = { home: work.path('home'), cwd: work.path('project') }
  await loci(place, '-p', 'hello', '--bare')
  expect(JSON.stringify(await work.snapshot())).not.toContain('project_instructions')
  await loci(place, '-p', 'hello')
  expect(JSON.stringify(await work.snapshot())).toContain('project_instructions')
})
