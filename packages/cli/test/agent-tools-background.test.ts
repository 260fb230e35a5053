import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AgentEvent } from '../src/agent/agent-event.ts'
import { Screen } from '../src/agent/screen.ts'
import { runShell } from '../src/agent/tools/run-shell.ts'
import { FIRST, gone, groups, isRunning, toolRoom } from './agent-tools-room.ts'
import type { ToolRoom } from './agent-tools-room.ts'
import { call, prompt, turnWorld } from './agent-turn-world.ts'

afterEach(() => setFaultHook(undefined))

const UUID = /bash-[0-9a-f]{8}/

async function start({ use }: ToolRoom, command: string, more: object = {}): Promise<string> {
  const { text } = await use('Bash', { command, run_in_background: true, ...more })
  expect(text).toMatch(/^Running in the background as bash-[0-9a-f]{8}\.\n\[undo does not cover /)
  return UUID.exec(text)?.[0] ?? ''
}

/** What it printed, when it has printed that much. */
async function read({ use }: ToolRoom, id: string, pattern: RegExp): Promise<string> {
  let all = ''
  await vi.waitFor(
    async () => {
      all += (await use('BashOutput', { bash_id: id })).text
      expect(all).toMatch(pattern)
    },
    { timeout: 10_000 },
  )
  return all
}

describe('a command in the background', () => {
  test('goes on while other things are done, is read piece by piece, and is a task', async () => {
    const room = await toolRoom()
    const id = await start(room, 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 3')
    await read(room, id, /one\n\[it runs\]/)
    expect(await room.use('BashOutput', { bash_id: id })).toMatchObject({
      text: '(nothing new)\n[it runs]',
      isError: false,
    })
    expect(room.tasks()[id]).toMatchObject({ type: 'shell', status: 'running', endedAtMs: null })
    await room.use('Write', { file_path: 'go', content: '' })
    expect(await read(room, id, /exit code/)).toContain('two\n[it ended with exit code 3]')
    expect(room.tasks()[id]).toMatchObject({ status: 'failed' })
    expect(room.tasks()[id]?.endedAtMs).toBeGreaterThan(0)
  })

  test('is ended with all that it started, and says so', async () => {
    const room = await toolRoom()
    const id = await start(room, 'sleep 100 & echo pid $!; wait')
    const pid = Number(/pid (\d+)/.exec(await read(room, id, /pid \d+\n/))?.[1])
    expect((await room.use('KillShell', { shell_id: id })).text).toBe(`Ended ${id}.`)
    await gone(pid)
    expect((await room.use('KillShell', { shell_id: id })).text).toBe(`${id} had ended before.`)
    expect((await room.use('BashOutput', { bash_id: id })).text).toContain('[it was ended]')
    expect(room.tasks()[id]?.status).toBe('cancelled')
  })

  test('has a time limit only if it is given one', async () => {
    const room = await toolRoom()
    const id = await start(room, 'sleep 100', { timeout: 100 })
    expect(await read(room, id, /ended/)).toContain('[it was ended, its time was up]')
  })

  test('what it changes before it is let go, and what was before, undo brings back', async () => {
    const room = await toolRoom({ 'project/a': 'one' })
    await start(room, 'sleep 100')
    expect(await room.history.planRewind(FIRST)).toBeDefined()
    expect(await readFile(`${room.root}/a`, 'utf8')).toBe('one')
  })

  test('of very much output the last is kept, and how much was not', async () => {
    const room = await toolRoom()
    const id = await start(room, 'yes é | tr -d "\\n" | head -c 3000000; echo; echo last; touch done')
    await vi.waitFor(() => expect(existsSync(`${room.root}/done`)).toBe(true), { timeout: 10_000 })
    await vi.waitFor(() => expect(room.tasks()[id]?.status).toBe('completed'), { timeout: 10_000 })
    const { text } = await room.use('BashOutput', { bash_id: id })
    const kept = 1 << 20
    expect(text.startsWith(`[${1_500_000 + 6 - kept} characters before this were not kept]\n`)).toBe(true)
    expect(text.endsWith('é\nlast\n[it ended with exit code 0]')).toBe(true)
  })

  test('one that cannot be started is said at once, and is no task', async () => {
    const room = await toolRoom({}, { env: { PATH: '/nowhere' } })
    const { text, isError } = await room.use('Bash', { command: 'true', run_in_background: true })
    expect(text).toContain('could not be started')
    expect(isError).toBe(true)
    expect(room.tasks()).toEqual({})
  })

  test('one whose beginning could not be recorded does not run', async () => {
    const room = await toolRoom({ 'project/a': 'a' })
    setFaultHook((operation, path) =>
      path.startsWith(room.home) && operation !== 'lstat'
        ? Object.assign(new Error('full'), { code: 'ENOSPC' })
        : undefined,
    )
    const { isError } = await room.use('Bash', { command: 'touch ran', run_in_background: true })
    setFaultHook(undefined)
    expect(isError).toBe(true)
    expect(room.context.shells.ids).toEqual([])
    expect(existsSync(`${room.root}/ran`)).toBe(false)
  })

  test('there are twenty at most', async () => {
    const room = await toolRoom({}, { history: null })
    for (let count = 0; count < 20; count += 1) await start(room, 'sleep 100')
    const { text } = await room.use('Bash', { command: 'sleep 100', run_in_background: true })
    expect(text).toContain('20 commands run in the background; end one of them')
    await room.use('KillShell', { shell_id: room.context.shells.ids[0] })
    await start(room, 'sleep 100')
  })

  test('an id that there is not', async () => {
    const room = await toolRoom()
    expect(await room.use('BashOutput', { bash_id: 'bash-1' })).toEqual({
      text: 'No command runs in the background as "bash-1".',
      isError: true,
    })
    const id = await start(room, 'true')
    expect((await room.use('KillShell', { shell_id: 'x' })).text).toContain(`; there are ${id}.`)
  })

  test('an interrupted turn leaves it, the end of the agent ends it', async () => {
    const world = await turnWorld()
    onTestFinished(() => world.close())
    const agent = await world.open()
    world.script.push(call('Bash', { command: 'echo $$ >pid; exec sleep 100', run_in_background: true }))
    const { error } = await prompt(agent, 'serve')
    expect(error).toBeUndefined()
    await vi.waitFor(async () => expect(await readFile(`${world.root}/pid`, 'utf8')).toMatch(/\d\n/), {
      timeout: 10_000,
    })
    const pid = Number(await readFile(`${world.root}/pid`, 'utf8'))
    const abort = new AbortController()
    abort.abort()
    await agent.prompt('and', abort.signal)
    expect(isRunning(pid)).toBe(true)
    await agent.close()
    await gone(pid)
    for (const { status } of world.requests) expect(status).toBe(200)
  })
})

describe('what a command prints while it runs', () => {
  test('is told as it comes, whole characters only, and is in the result as well', async () => {
    const { context, root } = await toolRoom()
    const told: string[] = []
    const result = await runShell({
      command: String.raw`printf 'a\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\251b'`,
      cwd: root,
      env: context.env,
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      groups,
      onOutput(text) {
        told.push(text)
        void writeFile(`${root}/go`, '')
      },
    })
    expect(told[0]).toBe('a')
    expect(told.join('')).toBe('aéb')
    expect(result).toMatchObject({ output: 'aéb' })
  })

  test('is an event of its call', async () => {
    const world = await turnWorld()
    onTestFinished(() => world.close())
    world.script.push(call('Bash', { command: 'echo hello' }, 'toolu_7'))
    await prompt(await world.open(), 'say')
    const kinds = world.events.filter(({ type }) => type.startsWith('tool'))
    expect(kinds).toMatchObject([
      { type: 'tool', id: 'toolu_7' },
      { type: 'tool-output', id: 'toolu_7', text: 'hello\n' },
      { type: 'tool-result', id: 'toolu_7' },
    ])
  })

  function shown(...events: AgentEvent[]): string {
    let out = ''
    const screen = new Screen({ print: (text) => void (out += text), warn: () => undefined })
    for (const event of events) screen.show(event)
    return out
  }
  const output = (text: string): AgentEvent => ({ type: 'tool-output', id: 'a', text })
  const result: AgentEvent = { type: 'tool-result', id: 'a', name: 'Bash', text: 'x', isError: false }

  test('is shown in whole lines, as a terminal would leave them, and cannot act on it', () => {
    expect(
      shown(output('on'), output('e\ntw'), output('o\r\n10%\r20%\n\n'), output('\u001B[2Jx'), result),
    ).toBe('  │ one\n  │ two\n  │ 20%\n  │ ␛[2Jx\n')
  })

  test('is shown up to twenty lines of each command', () => {
    const long = output('line\n'.repeat(50))
    const lines = shown(long, long, result, output('next\n'), result).split('\n')
    expect(lines.slice(19)).toEqual(['  │ line', '  │ …', '  │ next', ''])
  })

  test('a long line, with and without an end, is cut', () => {
    expect(shown(output('x'.repeat(10_000)), result).length).toBeLessThan(400)
    expect(shown(output(`${'x'.repeat(10_000)}\n`), result).length).toBeLessThan(400)
  })
})
