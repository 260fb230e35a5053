import { existsSync, watch } from 'node:fs'
import { rm, stat, symlink } from 'node:fs/promises'
import { getEventListeners, once } from 'node:events'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { runShell } from '../src/agent/tools/run-shell.ts'
import type { ShellCommand } from '../src/agent/tools/run-shell.ts'
import { FIRST, gone, groups, isRunning, toolRoom } from './agent-tools-room.ts'

afterEach(() => setFaultHook(undefined))

/** Ends, with the test, a process whose number a command printed, and returns the number. */
function willEnd(text: string): number {
  const pid = Number(/pid (\d+)/.exec(text)?.[1])
  expect(pid).toBeGreaterThan(1)
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  return pid
}

describe('what a command prints', () => {
  test.for([
    ['what it printed', 'echo hello', 'hello', false],
    ['nothing', 'true', '(no output)', false],
    ['both outputs in their order', 'echo 1; echo 2 >&2; echo 3; echo 4 >&2', '1\n2\n3\n4', false],
    // Two streams have no order; that it came out right would be luck.
    [
      'both outputs as one stream',
      'test $(readlink /proc/$$/fd/1) = $(readlink /proc/$$/fd/2) && echo one',
      'one',
      false,
    ],
    ['its exit code', 'echo x; exit 3', 'x\n[exit code 3]', true],
    ['a signal', 'kill -TERM $$', '(no output)\n[exit code none: ended by SIGTERM]', true],
    [
      'a command that there is not',
      'nosuchcommand',
      /nosuchcommand: command not found\n\[exit code 127\]$/,
      true,
    ],
    ['words that are no command', "echo 'a", /unexpected EOF.*\n\[exit code 2\]$/s, true],
    ['bytes that are no UTF-8', String.raw`printf 'a\xffb'`, 'a\uFFFDb', false],
    ['a NUL', String.raw`printf 'a\0b'`, 'a\0b', false],
    ['no standard input: cat returns at once', 'cat; echo end', 'end', false],
    ['no terminal', 'tty; (: </dev/tty) 2>/dev/null || echo none', 'not a tty\nnone', false],
    ['what bash can, over lines', 'a=(1 2)\n# so\necho "${a[1]}" <<<x', '2', false],
    ['a here document', 'cat <<END\n$((1 + 1))\nEND', '2', false],
    ['its own name and no words', 'echo "$0 $# $@"', 'bash 0 ', false],
  ] as const)('%s', async ([, command, text, isError]) => {
    const { use } = await toolRoom()
    const result = await use('Bash', { command })
    if (typeof text === 'string') expect(result.text).toBe(text)
    else expect(result.text).toMatch(text)
    expect(result.isError).toBe(isError)
  })

  test('it runs in the project', async () => {
    const { use, root } = await toolRoom()
    expect((await use('Bash', { command: 'pwd' })).text).toBe(root)
  })

  test('of very much output 8 MiB, and how much more there was', async () => {
    const { use } = await toolRoom()
    // Two bytes a character, and one before: the cut is in the middle of one.
    const command = 'printf x; yes é | tr -d "\\n" | head -c 9000000'
    const { text, details } = await use('Bash', { command })
    const dropped = 9_000_001 - (8 << 20)
    expect(text.slice(-70)).toContain(`é\n[${dropped} further bytes of output were not kept]`)
    expect(Buffer.byteLength(String(details?.['stdout']))).toBe((8 << 20) - 1)
  })

  test('the key of the model is not among what a command sees, the rest is', async () => {
    const env = {
      PATH: process.env['PATH'],
      ANTHROPIC_API_KEY: 'secret-1',
      ANTHROPIC_AUTH_TOKEN: 'secret-2',
      ANTHROPIC_CUSTOM_HEADERS: 'X-Key: secret-3',
      CLAUDE_CODE_OAUTH_TOKEN: 'secret-4',
      LOCI_TEAM_TOKEN: 'secret-5',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
      OTHER: 'other',
    }
    const { use } = await toolRoom({}, { env })
    const { text } = await use('Bash', { command: 'env' })
    expect(text).not.toContain('secret')
    expect(text).toContain('OTHER=other')
    expect(text).toContain('ANTHROPIC_BASE_URL=')
  })

  test.for([
    ['a NUL', { command: 'echo \0' }, 'command: holds a NUL character'],
    ['half a character', { command: 'echo \uD83D' }, 'command: holds half a character'],
    ['nothing', { command: '' }, 'command: '],
    ['no time', { command: 'true', timeout: 0 }, 'timeout: '],
    ['more time than there is', { command: 'true', timeout: 600_001 }, 'timeout: '],
  ] as const)('%s is no command', async ([, input, message]) => {
    const { use } = await toolRoom()
    const { text, isError } = await use('Bash', input)
    expect(text).toContain(message)
    expect(text).not.toContain('\n')
    expect(isError).toBe(true)
  })
})

