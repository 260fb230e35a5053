import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listenMessagesApi } from '@loci/cli/testing'
import type { MessagesApiServer, MessagesRequest } from '@loci/cli/testing'
import { tree } from '@loci/disk/testing'
import type { Tree, TreeFile } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { toolsFor } from '../src/agent/tools/tools.ts'
import { gone, isRunning } from './agent-tools-room.ts'
import { loci } from './run.ts'
import type { Run } from './run.ts'

const BIN = fileURLToPath(new URL('../dist/bin/loci.js', import.meta.url))

type Call = { name: string; input: unknown } | ((results: string[]) => { name: string; input: unknown })

let work: Tree
let api: MessagesApiServer
let script: Call[]
beforeEach(async () => {
  script = []
  work = await tree({ 'project/': '' })
  api = await listenMessagesApi({
    answer: (request) => {
      const call = script.shift()
      if (call === undefined) return { content: [{ type: 'text', text: 'done' }] }
      const { name, input } = typeof call === 'function' ? call(resultsIn(request)) : call
      return { content: [{ type: 'tool_use', name, input }] }
    },
  })
})
afterEach(async () => {
  await api.close()
  await work.remove()
})

/** Another tree than the empty project. */
async function stage(content: Record<string, TreeFile>): Promise<void> {
  await work.remove()
  work = await tree(content)
}

function resultsIn(request: MessagesRequest): string[] {
  return request.messages.flatMap(({ content }) =>
    typeof content === 'string'
      ? []
      : content.flatMap((block) => (block.type === 'tool_result' ? [JSON.stringify(block.content)] : [])),
  )
}

/** Results that the model was told, and that no request was refused. */
function told(): string[] {
  expect(api.requests.map(({ error }) => error).filter((error) => error !== undefined)).toEqual([])
  // The stand-in has checked it.
  return resultsIn(api.requests.at(-1)?.body as MessagesRequest)
}

function prompt(calls: readonly Call[], ...argv: string[]): Promise<Run> {
  script.push(...calls)
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: api.url, PATH: process.env['PATH'] ?? '' }
  const place = { home: work.path('home'), cwd: work.path('project'), env }
  return loci(place, '-p', 'go', '--output-format', 'json', ...argv)
}

test('in default mode a write is refused, and the flag that the model is told helps', async () => {
  const write: Call = { name: 'Write', input: { file_path: 'a.txt', content: 'a' } }
  expect((await prompt([write])).code).toBe(0)
  expect(told().at(-1)).toContain('Start loci with --permission-mode acceptEdits')
  expect(Object.keys(await work.snapshot()).filter((name) => name.startsWith('project/'))).toEqual([])
  await prompt([write], '--permission-mode', 'acceptEdits')
  expect(told().at(-1)).toBe('"Created a.txt."')
  expect(await work.read('project/a.txt')).toBe('a')
})

test('an edit through a link is rewound in its target', async () => {
  work = await tree({
    'project/real.sh': { text: 'old', mode: 0o755 },
    'project/link.sh': { link: 'real.sh' },
  })
  const before = await work.snapshot()
  const edit: Call = { name: 'Edit', input: { file_path: 'link.sh', old_string: 'old', new_string: 'new' } }
  const run = await prompt([edit], '--permission-mode', 'acceptEdits')
  expect(await work.read('project/real.sh')).toBe('new')
  const { messageId } = run.json() as { messageId: string }
  const place = { home: work.path('home'), cwd: work.path('project') }
  expect((await loci(place, '--rewind-files', messageId)).code).toBe(0)
  const after = await work.snapshot()
  for (const name of ['project/real.sh', 'project/link.sh']) expect(after[name]).toEqual(before[name])
})

test('what a command deletes comes back, with its mode', async () => {
  await stage({ 'project/c.txt': { text: 'c', mode: 0o640 } })
  const run = await prompt(
    [{ name: 'Bash', input: { command: 'rm c.txt; echo gone' } }],
    '--permission-mode',
    'bypassPermissions',
  )
  expect(told().at(-1)).toBe('"gone"')
  const { messageId } = run.json() as { messageId: string }
  await loci({ home: work.path('home'), cwd: work.path('project') }, '--rewind-files', messageId)
  expect(await work.read('project/c.txt')).toBe('c')
  expect((await stat(work.path('project/c.txt'))).mode & 0o777).toBe(0o640)
})

