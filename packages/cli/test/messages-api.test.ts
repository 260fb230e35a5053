import Anthropic, {
  APIError,
  APIUserAbortError,
  BadRequestError,
  InternalServerError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import * as testing from '@loci/cli/testing'
import { createMessagesApi, listenMessagesApi } from '@loci/cli/testing'
import type { Answerer, Fault, ModelAnswer, SeenRequest } from '@loci/cli/testing'
import { afterEach, describe, expect, test } from 'vitest'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

interface Door {
  client: Anthropic
  requests: SeenRequest[]
}

/** The ways in: behind the client's `fetch`, and over HTTP on the loopback. */
const doors: { door: string; open: (answer: Answerer) => Promise<Door> }[] = [
  {
    door: 'the fetch option',
    open: async (answer) => {
      const requests: SeenRequest[] = []
      const api = createMessagesApi({ answer, onRequest: (seen) => requests.push(seen) })
      const client = new Anthropic({
        apiKey: 'k',
        baseURL: 'http://a.invalid',
        maxRetries: 0,
        fetch: api.fetch,
      })
      return { client, requests }
    },
  },
  {
    door: 'HTTP',
    open: async (answer) => {
      const server = await listenMessagesApi({ answer })
      closing.push(() => server.close())
      const { url, requests } = server
      return { client: new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 }), requests }
    },
  },
]

const question: Anthropic.MessageCreateParamsNonStreaming = {
  model: 'm',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
}
const say = (text: string, more: Partial<ModelAnswer> = {}): ModelAnswer => ({
  content: [{ type: 'text', text }],
  ...more,
})