describe('the end of a command', () => {
  test('a timeout ends the shell and what it started', async () => {
    const { use } = await toolRoom()
    const command = 'sleep 100 & echo pid $!; wait'
    const { text, isError, details } = await use('Bash', { command, timeout: 1500 })
    const pid = willEnd(text)
    expect(text).toBe(`pid ${pid}\n[ended after 1500 ms]`)
    expect(isError).toBe(true)
    expect(details).toMatchObject({ interrupted: false, exitCode: null })
    await gone(pid)
  })

  test('an interruption ends the shell and what it started', async () => {
    const abort = new AbortController()
    const { use, tree } = await toolRoom({}, { signal: abort.signal })
    const watcher = watch(tree.path('project'))
    onTestFinished(() => watcher.close())
    const started = once(watcher, 'change')
    const result = use('Bash', { command: 'sleep 100 & echo pid $!; touch started; wait' })
    await started
    abort.abort()
    const { text, isError, details } = await result
    const pid = willEnd(text)
    expect(text).toBe(`pid ${pid}\n[interrupted by the user]`)
    expect(isError).toBe(true)
    expect(details).toMatchObject({ interrupted: true, changed: [tree.path('project/started')] })
    await gone(pid)
  })

  test('interrupted before it begins, it does not run to its end', async () => {
    const { use } = await toolRoom({}, { signal: AbortSignal.abort() })
    expect((await use('Bash', { command: 'sleep 100' })).text).toBe('(no output)\n[interrupted by the user]')
  })

  test('what it leaves running does not keep it, goes on, and may go on printing', async () => {
    const { use, root } = await toolRoom()
    const command =
      '(trap "echo got; touch got; exit" USR1; while :; do sleep 0.05; echo tick; done) & echo pid $!'
    const { text, isError } = await use('Bash', { command })
    const pid = willEnd(text)
    expect(text).toContain(
      '\n[something that it started goes on running; undo does not cover what that changes from now on]',
    )
    expect(isError).toBe(false)
    expect(isRunning(pid)).toBe(true)
    process.kill(pid, 'SIGUSR1')
    await gone(pid)
    expect((await stat(`${root}/got`)).isFile()).toBe(true)
  })

  test('what it leaves running with its output elsewhere is not waited for, and named', async () => {
    const { use } = await toolRoom()
    const { text } = await use('Bash', { command: 'sleep 100 >/dev/null 2>&1 & echo pid $!' })
    const pid = willEnd(text)
    expect(text).toMatch(/^pid \d+\n\[something that it started goes on running; [^\n]+\]$/)
    expect(isRunning(pid)).toBe(true)
  })

  test('whatever the end, no timer and no listener is left', async () => {
    const { root } = await toolRoom()
    const { signal } = new AbortController()
    const set = vi.spyOn(globalThis, 'setTimeout')
    const clear = vi.spyOn(globalThis, 'clearTimeout')
    onTestFinished(() => void vi.restoreAllMocks())
    const plain = {
      cwd: root,
      env: { PATH: process.env['PATH'] },
      timeoutMs: 60_000,
      signal,
      groups,
    }
    const all: readonly ShellCommand[] = [
      { ...plain, command: 'true' },
      { ...plain, command: 'exit 3' },
      { ...plain, command: 'sleep 100', timeoutMs: 20 },
      { ...plain, command: 'true', cwd: `${root}/gone` },
      { ...plain, command: 'x'.repeat(1 << 18) },
    ]
    for (const one of all) {
      await runShell(one)
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    }
    // Of nobody else's: those that have these lengths.
    const ours = set.mock.results.filter((_, index) =>
      [60_000, 20, 200].includes(set.mock.calls[index]?.[1] ?? 0),
    )
    expect(ours.length).toBeGreaterThanOrEqual(7)
    const cleared = clear.mock.calls.map(([timer]) => timer)
    for (const { value } of ours) expect(cleared).toContain(value)
  })
})

