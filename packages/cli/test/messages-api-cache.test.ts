import { createMessagesApi } from '@loci/cli/testing'
import type { MessagesRequest, PromptCount, SeenRequest } from '@loci/cli/testing'
import { describe, expect, test } from 'vitest'
import { createPromptCache, promptBlocks } from '../src/messages-api/prompt-cache.ts'

type Message = MessagesRequest['messages'][number]

const mark = { cache_control: { type: 'ephemeral' as const } }
const text = (said: string): { type: 'text'; text: string } => ({ type: 'text', text: said })
const user = (said: string): Message => ({ role: 'user', content: [text(said)] })
const marked = (said: string): Message => ({ role: 'user', content: [{ ...text(said), ...mark }] })
const assistant = (said: string): Message => ({ role: 'assistant', content: [text(said)] })
const tool = { name: 'Read', input_schema: { type: 'object' as const } }
const request = (messages: Message[], more: Partial<MessagesRequest> = {}): MessagesRequest => ({
  model: 'm',
  max_tokens: 10,
  tools: [tool],
  system: [{ ...text('Be brief.'), ...mark }],
  messages,
  ...more,
})
const turn = (messages: Message[]): Message[] => [...messages, assistant('Yes.')]

/** The bytes of the first blocks of a request's prompt. */
function bytes(of: MessagesRequest, blocks?: number): number {
  return promptBlocks(of)
    .slice(0, blocks)
    .reduce((sum, block) => sum + block.bytes.length, 0)
}

function counts(...requests: MessagesRequest[]): PromptCount[] {
  const cache = createPromptCache()
  return requests.map((one) => cache.take(one))
}

const first = request([marked('One?')])
const appended = request([user('One?'), assistant('Yes.'), marked('Two?')])
/** Tools, system and the first question. */
const shared = bytes(first)

describe('what a second request reads', () => {
  test.each<[string, MessagesRequest[], { read: number; written: number; shared: number }]>([
    ['the same again: everything', [first, first], { read: shared, written: 0, shared }],
    [
      'a turn more: all of the first',
      [first, appended],
      { read: shared, written: bytes(appended) - shared, shared },
    ],
    [
      'another system prompt: nothing, although the tools are the same',
      [first, request([marked('One?')], { system: [{ ...text('Be short'), ...mark }] })],
      {
        read: 0,
        written: bytes(request([marked('One?')], { system: 'Be short' })),
        shared: bytes(first, 1) + 'system {"text":"Be '.length,
      },
    ],
    [
      'another system prompt behind a mark on the tools: the tools',
      [
        request([user('One?')], { tools: [{ ...tool, ...mark }] }),
        request([user('One?')], {
          tools: [{ ...tool, ...mark }],
          system: [{ ...text('Or so.'), ...mark }],
        }),
      ],
      {
        read: bytes(first, 1),
        written: bytes(request([], { system: 'Or so.' })) - bytes(first, 1),
        shared: bytes(first, 1) + 'system {"text":"'.length,
      },
    ],
    ['another model: nothing', [first, { ...first, model: 'n' }], { read: 0, written: shared, shared }],
    [
      'another choice of tools: tools and system, and no message',
      [first, { ...first, tool_choice: { type: 'any' } }],
      {
        read: bytes(first, 2),
        written: bytes({ ...first, tool_choice: { type: 'any' } }) - bytes(first, 2),
        shared: bytes(first, 2),
      },
    ],
    [
      'no marks: nothing, and nothing is written',
      [first, request([user('One?')], { system: 'Be brief.' })],
      { read: 0, written: 0, shared },
    ],
    [
      'nothing was marked before: nothing',
      [request([user('One?')], { system: 'Be brief.' }), first],
      { read: 0, written: shared, shared },
    ],
    [
      'a text for a block: the same',
      [first, { ...appended, messages: [{ role: 'user', content: 'One?' }, ...appended.messages.slice(1)] }],
      { read: shared, written: bytes(appended) - shared, shared },
    ],
    [
      'a mark on the whole request: as one on its last block',
      [first, { ...appended, ...mark, messages: [user('One?'), assistant('Yes.'), user('Two?')] }],
      { read: shared, written: bytes(appended) - shared, shared },
    ],
  ])('%s', (_, [one, two], expected) => {
    if (one === undefined || two === undefined) throw new Error('a row of the table has two requests')
    const [before, after] = counts(one, two)
    expect(before).toMatchObject({ cacheReadBytes: 0, sharedBytes: 0 })
    expect(after).toEqual({
      promptBytes: bytes(two),
      cacheReadBytes: expected.read,
      cacheWriteBytes: expected.written,
      sharedBytes: expected.shared,
    })
  })

  test('a fork at an earlier message reads up to the last mark before it, and shares all up to there', () => {
    const longer = request([...turn(turn([user('One?')]).concat(user('Two?'))), marked('Three?')])
    const fork = request([user('One?'), assistant('Yes.'), marked('Else?')])
    const [, , , count] = counts(first, appended, longer, fork)
    expect(count?.cacheReadBytes).toBe(shared)
    expect(count?.sharedBytes).toBe(bytes(fork, 4) + 'user {"text":"'.length)
    // From the middle itself, where a mark once was, the whole of it.
    const [, again] = counts(appended, request([...turn(appended.messages), marked('Else?')]))
    expect(again?.cacheReadBytes).toBe(bytes(appended))
  })

  test.each([
    { added: 18, found: true },
    { added: 19, found: false },
  ])('a mark finds an entry $added blocks and its own before it: $found', ({ added, found }) => {
    const before = request([marked('One?')], { system: 'Be brief.' })
    const blocks = Array.from({ length: added }, (_, index) => text(`b${index}`))
    const after = request([user('One?'), { role: 'assistant', content: blocks }, marked('Two?')], {
      system: 'Be brief.',
    })
    const [, count] = counts(before, after)
    expect(count?.cacheReadBytes).toBe(found ? bytes(before) : 0)
    expect(count?.sharedBytes).toBe(bytes(before))
  })

  test('a second mark on the way finds what the last one is too far from', () => {
    const before = request([marked('One?')], { system: 'Be brief.' })
    const blocks = Array.from({ length: 30 }, (_, index) => text(`b${index}`))
    const way = blocks.map((block, index) => (index === 10 ? { ...block, ...mark } : block))
    const after = request([user('One?'), { role: 'assistant', content: way }, marked('Two?')])
    const [, count] = counts({ ...before, system: first.system ?? '' }, after)
    expect(count?.cacheReadBytes).toBe(shared)
  })

  test('a mark inside the result of a tool is one on the result', () => {
    const result = (inner: object): MessagesRequest =>
      request([
        user('One?'),
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'Read', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ ...text('x'), ...inner }] }],
        },
      ])
    const [, count] = counts(result(mark), result(mark))
    expect(count?.cacheReadBytes).toBe(bytes(result({})))
  })

  test('the order of keys in an input counts, that of the fields of a block does not', () => {
    const called = (block: object): MessagesRequest =>
      request([user('One?'), { role: 'assistant', content: [block as never] }])
    const plain = promptBlocks(called({ type: 'tool_use', id: 'a', name: 'Read', input: { a: 1, b: 2 } }))
    expect(promptBlocks(called({ input: { a: 1, b: 2 }, name: 'Read', id: 'a', type: 'tool_use' }))).toEqual(
      plain,
    )
    expect(
      promptBlocks(called({ type: 'tool_use', id: 'a', name: 'Read', input: { b: 2, a: 1 } })),
    ).not.toEqual(plain)
  })
})

