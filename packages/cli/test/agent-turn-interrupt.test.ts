import { readFile, watch } from 'node:fs/promises'
import { basename } from 'node:path'
import { runCli } from '@loci/cli'
import { listenMessagesApi } from '@loci/cli/testing'
import type { ModelAnswer } from '@loci/cli/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { interruptedTurn } from '../src/agent/interrupted-turn.ts'
import { blocksIn, linesOf, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n' })
})
afterEach(async () => {
  expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
  await world.close()
})

/** An answer of every kind of block; the text before the call is whole after event 15. */
const ANSWER: ModelAnswer = {
  content: [
    { type: 'thinking', thinking: 'a thought of mine', signature: 'c2ln' },
    { type: 'text', text: 'I shall now write 😀 it. ' },
    { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'never' } },
  ],
}

/** Interrupts the turn when the stream stands still after that many events. */
async function interruptAfter(
  events: number,
): Promise<{ seen: string; lines: Record<string, unknown>[]; path: string }> {
  const stop = new AbortController()
  const until = new Promise<void>(() => undefined)
  world.script.push({ ...ANSWER, holdAfterEvents: { events, until } })
  const agent = await world.open()
  const turn = agent.prompt('go', stop.signal)
  // The stream stands still once nothing more is seen of it for many rounds of the event loop.
  const settle = async (): Promise<string> => {
    for (let before = ''; ;) {
      for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve))
      const seen = world.events.flatMap((event) => (event.type === 'text' ? [event.delta] : [])).join('')
      if (world.requests.length > 0 && seen === before) return seen
      before = seen
    }
  }
  const seen = await settle()
  stop.abort()
  const { error, text } = await turn
  expect(error).toMatchObject({ code: 'TURN_INTERRUPTED' })
  expect(text).toBe(seen)
  const lines = (await linesOf(agent.session.path)).filter(({ type }) => type === 'assistant')
  await agent.close()
  return { seen, lines, path: agent.session.path }
}

describe('interrupted in mid-stream', () => {
  test('after any event: what was seen is kept, a part of a call or a thought is not, and the next prompt is accepted', async () => {
    const texts = new Set<string>()
    for (let events = 0; events < 30; events += 1) {
      await world.close()
      world = await turnWorld({ 'a.txt': 'one\n' })
      const { seen, lines, path } = await interruptAfter(events)
      texts.add(seen)
      expect(lines.map(({ message }) => message)).toMatchObject(
        seen === ''
          ? []
          : [{ role: 'assistant', content: [{ type: 'text', text: seen }], stop_reason: null }],
      )
      expect((await linesOf(path)).at(-1)).toMatchObject({ type: 'last-prompt' })
      expect(await world.work.read('project/a.txt')).toBe('one\n')
      const again = await world.open(resume({ path, id: basename(path, '.jsonl') }, world.root))
      expect(interruptedTurn(await again.session.chain())).toMatch(
        seen === ''
          ? /prompt was interrupted before it was answered/
          : /answer was interrupted in the middle; what had come of it is kept/,
      )
      expect(await again.session.damage()).toEqual([])
      expect((await prompt(again, 'next')).text).toBe('ok')
      const blocks = blocksIn(world.requests.at(-1))
      expect(blocks.filter(({ role }) => role === 'assistant')).toMatchObject(
        seen === '' ? [] : [{ text: seen }],
      )
      expect(interruptedTurn(await again.session.chain())).toBeNull()
    }
    expect(texts.has('')).toBe(true)
    expect(texts.has('I shall now write 😀 it. ')).toBe(true)
    expect(texts.size).toBeGreaterThan(4)
  }, 60_000)

  test('after the end of a message: it is whole, and its calls are not begun', async () => {
    const { lines, path } = await interruptAfter(99)
    expect(lines.map(({ message }) => message)).toMatchObject([
      { content: [{ type: 'thinking' }], stop_reason: 'tool_use' },
      { content: [{ type: 'text' }] },
      { content: [{ type: 'tool_use', input: { file_path: 'a.txt', content: 'never' } }] },
    ])
    expect(await world.work.read('project/a.txt')).toBe('one\n')
    const again = await world.open(resume({ path, id: basename(path, '.jsonl') }, world.root))
    await prompt(again, 'next')
    expect(blocksIn(world.requests.at(-1)).filter(({ type }) => type === 'tool_result')).toMatchObject([
      { is_error: true, content: 'Interrupted by the user before it ran.' },
    ])
  })

  test('what it took is counted, as far as the server had said', async () => {
    const { path } = await interruptAfter(12)
    const [record, ...others] = (await linesOf(path)).filter(({ type }) => type === 'cost-state')
    expect(others).toEqual([])
    const usage = record?.['modelUsage'] as Record<string, Record<string, number>>
    const { inputTokens = 0, cacheCreationInputTokens = 0 } = usage[world.model] ?? {}
    expect(inputTokens + cacheCreationInputTokens).toBe(world.requests[0]?.promptBytes)
  })

  test('interrupted while it waits to try again: nothing is kept of what was void', async () => {
    const stop = new AbortController()
    world.script.push({ ...say('void text'), cutAfterEvents: 5 })
    const agent = await world.open()
    const turn = agent.prompt('go', stop.signal)
    const events = world.events
    const push = events.push.bind(events)
    events.push = (...more) => {
      if (more.some(({ type }) => type === 'retry')) stop.abort()
      return push(...more)
    }
    expect((await turn).error).toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(await readFile(agent.session.path, 'utf8')).not.toContain('void')
    expect((await prompt(agent, 'next')).text).toBe('ok')
    expect(textsIn(world.requests.at(-1))).toEqual(expect.arrayContaining(['go', 'next']))
  })

  test('interrupted before it began: nothing is sent', async () => {
    const agent = await world.open()
    expect((await agent.prompt('go', AbortSignal.abort())).error).toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(world.requests).toEqual([])
    expect((await prompt(agent, 'next')).text).toBe('ok')
  })
})