test('a copied conversation reads what was put aside where it came from, also when that is gone', async () => {
  await stage({ 'project/long.txt': 'x'.repeat(40_000), 'x/tool-results/other.txt': 'no' })
  const first = await prompt([{ name: 'Read', input: { file_path: 'long.txt' } }], '--output-format', 'json')
  const aside = /All of it is in (\S+);/.exec(told().at(-1) ?? '')?.[1] ?? ''
  const { sessionId } = JSON.parse(first.out) as { sessionId: string }
  const fork = '22222222-2222-4222-8222-222222222222'
  await prompt([], '--resume', sessionId, '--fork-session', '--session-id', fork)
  await rm(dirname(dirname(aside)), { recursive: true })
  await prompt([{ name: 'Read', input: { file_path: aside, offset: 2 } }], '--resume', fork)
  expect(told().at(-1)).toBe('"[cut: the file has 1 lines, none from 2 on]"')
  // Only what bears the name of such a result is one.
  await prompt(
    [{ name: 'Read', input: { file_path: join(work.root, 'x/tool-results/other.txt') } }],
    '--resume',
    fork,
  )
  expect(told().at(-1)).toContain('was not allowed')
})

test('what was put aside of this session, and memory, is read without asking', async () => {
  await stage({ 'project/long.txt': 'x'.repeat(40_000), 'elsewhere.txt': 'no' })
  const save = { name: 'a', description: 'b', type: 'user', body: 'the fact', scope: 'user' }
  await prompt([
    { name: 'SaveMemory', input: save },
    { name: 'Read', input: { file_path: work.path('home/memory/user_a.md') } },
    { name: 'Read', input: { file_path: 'long.txt' } },
    (results) => {
      const path = /All of it is in (\S+);/.exec(results.at(-1) ?? '')?.[1]
      return { name: 'Read', input: { file_path: path, limit: 1, offset: 2 } }
    },
    { name: 'Read', input: { file_path: '../elsewhere.txt' } },
  ])
  const results = told()
  expect(results[1]).toContain('the fact')
  expect(results[3]).toBe('"[cut: the file has 1 lines, none from 2 on]"')
  expect(results[4]).toContain('Read was not allowed')
})

