import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import Anthropic from '@anthropic-ai/sdk'
import { createMessagesApi, listenMessagesApi } from '@loci/cli/testing'
import type { MessagesApiServer, ModelAnswer } from '@loci/cli/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { loci } from './run.ts'
import {
  blocksIn,
  call,
  fault,
  linesOf,
  prompt,
  resume,
  say,
  textsIn,
  turnWorld,
} from './agent-turn-world.ts'
import type { Step, TurnWorld } from './agent-turn-world.ts'

let world: TurnWorld
const servers: MessagesApiServer[] = []
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n' })
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  await world.close()
})

/** An answer of every kind of block, with a call that would be seen. */
const VOID: ModelAnswer = {
  content: [
    { type: 'thinking', thinking: 'void thought', signature: 'c2ln' },
    { type: 'text', text: 'void text' },
    { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'void' } },
  ],
}
const EVENTS = 28

const raw = (rawInput: string): ModelAnswer => ({
  content: [
    { type: 'text', text: 'void text' },
    { type: 'tool_use', name: 'Write', input: {}, rawInput },
  ],
})

/** That the answer is there once, and nothing of what was void. */
async function expectOneAnswer(path: string): Promise<void> {
  const said = (await linesOf(path)).filter(({ type }) => type === 'assistant')
  expect(said).toHaveLength(1)
  expect(said[0]).toMatchObject({ message: { content: [{ type: 'text', text: 'the answer' }] } })
  expect(await readFile(path, 'utf8')).not.toContain('void')
  expect(await world.work.read('project/a.txt')).toBe('one\n')
}