/** A promise that the test settles. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

/** What `promise` rejects with. */
async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe.each(doors)('through $door', ({ open }) => {
  test('text is streamed in several pieces that never cut a character', async () => {
    const text = 'Four spaces, 四个空格, 👩‍👩‍👧 and 𝒳𝒴𝒵. '.repeat(20)
    const { client } = await open(() => say(text))
    const stream = client.messages.stream(question)
    const pieces: string[] = []
    stream.on('text', (piece) => pieces.push(piece))
    const message = await stream.finalMessage()
    expect(message).toMatchObject({ role: 'assistant', stop_reason: 'end_turn', content: [{ text }] })
    expect(message.id).toMatch(/^msg_\w+$/)
    expect(pieces.length).toBeGreaterThan(5)
    expect(pieces.every((piece) => !/\p{Surrogate}/u.test(piece))).toBe(true)
  })

  test('a tool call comes with its input and an id of its own, and stops for the tool', async () => {
    const input = { path: 'a.txt', text: 'x'.repeat(100) }
    const { client } = await open(() => ({ content: [{ type: 'tool_use', name: 'Write', input }] }))
    const message = await client.messages.stream(question).finalMessage()
    expect(message.stop_reason).toBe('tool_use')
    expect(message.content).toMatchObject([{ type: 'tool_use', name: 'Write', input }])
    const [call] = message.content
    expect(call?.type === 'tool_use' && call.id).toMatch(/^toolu_\w+$/)
  })

  test('broken input of a tool is streamed as it is given', async () => {
    const { client } = await open(() => ({
      content: [{ type: 'tool_use', name: 'Write', input: {}, rawInput: '{"path": "a' }],
    }))
    let json = ''
    for await (const event of await client.messages.create({ ...question, stream: true }))
      if (event.type === 'content_block_delta' && event.delta.type === 'input_json_delta')
        json += event.delta.partial_json
    expect(json).toBe('{"path": "a')
  })

  test('thinking comes with its signature, before the text', async () => {
    const thinking = { type: 'thinking' as const, thinking: 'Hm, what was it?', signature: 'c2ln' }
    const { client } = await open(() => ({ content: [thinking, { type: 'text', text: 'Yes.' }] }))
    const message = await client.messages.stream(question).finalMessage()
    expect(message.content).toMatchObject([thinking, { type: 'text', text: 'Yes.' }])
  })

  test('a refusal of the model is an answer with that stop reason', async () => {
    const { client } = await open(() => ({ content: [], stopReason: 'refusal' }))
    const message = await client.messages.stream(question).finalMessage()
    expect(message).toMatchObject({ content: [], stop_reason: 'refusal', stop_details: { type: 'refusal' } })
  })

  test('without a stream the whole message comes as JSON, the same as the streamed one', async () => {
    const answer: ModelAnswer = {
      content: [
        { type: 'text', text: 'Now.' },
        { type: 'tool_use', id: 'toolu_1', name: 'Read', input: { a: 1 } },
      ],
    }
    const { client } = await open(() => answer)
    const whole = await client.messages.create(question)
    const streamed = await client.messages.stream(question).finalMessage()
    // The client adds its own field for parsed output to what it puts together.
    expect({ ...streamed, id: '' }).toEqual({ ...whole, id: '', parsed_output: null })
  })

  test.each([
    { status: 429, errorType: 'rate_limit_error', kind: RateLimitError },
    { status: 529, errorType: 'overloaded_error', kind: APIError },
    { status: 500, errorType: 'api_error', kind: InternalServerError },
  ])(
    'a fault of $status reaches the client with its type and headers',
    async ({ status, errorType, kind }) => {
      const { client, requests } = await open(() => ({
        status,
        errorType,
        message: 'Not now',
        headers: { 'retry-after': '7' },
      }))
      const error = await rejection(client.messages.stream(question).finalMessage())
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({
        status,
        error: { type: 'error', error: { type: errorType, message: 'Not now' } },
      })
      expect(error instanceof APIError && error.headers?.get('retry-after')).toBe('7')
      expect(requests).toMatchObject([{ status, error: 'Not now', cacheWriteBytes: 0 }])
    },
  )

  test('the client tries again after a fault, and then gets its answer', async () => {
    const busy: Fault = {
      status: 529,
      errorType: 'overloaded_error',
      message: 'Busy',
      headers: { 'retry-after-ms': '1' },
    }
    const answers: (ModelAnswer | Fault)[] = [busy, say('Here.')]
    const { client, requests } = await open(() => answers.shift() ?? say('too often'))
    const message = await client.messages.create(question, { maxRetries: 1 })
    expect(message.content).toMatchObject([{ text: 'Here.' }])
    expect(requests.map((seen) => seen.status)).toEqual([529, 200])
  })

  test('a stream that is cut gives what came before the cut, and then an error', async () => {
    const { client } = await open(() => say('A long answer that is cut in the middle', { cutAfterEvents: 5 }))
    const types: string[] = []
    const read = async (): Promise<void> => {
      for await (const event of await client.messages.create({ ...question, stream: true }))
        types.push(event.type)
    }
    expect(await rejection(read())).toBeInstanceOf(Error)
    // The ping is one of the five; the client keeps it to itself.
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
    ])
  })

  test('an error event ends the stream with its type', async () => {
    const error = { events: 4, errorType: 'overloaded_error', message: 'Overloaded' }
    const { client } = await open(() => say('An answer that ends early', { errorAfterEvents: error }))
    const types: string[] = []
    const read = async (): Promise<void> => {
      for await (const event of await client.messages.create({ ...question, stream: true }))
        types.push(event.type)
    }
    expect(await rejection(read())).toMatchObject({ type: 'overloaded_error' })
    expect(types).toEqual(['message_start', 'content_block_start', 'content_block_delta'])
  })

  test('a stream on hold stands still until it is let go', async () => {
    const hold = gate()
    const { client } = await open(() =>
      say('One two three', { holdAfterEvents: { events: 4, until: hold.opened } }),
    )
    const events = (await client.messages.create({ ...question, stream: true }))[Symbol.asyncIterator]()
    for (const type of ['message_start', 'content_block_start', 'content_block_delta'])
      expect((await events.next()).value).toMatchObject({ type })
    let more = false
    const next = events.next().finally(() => (more = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(more).toBe(false)
    hold.open()
    expect((await next).value).toMatchObject({ type: 'content_block_delta' })
  })

  test('a stream on hold can be aborted', async () => {
    const never = new Promise<void>(() => {})
    const { client } = await open(() =>
      say('One two three', { holdAfterEvents: { events: 4, until: never } }),
    )
    const stream = client.messages.stream(question)
    const done = rejection(stream.finalMessage())
    stream.once('text', () => stream.abort())
    expect(await done).toBeInstanceOf(APIUserAbortError)
  })

  test('a request can be aborted while the model has not begun to answer, and then was none', async () => {
    const asked = gate()
    const thought = gate()
    const { client, requests } = await open(async (request) => {
      if (request.model !== 'slow') return say('At once.')
      asked.open()
      await thought.opened
      return say('Too late.')
    })
    const stream = client.messages.stream({ ...question, model: 'slow' })
    const done = rejection(stream.finalMessage())
    await asked.opened
    stream.abort()
    expect(await done).toBeInstanceOf(APIUserAbortError)
    // The first of two more requests arrives behind the news that the client has gone, the second behind the answer.
    await client.messages.create(question)
    thought.open()
    await client.messages.create(question)
    expect(requests).toHaveLength(2)
  })

  test('what an answerer throws is told, and not tried again', async () => {
    const { client, requests } = await open(() => {
      throw new Error('no rule for this')
    })
    const error = await rejection(client.messages.create(question, { maxRetries: 3 }))
    expect(String(error)).toContain('no rule for this')
    expect(requests).toHaveLength(1)
  })

  test('any other path is not found', async () => {
    const { client, requests } = await open(() => say('no'))
    expect(await rejection(client.models.list().then((page) => page.data))).toMatchObject({
      status: 404,
      error: { error: { type: 'not_found_error' } },
    })
    expect(requests).toMatchObject([{ status: 404 }])
  })

  test('a request that is refused reaches the client as a bad request, and the answerer not at all', async () => {
    let asked = 0
    const { client, requests } = await open(() => {
      asked += 1
      return say('no')
    })
    const error = await rejection(client.messages.create({ ...question, messages: [] }))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(requests).toMatchObject([{ status: 400, error: expect.stringMatching(/^messages: /) }])
    expect(asked).toBe(0)
  })
})