describe('interrupted in a tool', () => {
  test('the command is ended, what comes after it is not begun, and the model is told both', async () => {
    const stop = new AbortController()
    world.script.push({
      content: [
        { type: 'text', text: 'Two.' },
        { type: 'tool_use', name: 'Bash', input: { command: 'echo begun; echo x > b.txt; sleep 1000' } },
        { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'never' } },
      ],
    })
    const agent = await world.open()
    const turn = agent.prompt('go', stop.signal)
    for await (const { filename } of watch(world.root, { signal: AbortSignal.timeout(20_000) }))
      if (filename === 'b.txt') break
    stop.abort()
    expect((await turn).error).toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(await world.work.read('project/a.txt')).toBe('one\n')
    expect(world.requests).toHaveLength(1)
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    expect(interruptedTurn(await again.session.chain())).toMatch(
      /after its tools had run, before the model answered/,
    )
    expect((await prompt(again, 'next')).text).toBe('ok')
    expect(blocksIn(world.requests.at(-1)).filter(({ type }) => type === 'tool_result')).toMatchObject([
      { is_error: true, content: expect.stringMatching(/interrupted by the user/) },
      { is_error: true, content: 'Interrupted by the user before it ran.' },
    ])
  })
})

test('loci -p that is interrupted ends with 130, without an error line, and its JSON says so', async () => {
  const stop = new AbortController()
  const server = await listenMessagesApi({
    answer: () => ({
      ...say('a text that is long enough'),
      holdAfterEvents: { events: 6, until: new Promise(() => undefined) },
    }),
  })
  let out = ''
  let err = ''
  const code = await runCli({
    argv: ['-p', 'go', '--output-format', 'stream-json'],
    env: {
      LOCI_CONFIG_DIR: world.work.path('home'),
      ANTHROPIC_API_KEY: 'test',
      ANTHROPIC_BASE_URL: server.url,
    },
    cwd: () => world.root,
    readInput: async () => '',
    print: (text) => {
      out += text
      if (text.includes('"type":"text"')) stop.abort()
    },
    warn: (text) => void (err += text),
    listenForInterrupt: () => stop.signal,
  })
  await server.close()
  const printed = out
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line))
  expect([code, err]).toEqual([130, ''])
  expect(printed.at(-1)).toMatchObject({ type: 'result', isError: true, result: 'Interrupted', numTurns: 0 })
  // The part that was kept is told like any other line of the transcript.
  const deltas = printed.filter(({ type }) => type === 'text').map(({ delta }) => String(delta))
  expect(printed.find(({ type }) => type === 'assistant')).toMatchObject({
    message: { content: [{ type: 'text', text: deltas.join('') }] },
  })
})