describe('R20: what may be gone at the next try is tried again, and said', () => {
  test.each<[string, Step, { waitMs: number; reason: RegExp }]>([
    [
      '429 that says when',
      fault(429, 'rate_limit_error', { 'retry-after': '3' }),
      { waitMs: 3000, reason: /answered 429 \(rate_limit_error\): it is/ },
    ],
    [
      '429 that asks for too long',
      fault(429, 'rate_limit_error', { 'retry-after': '999' }),
      { waitMs: 60_000, reason: /429/ },
    ],
    [
      '429 that asks for none',
      fault(429, 'rate_limit_error', { 'retry-after': '0' }),
      { waitMs: 0, reason: /429/ },
    ],
    [
      '429 that says a date',
      fault(429, 'rate_limit_error', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }),
      { waitMs: 500, reason: /429/ },
    ],
    ['529', fault(529, 'overloaded_error'), { waitMs: 500, reason: /529 \(overloaded_error\)/ }],
    ['500', fault(500, 'api_error'), { waitMs: 500, reason: /500/ }],
    ['503', fault(503, 'api_error'), { waitMs: 500, reason: /503/ }],
    ['408', fault(408, 'timeout_error'), { waitMs: 500, reason: /408/ }],
    ['409', fault(409, 'conflict_error'), { waitMs: 500, reason: /409/ }],
    [
      'overloaded in mid-stream',
      { ...VOID, errorAfterEvents: { events: 8, errorType: 'overloaded_error', message: 'too much' } },
      { waitMs: 500, reason: /in mid-stream \(overloaded_error\): too much/ },
    ],
    [
      'api_error in mid-stream',
      { ...VOID, errorAfterEvents: { events: 8, errorType: 'api_error', message: 'broken' } },
      { waitMs: 500, reason: /in mid-stream \(api_error\)/ },
    ],
    [
      'a call whose input breaks off',
      raw('{"file_path":"a.txt","content":"voi'),
      { waitMs: 500, reason: /the input of a call of Write is no whole JSON/ },
    ],
    [
      'a call whose input is closed twice',
      raw('{"file_path":"a.txt","content":"void"}}'),
      { waitMs: 500, reason: /broke off/ },
    ],
    ['a call whose input is no JSON', raw('{"file_path": void}'), { waitMs: 500, reason: /broke off/ }],
  ])('%s', async (_, step, retry) => {
    world.script.push(step, say('the answer'))
    const agent = await world.open()
    const { text, error, numTurns } = await prompt(agent, 'go')
    expect({ text, error, numTurns }).toEqual({ text: 'the answer', error: undefined, numTurns: 1 })
    const retries = world.events.filter(({ type }) => type === 'retry')
    expect(retries).toEqual([
      { type: 'retry', attempt: 1, waitMs: retry.waitMs, reason: expect.stringMatching(retry.reason) },
    ])
    expect(retries).not.toContainEqual(expect.objectContaining({ reason: expect.stringContaining('\n') }))
    expect(world.waits).toEqual([retry.waitMs])
    expect(world.requests).toHaveLength(2)
    expect(world.requests[1]?.body).toEqual(world.requests[0]?.body)
    await expectOneAnswer(agent.session.path)
  })

  test('a connection that is cut after any event', async () => {
    for (let events = 0; events <= EVENTS; events += 1) {
      const one = await turnWorld({ 'a.txt': 'one\n' })
      const server = await listenMessagesApi({
        answer: () =>
          server.requests.length === 0 ? { ...VOID, cutAfterEvents: events } : say('the answer'),
      })
      one.client = new Anthropic({ apiKey: 'test', baseURL: server.url, maxRetries: 0, logLevel: 'off' })
      const agent = await one.open()
      const { text } = await prompt(agent, 'go')
      if (events < EVENTS) {
        expect([events, text]).toEqual([events, 'the answer'])
        expect(one.events.filter(({ type }) => type === 'retry')).toHaveLength(1)
        expect(await readFile(agent.session.path, 'utf8')).not.toContain('void')
        expect(await one.work.read('project/a.txt')).toBe('one\n')
      } else {
        // Cut after its last event the message was whole.
        expect(await one.work.read('project/a.txt')).toBe('void')
      }
      await one.close()
      await server.close()
    }
  })

  test('a stream that ends as if all were well, before its message does', async () => {
    for (let events = 0; events <= EVENTS; events += 1) {
      const one = await turnWorld({ 'a.txt': 'one\n' })
      const frameCounts = new Set<number>()
      let count = 0
      const api = createMessagesApi({ answer: () => (count === 1 ? VOID : say('the answer')) })
      one.client = new Anthropic({
        apiKey: 'test',
        maxRetries: 0,
        logLevel: 'off',
        fetch: async (...request) => {
          count += 1
          const response = await api.fetch(...request)
          if (count > 1) return response
          const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
          frameCounts.add(frames.length)
          const body = frames.slice(0, events).map((frame) => `${frame}\n\n`)
          return new Response(body.join(''), { headers: response.headers })
        },
      })
      const agent = await one.open()
      expect((await prompt(agent, 'go')).text).toBe('the answer')
      expect([...frameCounts]).toEqual([EVENTS])
      expect(one.events.filter(({ type }) => type === 'retry')).toHaveLength(events < EVENTS ? 1 : 0)
      expect(await one.work.read('project/a.txt')).toBe(events < EVENTS ? 'one\n' : 'void')
      await one.close()
    }
  })

  test.each<[string, string, string]>([
    ['a page of a proxy', 'text/html', '<html>\n<p>Please log in</p>\n</html>'],
    ['nothing', 'text/event-stream', ''],
    ['events that are no JSON', 'text/event-stream', 'event: message_start\ndata: {"type":"mess\n\n'],
    [
      'events without a beginning',
      'text/event-stream',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
    ['an event that is nothing', 'text/event-stream', 'event: message_start\ndata: null\n\n'],
  ])('an answer that is %s', async (_, type, body) => {
    let count = 0
    const api = createMessagesApi({ answer: () => say('the answer') })
    world.client = new Anthropic({
      apiKey: 'test',
      maxRetries: 0,
      logLevel: 'off',
      fetch: async (...request) => {
        count += 1
        return count > 1 ? api.fetch(...request) : new Response(body, { headers: { 'content-type': type } })
      },
    })
    const agent = await world.open()
    expect((await prompt(agent, 'go')).text).toBe('the answer')
    expect(world.events.filter((event) => event.type === 'retry')).toEqual([
      {
        type: 'retry',
        attempt: 1,
        waitMs: 500,
        reason: expect.stringMatching(/^The answer of the model broke off: .+$/),
      },
    ])
    await expectOneAnswer(agent.session.path)
  })

  test('the wait doubles, and what was tried is counted', async () => {
    world.env['LOCI_MAX_RETRIES'] = '9'
    world.script.push(...Array.from({ length: 9 }, () => fault(529, 'overloaded_error')), say('the answer'))
    const agent = await world.open()
    expect((await prompt(agent, 'go')).text).toBe('the answer')
    expect(world.waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    expect(world.events.flatMap((event) => (event.type === 'retry' ? [event.attempt] : []))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9,
    ])
    await expectOneAnswer(agent.session.path)
  })

  test('retries that are used up fail the turn in one line, and the next prompt is accepted', async () => {
    world.script.push(
      call('Read', { file_path: 'a.txt' }),
      ...Array.from({ length: 3 }, () => fault(529, 'overloaded_error')),
    )
    const agent = await world.open()
    const { error, text } = await prompt(agent, 'go')
    expect(error).toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: expect.stringMatching(/^The model's server answered 529 .*; tried 3 times, try again later$/),
    })
    expect(text).toBe('')
    expect(await agent.session.damage()).toEqual([])
    expect((await prompt(agent, 'again')).text).toBe('ok')
    expect(textsIn(world.requests.at(-1))).toEqual(expect.arrayContaining(['go', 'again']))
    await agent.close()
    const other = await world.open(resume(agent.session, world.root))
    expect((await prompt(other, 'third')).text).toBe('ok')
  })
})

