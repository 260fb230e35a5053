import { writeFile } from 'node:fs/promises'
import { runCli } from '@loci/cli'
import { setFaultHook, tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { projectConsent } from '../src/agent/stored-rules.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

let work: Tree
const open = async (files: Record<string, TreeFile> = {}): Promise<void> => {
  await work.remove()
  work = await tree({
    'project/a.txt': 'one\n',
    'home/loci.json': '{"formatVersion":1}\n',
    'home/settings.json': '{"memoryExtraction":false}',
    ...files,
  })
}
beforeEach(async () => {
  work = await tree()
  await open()
})
afterEach(() => work.remove())

/** A terminal where these answers are typed when something is asked. */
async function talk(
  lines: string[],
  answers: string[],
  ...argv: string[]
): Promise<{ out: string; asked: string[] }> {
  const asked: string[] = []
  let out = ''
  await runCli({
    argv,
    env: { LOCI_CONFIG_DIR: work.path('home'), PATH: process.env['PATH'], HOME: work.root },
    cwd: () => work.path('project'),
    readInput: async () => '',
    print: (text) => void (out += text),
    warn: (text) => void (out += text),
    openLines: () => ({
      isInteractive: true,
      wasInterrupted: false,
      readLine: async () => lines.shift() ?? null,
      async ask(question) {
        asked.push(question)
        return answers.shift() ?? null
      },
      onInterrupt: () => () => undefined,
      close: () => undefined,
    }),
  })
  return { out, asked }
}
const print = (...argv: string[]): Promise<Run> =>
  loci({ home: work.path('home'), cwd: work.path('project') }, '-p', ...argv)
const LOCAL = 'project/.claude/settings.local.json'
const permissions = (rules: object): string => JSON.stringify({ permissions: rules })

describe('"always"', () => {
  test('is a rule in the local settings, with all that is there, and holds for later sessions', async () => {
    const before = { model: 'x', permissions: { deny: ['Bash(rm:*)'], other: [1] } }
    await open({ [LOCAL]: JSON.stringify(before) })
    const { asked, out } = await talk(['run echo *.txt', 'run echo *.txt'], ['a'])
    expect(asked).toEqual([
      'Allow Bash: echo *.txt? [y]es, [a]lways allow Bash(echo \\*.txt) in this project, [n]o: ',
    ])
    expect(out).toContain('Stored in .claude/settings.local.json: Bash(echo \\*.txt)')
    expect(JSON.parse(await work.read(LOCAL))).toEqual({
      model: 'x',
      permissions: { deny: ['Bash(rm:*)'], other: [1], allow: ['Bash(echo \\*.txt)'] },
    })
    expect((await talk(['run echo *.txt'], [])).asked).toEqual([])
    expect((await print('run echo *.txt', '--output-format', 'json')).json()).toMatchObject({
      permissionDenials: [],
    })
  })

  test('makes the file, and what it allows is that call only', async () => {
    const { asked } = await talk(['run echo a', 'run echo b'], ['a', 'n'])
    expect(asked).toHaveLength(2)
    expect(JSON.parse(await work.read(LOCAL))).toEqual({ permissions: { allow: ['Bash(echo a)'] } })
  })

  test.for<[string, Record<string, TreeFile>]>([
    [
      'behind a link',
      { 'project/.claude': { link: '../outside' }, 'outside/settings.local.json': '{"a":1}' },
    ],
    ['that are a link', { [LOCAL]: { link: '../../outside/x' }, 'outside/x': '{"a":1}' }],
  ])('of local settings %s holds for the session, and they stay as they are', async ([, files]) => {
    await open(files)
    const { asked, out } = await talk(['run echo a', 'run echo a'], ['a'])
    expect(asked).toHaveLength(1)
    expect(out).toContain('Bash(echo a) holds for this session only; it could not be stored:')
    const left = await work.snapshot()
    expect(Object.values(left)).toContainEqual(expect.objectContaining({ text: '{"a":1}' }))
    expect(JSON.stringify(left)).not.toContain('Bash(echo a)')
  })

  test('that cannot be written holds for the session, and the settings stay as they are', async () => {
    await open({ [LOCAL]: '{"a":1}' })
    onTestFinished(() => setFaultHook(undefined))
    setFaultHook((operation, path) =>
      operation === 'rename' && path.includes('settings.local')
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined,
    )
    const { asked, out } = await talk(['run echo a', 'run echo a'], ['a'])
    setFaultHook(undefined)
    expect(asked).toHaveLength(1)
    expect(out).toContain('holds for this session only')
    expect(await work.read(LOCAL)).toBe('{"a":1}')
    expect((await talk(['run echo a'], ['n'])).asked).toHaveLength(1)
  })

  test('is no answer where a rule asks', async () => {
    await open({ 'home/settings.json': permissions({ ask: ['Bash(echo:*)'], allow: ['Bash'] }) })
    const { asked, out } = await talk(['run echo a'], ['a', 'y'])
    expect(asked).toEqual(Array(2).fill('Allow Bash: echo a? [y]es, [n]o: '))
    expect(out).toContain('y or n is an answer')
  })

  test('of two at once, both are kept', async () => {
    const place = { projectDir: work.path('home'), root: work.path('project') }
    await Promise.all([projectConsent(place).store(['Bash(a)']), projectConsent(place).store(['Bash(b)'])])
    const { permissions: held } = JSON.parse(await work.read(LOCAL))
    expect(held.allow.toSorted()).toEqual(['Bash(a)', 'Bash(b)'])
    expect([...(await projectConsent(place).read())].toSorted()).toEqual(['Bash(a)', 'Bash(b)'])
  })
})

describe('"no"', () => {
  test('is remembered: the same call is not asked about again in the session, another is', async () => {
    const { asked, out } = await talk(['run echo a', 'run echo a', 'run echo b'], ['n', 'n'])
    expect(asked.map((question) => question.split('?')[0])).toEqual([
      'Allow Bash: echo a',
      'Allow Bash: echo b',
    ])
    expect(out).toContain('The user has not allowed this call of Bash before, and is not asked again.')
    expect((await talk(['run echo a'], ['n'])).asked).toHaveLength(1)
  })
})

describe('rules in files of the project', () => {
  const granted = permissions({ allow: ['Bash(echo:*)'], additionalDirectories: ['../beside'] })

  test.for(['project/.claude/settings.json', LOCAL])('%s allows nothing by itself', async (file) => {
    await open({ [file]: granted })
    const run = await print('run echo a', '--output-format', 'json')
    expect(run.json()).toMatchObject({ permissionDenials: [{ toolName: 'Bash' }] })
    expect(run.err).toContain('not used: Bash(echo:*), additionalDirectories(../beside)')
  })

  test('allow what the user has agreed to, once for all, and what is added later is asked about', async () => {
    const file = 'project/.claude/settings.json'
    await open({ [file]: granted, 'beside/b.txt': 'b' })
    const no = await talk(['run echo a'], ['n', 'n'])
    expect(no.asked).toEqual([
      'Allow what this project allows the agent: 2 rules of its .claude folder? [y]es, [n]o: ',
      expect.stringMatching(/^Allow Bash: echo a\?/),
    ])
    expect(no.out).toContain('  Bash(echo:*)\n  additionalDirectories(../beside)\n')
    expect((await talk(['run echo a'], ['y'])).asked).toHaveLength(1)
    expect((await talk(['run echo a', 'read ../beside/b.txt'], [])).asked).toEqual([])
    expect((await print('run echo a')).err).not.toContain('not used')
    await writeFile(work.path(file), permissions({ allow: ['Bash(echo:*)', 'Bash(rm:*)'] }))
    const later = await talk(['run rm a.txt'], ['n', 'n'])
    expect(later.out).toContain('  Bash(rm:*)\n')
    expect(later.asked).toHaveLength(2)
  })

  test('deny and have asked at once, whatever the mode', async () => {
    await open({
      'project/.claude/settings.json': permissions({ deny: ['Bash(echo:*)'], ask: ['Bash(ls:*)'] }),
      'home/settings.json': permissions({ allow: ['Bash'] }),
    })
    const everything = ['--permission-mode', 'bypassPermissions']
    expect((await print('run echo a', ...everything)).err).toContain('The rule Bash(echo:*) denies it.')
    expect((await print('run ls', ...everything)).err).toContain('the rule Bash(ls:*) asks')
    expect((await print('run true')).err).not.toContain('refused')
  })

  test('that are none are said, and restrict the whole tool', async () => {
    await open({ 'home/settings.json': permissions({ allow: ['Bash(ls'], deny: ['Bash(rm'] }) })
    const { err } = await print('run ls')
    expect(err).toContain('The rule "Bash(ls" has brackets that do not fit; it allows nothing.')
    expect(err).toContain('The rule "Bash(rm" has brackets that do not fit; it is taken for Bash')
    expect(err).toContain('Bash was refused: The rule Bash(rm denies it.')
  })

  test('a value of another kind is an error that names the file', async () => {
    await open({ [LOCAL]: permissions({ allow: 'Bash' }) })
    const { code, err } = await print('run ls')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/settings\.local\.json.*permissions\.allow.*CONFIG_INVALID/),
    ])
  })
})