test('the oldest entries go first, and reading one keeps it', () => {
  const cache = createPromptCache({ entries: 2 })
  const ask = (said: string): number => cache.take(request([marked(said)], { system: 'x' })).cacheReadBytes
  ask('A?')
  ask('B?')
  expect(ask('A?')).toBeGreaterThan(0)
  ask('C?')
  expect(ask('A?')).toBeGreaterThan(0)
  expect(ask('B?')).toBe(0)
})

test('an entry that is read as a part of a longer prompt is kept too', () => {
  const cache = createPromptCache({ entries: 2 })
  const plain = { system: 'x' }
  const short = request([marked('A?')], plain)
  cache.take(short)
  cache.take(request([marked('B?')], plain))
  expect(cache.take(request([user('A?'), assistant('Yes.'), marked('C?')], plain)).cacheReadBytes).toBe(
    bytes(short),
  )
  expect(cache.take(short).cacheReadBytes).toBe(bytes(short))
})

test('a conversation that grows takes the room of its last prompt only', () => {
  const other = request([user('Else?')], { tools: [], system: 'Other.' })
  const cache = createPromptCache({ promptBytes: bytes(other) + bytes(appended) })
  for (const one of [other, first, appended]) cache.take(one)
  expect(cache.take(other).sharedBytes).toBe(bytes(other))
})

test('earlier prompts are kept up to a bound, the newest always', () => {
  const cache = createPromptCache({ promptBytes: 10 })
  cache.take(first)
  cache.take(request([user('Else?')], { tools: [], system: 'Other.' }))
  expect(cache.take(request([user('Else?')], { tools: [], system: 'Other.' })).sharedBytes).toBeGreaterThan(0)
  expect(cache.take(first).sharedBytes).toBe(0)
})

test('the usage of an answer is the count, bytes for tokens, and a fault writes nothing', async () => {
  const seen: SeenRequest[] = []
  let busy = true
  const api = createMessagesApi({
    answer: () =>
      busy ? { status: 529, errorType: 'overloaded_error', message: 'Busy' } : { content: [text('Yes.')] },
    onRequest: (one) => seen.push(one),
  })
  const post = async (): Promise<unknown> => {
    const response = await api.fetch('http://a.invalid/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ ...first, messages: [...turn([marked('One?')]), user('Unmarked?')] }),
    })
    return response.json()
  }
  await post()
  busy = false
  const [write, read] = [await post(), await post()]
  expect(write).toMatchObject({ usage: { cache_read_input_tokens: 0, cache_creation_input_tokens: shared } })
  const rest = (seen[0]?.promptBytes ?? 0) - shared
  expect(read).toMatchObject({
    usage: { cache_read_input_tokens: shared, cache_creation_input_tokens: 0, input_tokens: rest },
  })
  expect(seen.map((one) => [one.status, one.cacheReadBytes, one.cacheWriteBytes])).toEqual([
    [529, 0, 0],
    [200, 0, shared],
    [200, shared, 0],
  ])
})