describe('R20: what will not be gone is not tried again', () => {
  test.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [422, 'invalid_request_error'],
  ])('%i', async (status, type) => {
    world.script.push(fault(status, type))
    const agent = await world.open()
    const { error } = await prompt(agent, 'go')
    expect(error).toMatchObject({
      code: 'MODEL_REJECTED',
      message: expect.stringMatching(
        new RegExp(`^The model's server answered ${status} \\(${type}\\): it is .*$`),
      ),
    })
    expect(error?.message.includes('--offline')).toBe(status === 401)
    expect([world.requests.length, world.waits]).toEqual([1, []])
    expect((await prompt(agent, 'again')).text).toBe('ok')
    expect(await agent.session.damage()).toEqual([])
  })

  test('an invalid_request_error in mid-stream', async () => {
    world.script.push({
      ...VOID,
      errorAfterEvents: { events: 8, errorType: 'invalid_request_error', message: 'no' },
    })
    const agent = await world.open()
    expect((await prompt(agent, 'go')).error).toMatchObject({ code: 'MODEL_REJECTED' })
    expect(await readFile(agent.session.path, 'utf8')).not.toContain('void')
  })
})

describe('loci -p', () => {
  const place = (url: string, retries: string): Parameters<typeof loci>[0] => ({
    home: world.work.path('home'),
    cwd: world.root,
    env: { ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: url, LOCI_MAX_RETRIES: retries },
  })

  test.each<[string, Step, string]>([
    ['overloaded', fault(529, 'overloaded_error', { 'retry-after': '0' }), 'MODEL_UNAVAILABLE'],
    ['unauthorized', fault(401, 'authentication_error'), 'MODEL_REJECTED'],
    ['refused', { content: [{ type: 'text', text: 'I' }], stopReason: 'refusal' }, 'MODEL_REFUSED'],
  ])('%s: exit code 1, one line of error, JSON that says so, and it goes on', async (_, step, code) => {
    let isDown = true
    const server = await listenMessagesApi({
      answer: (request) => (isDown ? (typeof step === 'function' ? step(request) : step) : say('back')),
    })
    servers.push(server)
    const at = place(server.url, '1')
    const json = await loci(at, '-p', 'go', '--output-format', 'json')
    expect(json.code).toBe(1)
    expect(json.json()).toMatchObject({
      type: 'result',
      isError: true,
      result: expect.stringMatching(/^[^\n]+$/),
    })
    expect(json.err.split('\n').filter((line) => line.endsWith(`[${code}]`))).toHaveLength(1)
    const text = await loci(at, '-p', 'go', '--continue')
    expect([text.code, text.out]).toEqual([1, ''])
    expect(text.err.trimEnd().split('\n').at(-1)).toMatch(new RegExp(`^loci: .* \\[${code}\\]$`))
    isDown = false
    expect(await loci(at, '-p', 'go on', '--continue')).toMatchObject({ code: 0, out: 'back\n' })
    expect(server.requests.at(-1)?.status).toBe(200)
  })

  test('nobody listens: exit code 1, one line that says why', async () => {
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const address = probe.address()
    probe.close()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const run = await loci(place(`http://127.0.0.1:${port}`, '0'), '-p', 'go', '--output-format', 'json')
    expect(run.code).toBe(1)
    expect(run.json()).toMatchObject({
      isError: true,
      numTurns: 0,
      result: expect.stringMatching(
        /^The model cannot be reached: connect ECONNREFUSED .*; tried 1 time, try again later$/,
      ),
    })
    expect(run.err).toMatch(/^loci: The model cannot be reached.* \[MODEL_UNAVAILABLE\]\n$/)
  })

  test('nobody listens for a while: each try is said, and the answer is there once', async () => {
    const one = await turnWorld()
    let count = 0
    const api = createMessagesApi({ answer: () => say('the answer') })
    one.client = new Anthropic({
      apiKey: 'test',
      maxRetries: 0,
      fetch: async (...request) => {
        count += 1
        if (count > 2) return api.fetch(...request)
        throw new TypeError('fetch failed', {
          cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
        })
      },
    })
    const agent = await one.open()
    expect((await prompt(agent, 'go')).text).toBe('the answer')
    expect(one.events.filter(({ type }) => type === 'retry')).toMatchObject([
      { attempt: 1, reason: expect.stringContaining('ECONNREFUSED') },
      { attempt: 2 },
    ])
    expect((await linesOf(agent.session.path)).filter(({ type }) => type === 'assistant')).toHaveLength(1)
    await one.close()
  })
})