test('the public names for tests', () => {
  expect(Object.keys(testing).toSorted()).toEqual(['createMessagesApi', 'listenMessagesApi'])
})

test('the events stand in the order of the API, each with its name', async () => {
  let made = 0
  const api = createMessagesApi({
    createId: () => `id${++made}`,
    answer: () => ({
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 's' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', name: 'Read', input: {} },
      ],
    }),
  })
  const response = await api.fetch('http://a.invalid/base/v1/messages?beta=true', {
    method: 'POST',
    headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...question, stream: true }),
  })
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const text = await response.text()
  const events = text.trimEnd().split('\n\n')
  const heard = events.map((event) => {
    const [name, data] = event.split('\n')
    const parsed: { type: string; delta?: { type?: string } } = JSON.parse(data?.slice('data: '.length) ?? '')
    expect(name).toBe(`event: ${parsed.type}`)
    return parsed.delta?.type ?? parsed.type
  })
  expect(heard).toEqual([
    'message_start',
    'ping',
    'content_block_start',
    'thinking_delta',
    'signature_delta',
    'content_block_stop',
    'content_block_start',
    'text_delta',
    'text_delta',
    'content_block_stop',
    'content_block_start',
    'input_json_delta',
    'input_json_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const { message }: Anthropic.RawMessageStartEvent = JSON.parse(events[0]?.split('\ndata: ')[1] ?? '')
  expect(message).toMatchObject({ content: [], stop_reason: null, usage: { output_tokens: 1 } })
  expect(text).toContain('"id":"toolu_id1"')
  expect(text).toContain('"id":"msg_id2"')
})

test('reading a body rejects with an AbortError once its signal aborts', async () => {
  const abort = new AbortController()
  const never = new Promise<void>(() => {})
  const api = createMessagesApi({ answer: () => say('x', { holdAfterEvents: { events: 1, until: never } }) })
  const response = await api.fetch('http://a.invalid/v1/messages', {
    method: 'POST',
    headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...question, stream: true }),
    signal: abort.signal,
  })
  const read = rejection(response.text())
  abort.abort()
  expect(await read).toMatchObject({ name: 'AbortError' })
})
