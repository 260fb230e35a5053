import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { gone } from './agent-tools-room.ts'

const BIN = new URL('../dist/bin/loci.js', import.meta.url).pathname

let work: Tree
beforeEach(async () => {
  work = await tree({ 'project/': '', 'tmp/': '' })
})
afterEach(() => work.remove())

const environment = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: work.root,
  TMPDIR: work.path('tmp'),
})

test('the tour holds every promise it names, and leaves nothing behind', async () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, 'tour'], {
    cwd: work.path('project'),
    env: environment(),
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  for (const step of [1, 2, 3, 4, 5, 6]) expect(stdout).toContain(`\n${step}. `)
  expect(stdout).not.toContain('  NO ')
  expect(stdout).toContain('MEMORY.md')
  expect(await work.snapshot()).toEqual({})
})

test('the config home is ~/.loci, and a command that reads does not make it', () => {
  const { status, stdout } = spawnSync(process.execPath, [BIN, 'memory', 'status', '--json'], {
    cwd: work.path('project'),
    env: environment(),
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  expect(JSON.parse(stdout).dirs.user).toBe(work.path('.loci/memory'))
})

test('a draft is read from standard input', () => {
  const { status, stdout } = spawnSync(process.execPath, [BIN, 'memory', 'save', '--json'], {
    cwd: work.path('project'),
    env: environment(),
    input: '{"name":"naïve","description":"ö","type":"user","body":"ü"}',
    encoding: 'utf8',
  })
  expect(status).toBe(0)
  expect(JSON.parse(stdout).memory).toMatchObject({ name: 'naïve', description: 'ö' })
})

test('a reader that closes the pipe early is no failure', async () => {
  const child = spawn(process.execPath, [BIN, '--help'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
})

test.runIf(process.platform === 'linux')('an answer that cannot be written is an error of one line', () => {
  const { status, stderr } = spawnSync('sh', ['-c', '"$0" "$1" --help >/dev/full', process.execPath, BIN], {
    env: environment(),
    encoding: 'utf8',
  })
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'loci: cannot write to standard output: ENOSPC\n' })
})

test('in a directory that is gone --cwd helps, and the error says so', () => {
  const inGone = (...argv: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(
      'sh',
      ['-c', 'mkdir gone; cd gone; rmdir ../gone; exec "$0" "$@"', process.execPath, BIN, ...argv],
      {
        cwd: work.root,
        env: environment(),
        encoding: 'utf8',
      },
    )
  expect(inGone('sessions', 'list')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^loci: the current directory is gone; give --cwd[^\n]+\n$/),
  })
  expect(inGone('sessions', 'list', '--cwd', work.path('project'))).toMatchObject({ status: 0, stderr: '' })
})

test('--help and --version load no dependency and no command', () => {
  for (const flag of ['--help', '--version']) {
    const { status, stderr } = spawnSync(process.execPath, [BIN, flag], {
      env: { ...environment(), NODE_DEBUG: 'esm' },
      encoding: 'utf8',
    })
    const loaded = [...stderr.matchAll(/file:\/\/\S+?\.m?js/g)].map(([url]) => url)
    expect(status).toBe(0)
    expect(loaded.filter((url) => url.includes('node_modules') || url.includes('/commands/'))).toEqual([])
  }
})

const anything = ['--permission-mode', 'bypassPermissions']

test.each(['SIGTERM', 'SIGHUP', 'SIGINT'] as const)(
  '%s ends the command that runs, and the conversation in good order',
  async (signal) => {
    const argv = ['-p', 'run echo $$ > pid; exec sleep 100', ...anything]
    const child = spawn(process.execPath, [BIN, ...argv], {
      cwd: work.path('project'),
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const pid = await vi.waitFor(async () => {
      const text = await work.read('project/pid')
      expect(text).toMatch(/^\d+\n$/)
      return Number(text)
    }, 10_000)
    child.kill(signal)
    const [code] = await once(child, 'exit')
    expect(code).toBe(130)
    await gone(pid)
    const shown = spawnSync(process.execPath, [BIN, '--continue'], {
      cwd: work.path('project'),
      env: environment(),
      encoding: 'utf8',
      input: '',
    })
    expect(shown.stdout).toContain('The last turn was interrupted')
  },
)

test('a reader that has seen enough does not leave a turn half done', async () => {
  const argv = ['-p', 'run echo done > done.txt', '--output-format', 'stream-json', ...anything]
  const child = spawn(process.execPath, [BIN, ...argv], {
    cwd: work.path('project'),
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.once('data', () => child.stdout.destroy())
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(await work.read('project/done.txt')).toBe('done\n')
  const shown = spawnSync(process.execPath, [BIN, 'sessions', 'list', '--json'], {
    cwd: work.path('project'),
    env: environment(),
    encoding: 'utf8',
  })
  expect(JSON.parse(shown.stdout)).toMatchObject([{ damaged: false, lastPrompt: 'run echo done > done.txt' }])
})