test('blocksIn refuses a request that was refused', () => {
  expect(() => blocksIn(undefined)).toThrow('not accepted')
})

test('a proxy that answers with a page is said in one short line', async () => {
  const page = `<html>\n<body>\n<h1>502 Bad Gateway</h1>\n${'<p>nginx</p>\n'.repeat(200)}</body>\n</html>`
  let requests = 0
  world.client = new Anthropic({
    apiKey: 'test',
    baseURL: 'http://proxy.invalid',
    maxRetries: 0,
    logLevel: 'off',
    fetch: async () => {
      requests += 1
      return new Response(page, { status: 502, headers: { 'content-type': 'text/html' } })
    },
  })
  world.env['LOCI_MAX_RETRIES'] = '1'
  const { error } = await prompt(await world.open(), 'go')
  expect(error?.code).toBe('MODEL_UNAVAILABLE')
  expect(error?.message).toMatch(
    /^The model's server answered 502[^\n]{0,400}; tried 2 times, try again later$/,
  )
  expect(requests).toBe(2)
})

test('a bug in who shows the answer is no answer that broke off', async () => {
  world.script.push(say('hello'))
  const agent = await world.open()
  const { events } = world
  events.push = (): number => {
    throw new TypeError('a bug')
  }
  await expect(agent.prompt('go', new AbortController().signal)).rejects.toThrow('a bug')
  expect(world.requests).toHaveLength(1)
})

test.each([
  ['no role', { role: 'user' }],
  ['no content', { content: 'hello' }],
  ['a block that is none', { content: [null] }],
  ['a call without a name', { content: [{ type: 'tool_use', id: 't', input: {} }] }],
  ['a call whose name is a number', { content: [{ type: 'tool_use', id: 't', name: 5, input: {} }] }],
  ['a call without an id', { content: [{ type: 'tool_use', name: 'Read', input: {} }] }],
])('an answer with %s is none, and the conversation goes on', async (_what, wrong) => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
    ...wrong,
  }
  const events = [{ type: 'message_start', message }, { type: 'message_stop' }]
  const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  world.client = new Anthropic({
    apiKey: 'test',
    baseURL: 'http://odd.invalid',
    maxRetries: 0,
    logLevel: 'off',
    fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  })
  world.env['LOCI_MAX_RETRIES'] = '0'
  const agent = await world.open()
  const { error } = await agent.prompt('go', new AbortController().signal)
  expect(error).toMatchObject({ code: 'MODEL_UNAVAILABLE', message: expect.stringMatching(/broke off/) })
  await agent.close()
  world.client = undefined
  const again = await world.open(resume(agent.session, world.root))
  expect((await prompt(again, 'go on')).text).toBe('ok')
})

test('what the server refuses for its content names the way back, and an input too deep to be sent is none', async () => {
  world.script.push(fault(413, 'request_too_large'))
  const agent = await world.open()
  const { error, messageId } = await prompt(agent, 'go')
  expect(error?.message).toContain(`/rewind ${messageId} takes the prompt back`)
  let deep: unknown = 'x'
  for (let level = 0; level < 497; level += 1) deep = { a: deep }
  world.script.push(call('Read', { file_path: 'a.txt', deep }), say('done'))
  expect((await prompt(agent, 'again')).text).toBe('done')
  expect((await prompt(agent, 'and again')).text).toBe('ok')
  expect(world.requests.map(({ status }) => status)).toEqual([413, 200, 200, 200])
})