describe('a command that cannot be started', () => {
  test('without bash it is sh', async () => {
    const { tree, context, prepare } = await toolRoom({ 'bin/': '' })
    await symlink('/bin/sh', tree.path('bin/sh'))
    Object.assign(context.env, { PATH: tree.path('bin') })
    const call = await prepare('Bash', {
      command: 'echo "$0"; echo ${BASH_VERSION:-none}; echo 2 >&2; exit 4',
    })
    expect((await call.run()).text).toBe('sh\nnone\n2\n[exit code 4]')
  })

  test.for([true, false])(
    'without any shell, or with its directory gone, it is one line (history %s)',
    async (has) => {
      const { use, tree, root } = await toolRoom(
        {},
        { ...(has ? {} : { history: null }), env: { PATH: '/nowhere' } },
      )
      const noShell = await use('Bash', { command: 'true' })
      expect(noShell).toEqual({
        text: `The command could not be started in ${root}: spawn sh ENOENT`,
        isError: true,
      })
      await rm(tree.path('project'), { recursive: true })
      const { text, isError } = await use('Bash', { command: 'true' })
      expect(text).toMatch(/^(?:The command could not be started in |Bash failed: )[^\n]*$/)
      expect(text).toContain(root)
      expect(isError).toBe(true)
    },
  )

  test('a command longer than the system takes is one line', async () => {
    const { use } = await toolRoom()
    const { text, isError } = await use('Bash', { command: `: ${'x'.repeat(1 << 18)}` })
    expect(text).toMatch(/^The command could not be started in [^\n]*E2BIG$/)
    expect(isError).toBe(true)
  })
})

describe('the files that it changes', () => {
  test('changed, made and deleted ones are named and a rewind brings them back, modes too', async () => {
    const { use, history, tree } = await toolRoom({
      'project/changed': { text: 'a', mode: 0o755 },
      'project/deleted': { text: 'b', mode: 0o600 },
      'project/mode': { text: 'c', mode: 0o644 },
      'project/same': 'd',
    })
    const before = await tree.snapshot()
    const command =
      'echo A >changed; chmod 644 changed; rm deleted; chmod 755 mode; mkdir -p new/dir; echo e >new/dir/e'
    const { text, isError, details } = await use('Bash', { command })
    expect(text).toBe('(no output)')
    expect(isError).toBe(false)
    const names = ['changed', 'deleted', 'mode', 'new/dir/e'].map((name) => tree.path(`project/${name}`))
    expect(details).toMatchObject({ changed: names, untracked: [] })
    await history.rewind(FIRST)
    const after = await tree.snapshot()
    for (const name of ['changed', 'deleted', 'mode', 'same', 'new/dir/e'])
      expect(after[`project/${name}`]).toEqual(before[`project/${name}`])
  })

  test('also those of a command that failed, was ended, or was killed', async () => {
    const { use, tree } = await toolRoom()
    expect((await use('Bash', { command: 'touch a; exit 1' })).details).toMatchObject({
      changed: [tree.path('project/a')],
    })
    const timed = await use('Bash', { command: 'touch b; sleep 100', timeout: 1500 })
    expect(timed.details).toMatchObject({ changed: [tree.path('project/b')] })
  })

  test('what undo does not cover is named, twenty names at most', async () => {
    const { use } = await toolRoom()
    expect((await use('Bash', { command: 'ln -s /etc/hosts link' })).text).toBe(
      '(no output)\n[changed, and not covered by undo: link]',
    )
    const many = await use('Bash', { command: 'for i in $(seq 25); do ln -s /etc/hosts more$i; done' })
    expect(many.text).toMatch(
      /^\(no output\)\n\[changed, and not covered by undo: (?:more\d+, ){19}more\d+ and 5 more\]$/,
    )
    expect((await use('Bash', { command: "ln -s /etc/hosts $'a\\nb'" })).text).toBe(
      '(no output)\n[changed, and not covered by undo: "a\\nb"]',
    )
  })

  test('a command whose changes could not be recorded says that it ran, and what it printed', async () => {
    const { use, home, tree } = await toolRoom({ 'project/a': 'a' })
    setFaultHook((_, path) =>
      path.startsWith(home) && existsSync(tree.path('project/ran'))
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined,
    )
    const { text, isError, details } = await use('Bash', { command: 'echo hello; echo b >a; touch ran' })
    setFaultHook(undefined)
    expect(text).toMatch(
      /^hello\n\[it ran, but what it changed was not recorded, so that undo does not cover it: .*\]$/,
    )
    expect(isError).toBe(true)
    expect(details).toMatchObject({ exitCode: 0 })
  })

  test('a command whose beginning could not be recorded does not run', async () => {
    const { use, home, tree } = await toolRoom({ 'project/a': 'a' })
    setFaultHook((operation, path) =>
      path.startsWith(home) && operation !== 'lstat'
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined,
    )
    const { text, isError } = await use('Bash', { command: 'touch ran' })
    setFaultHook(undefined)
    expect(text).toMatch(/^Bash failed: Cannot /)
    expect(isError).toBe(true)
    expect(Object.keys(await tree.snapshot())).not.toContain('project/ran')
  })
})