test.for([['--bare'], []])('without memory (%o) there are no tools for it, and no folder', async (flags) => {
  const place = { env: { CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' } }
  const env = {
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: api.url,
    ...(flags.length > 0 ? {} : place.env),
  }
  script.push({ name: 'SaveMemory', input: {} })
  await loci({ home: work.path('home'), cwd: work.path('project'), env }, '-p', 'go', ...flags)
  const tools = api.requests.map(({ body }) =>
    (body as MessagesRequest).tools?.map((tool) => Reflect.get(tool, 'name')),
  )
  const names = toolsFor({ hasMemory: false }).map(({ name }) => name)
  expect(names).not.toContain('SaveMemory')
  expect(tools).toEqual([names, names])
  expect(told().at(-1)).toContain('There is no tool')
  expect(Object.keys(await work.snapshot()).filter((name) => name.includes('memory'))).toEqual([])
})

test("nothing is remembered in another program's config home without --write", async () => {
  await stage({ 'project/': '', 'home/settings.json': '{}' })
  const before = await work.snapshot()
  const save = { name: 'a', description: 'b', type: 'user', body: 'c', scope: 'user' }
  const { code, err } = await prompt([{ name: 'SaveMemory', input: save }])
  expect([code, err]).toEqual([1, expect.stringContaining('[CONFIG_READ_ONLY]')])
  expect(await work.snapshot()).toEqual(before)
})

test('the built program: a timeout and an interruption end all that a command started, and it sees no key', async () => {
  script.push(
    { name: 'Bash', input: { command: 'env' } },
    { name: 'Bash', input: { command: 'sleep 100 & echo $! >left' } },
    {
      name: 'Bash',
      input: {
        command: 'sleep 100 & echo $! >background.new; mv background.new background; wait',
        run_in_background: true,
      },
    },
    { name: 'Bash', input: { command: 'while [ ! -e background ]; do sleep 0.02; done' } },
    { name: 'Bash', input: { command: 'sleep 100 & echo $! >timed; wait', timeout: 1500 } },
    { name: 'Bash', input: { command: 'sleep 100 & echo $! >stopped; kill -INT $PPID; wait' } },
  )
  const child = spawn(
    process.execPath,
    [BIN, '-p', 'go', '--output-format', 'json', '--permission-mode', 'bypassPermissions'],
    {
      cwd: work.path('project'),
      env: {
        PATH: process.env['PATH'],
        LOCI_CONFIG_DIR: work.path('home'),
        ANTHROPIC_API_KEY: 'the-key',
        ANTHROPIC_BASE_URL: api.url,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  )
  const [code] = await once(child, 'exit')
  expect(code).toBe(130)
  const said = JSON.stringify(api.requests.map(({ body }) => body))
  expect(said).toContain('LOCI_CONFIG_DIR')
  expect(said).not.toContain('the-key')
  expect(said).toContain('[ended after 1500 ms]')
  // It did not keep the program from ending, nor end with it.
  const left = Number(await readFile(work.path('project/left'), 'utf8'))
  expect(isRunning(left)).toBe(true)
  process.kill(left, 'SIGKILL')
  for (const name of ['background', 'timed', 'stopped']) {
    const pid = Number(await readFile(work.path(`project/${name}`), 'utf8'))
    expect(pid).toBeGreaterThan(1)
    await gone(pid)
  }
})

test('a session shows the steps of a plan as they change, and what a command prints', async () => {
  const todos = (first: string, second: string): object => ({
    todos: [
      { content: 'look', status: first },
      { content: 'a\nb', status: second },
    ],
  })
  script.push(
    { name: 'TodoWrite', input: todos('in_progress', 'pending') },
    { name: 'Bash', input: { command: 'echo hello' } },
    { name: 'TodoWrite', input: todos('in_progress', 'pending') },
    { name: 'TodoWrite', input: todos('completed', 'in_progress') },
  )
  const env = { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: api.url, PATH: process.env['PATH'] ?? '' }
  const place = { home: work.path('home'), cwd: work.path('project'), env, input: 'go\n' }
  const { out, code } = await loci(place, '--permission-mode', 'bypassPermissions')
  expect(code).toBe(0)
  expect(told()).toHaveLength(4)
  expect(out.split('\n').filter((line) => /^(?: {2}|· [A-Z])/.test(line))).toEqual([
    '· TodoWrite 2 steps, 0 done',
    '  [>] look',
    '  [ ] a b',
    '· Bash echo hello',
    '  │ hello',
    '· TodoWrite 2 steps, 0 done',
    '· TodoWrite 2 steps, 1 done',
    '  [x] look',
    '  [>] a b',
  ])
})

test('a config home that is reached through a link is protected, and readable, like any other', async () => {
  await stage({ 'project/long.txt': 'x'.repeat(40_000), 'real/': '' })
  await symlink('real', work.path('home'))
  await prompt([
    { name: 'Read', input: { file_path: 'long.txt' } },
    (results) => {
      const path = /All of it is in (\S+);/.exec(results.at(-1) ?? '')?.[1]
      return { name: 'Read', input: { file_path: path, offset: 2 } }
    },
  ])
  expect(told()[1]).toBe('"[cut: the file has 1 lines, none from 2 on]"')
  for (const dir of ['home', 'real']) {
    const input = { file_path: work.path(`${dir}/settings.json`), content: '{}' }
    await prompt([{ name: 'Write', input }], '--permission-mode', 'bypassPermissions')
    expect(told().at(-1)).toContain('no tool edits it')
  }
})
