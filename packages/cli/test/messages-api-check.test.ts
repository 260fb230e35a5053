import { createMessagesApi } from '@loci/cli/testing'
import { describe, expect, test } from 'vitest'
import { validRequest } from './messages-api-requests.ts'

const headers = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' }
const api = createMessagesApi({ answer: () => ({ content: [{ type: 'text', text: 'Yes.' }] }) })

interface Reply {
  status: number
  type?: string
  message?: string
}

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  more: { headers?: Record<string, string> } = {},
): Promise<Reply> {
  const init = { method: 'POST', body, headers: more.headers ?? headers }
  const response = await api.fetch('http://a.invalid/v1/messages', init)
  const said: { type: string; error?: { type: string; message: string } } = JSON.parse(await response.text())
  return { status: response.status, type: said.type, ...said.error }
}

const send = (body: object): Promise<Reply> => post(JSON.stringify(body))

const mark = { cache_control: { type: 'ephemeral' } }
const text = (said: string): object => ({ type: 'text', text: said })
const user = (...content: object[]): object => ({ role: 'user', content })
const assistant = (...content: object[]): object => ({ role: 'assistant', content })
const call = (id: string, more: object = {}): object => ({
  type: 'tool_use',
  id,
  name: 'Read',
  input: {},
  ...more,
})
const result = (id: string, more: object = {}): object => ({ type: 'tool_result', tool_use_id: id, ...more })
const thinking = { type: 'thinking', thinking: 'Hm', signature: 's' }
const tool = (name: string, more: object = {}): object => ({
  name,
  input_schema: { type: 'object' },
  ...more,
})
const base = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] }
const messages = (...list: object[]): object => ({ ...base, messages: list })
const hello = user(text('Hello'))

describe('accepted', () => {
  test.each<[string, object]>([
    ['one question', base],
    ['a system prompt as a text', { ...base, system: 'Be brief.' }],
    ['four marks', { ...base, system: [1, 2, 3, 4].map((n) => ({ ...text(`${n}`), ...mark })) }],
    ['a call of a tool that is not offered', messages(hello, assistant(call('a')), user(result('a')))],
    [
      'results in another order than their calls',
      messages(hello, assistant(call('a'), call('b')), user(result('b'), result('a'))),
    ],
    ['text after the results', messages(hello, assistant(call('a')), user(result('a'), text('And now?')))],
    [
      'a result with an empty text',
      messages(hello, assistant(call('a')), user(result('a', { content: '' }))),
    ],
    ['thinking before a call', messages(hello, assistant(thinking, call('a')), user(result('a')))],
    ['a last assistant message to go on from', messages(hello, assistant(text('The answer is')))],
    ['an empty last assistant message', messages(hello, { role: 'assistant', content: '' })],
    ['an image', messages(user({ type: 'image', source: { type: 'url', url: 'http://a.invalid/a.png' } }))],
    ['whole characters beyond the basic plane', messages(user(text('😀 𝒳')))],
    [
      'marks of an hour before those of five minutes',
      {
        ...base,
        system: [
          { ...text('a'), cache_control: { type: 'ephemeral', ttl: '1h' } },
          { ...text('b'), ...mark },
        ],
      },
    ],
    ['a tool choice', { ...base, tools: [tool('Read')], tool_choice: { type: 'tool', name: 'Read' } }],
  ])('%s', async (_, body) => {
    expect(await send(body)).toEqual({ status: 200, type: 'message' })
  })
})

describe('refused', () => {
  const long = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  test.each<[string, object, string]>([
    ['no object', [], 'body is not an object'],
    ['no model', { ...base, model: undefined }, 'model'],
    ['an empty model', { ...base, model: '' }, 'model'],
    ['no max_tokens', { ...base, max_tokens: undefined }, 'max_tokens'],
    ['max_tokens of 0', { ...base, max_tokens: 0 }, 'max_tokens'],
    ['max_tokens of 1.5', { ...base, max_tokens: 1.5 }, 'max_tokens'],
    ['max_tokens as a text', { ...base, max_tokens: '10' }, 'max_tokens'],
    ['an unknown field', { ...base, sessionId: 's' }, 'sessionId'],
    ['a stream that is no boolean', { ...base, stream: 'yes' }, 'stream'],
    ['no messages', { ...base, messages: [] }, 'messages'],
    ['messages that are no list', { ...base, messages: 'Hello' }, 'messages'],
    ['an unknown field of a message', messages({ ...hello, uuid: 'u' }), 'messages.0.uuid'],
    [
      'an unknown field of a block',
      messages(user({ ...text('Hello'), uuid: 'u' })),
      'messages.0.content.0.uuid',
    ],
    ['an unknown kind of block', messages(user({ type: 'sound' })), 'messages.0.content.0.type'],
    ['content that is neither text nor list', messages({ role: 'user', content: 7 }), 'messages.0.content'],
    ['a text that is no string', messages(user({ type: 'text', text: 7 })), 'messages.0.content.0.text'],
    ['a role of its own', messages({ role: 'tool', content: 'x' }), 'messages.0.role'],
    ['the role system in messages', messages(hello, { role: 'system', content: 'x' }), 'messages.1.role'],
    ['an assistant who speaks first', messages(assistant(text('Hi')), hello), 'messages.0.role'],
    ['two messages of one role', messages(hello, hello), 'messages.1.role'],
    ['an empty message', messages({ role: 'user', content: '' }), 'messages.0.content'],
    ['a message without blocks', messages(hello, assistant(), hello), 'messages.1.content'],
    ['an empty text block', messages(user(text(''))), 'messages.0.content.0'],
    ['a text block of white space', messages(user(text('Hello'), text(' \n\t'))), 'messages.0.content.1'],
    ['a message of white space', messages({ role: 'user', content: ' \n' }), 'messages.0.content'],
    ['an empty text in the system prompt', { ...base, system: [text('')] }, 'system.0'],
    [
      'an empty text in a result',
      messages(hello, assistant(call('a')), user(result('a', { content: [text('')] }))),
      'messages.2.content.0.content.0',
    ],
    [
      'white space at the end of the last assistant message',
      messages(hello, assistant(text('So '))),
      'messages.1.content',
    ],
    ['the same as a string', messages(hello, { role: 'assistant', content: 'So\n' }), 'messages.1.content'],
    [
      'a call without a result',
      messages(hello, assistant(call('a')), user(text('And?'))),
      'messages.1.content.0',
    ],
    ['a call at the end', messages(hello, assistant(text('So'), call('a'))), 'messages.1.content.1'],
    [
      'one of two calls without a result',
      messages(hello, assistant(call('a'), call('b')), user(result('a'))),
      'messages.1.content.1',
    ],
    [
      'a result one turn too late',
      messages(hello, assistant(call('a')), hello, assistant(text('So')), user(result('a'))),
      'messages.1.content.0',
    ],
    ['a result without a call', messages(user(result('a'))), 'messages.0.content.0'],
    [
      'two results of one call',
      messages(hello, assistant(call('a')), user(result('a'), result('a'))),
      'messages.2.content.1',
    ],
    [
      'text before a result',
      messages(hello, assistant(call('a')), user(text('Here:'), result('a'))),
      'messages.2.content.1',
    ],
    [
      'one id twice in a message',
      messages(hello, assistant(call('a'), call('a')), user(result('a'))),
      'messages.1.content.1.id',
    ],
    [
      'one id in two messages',
      messages(hello, assistant(call('a')), user(result('a')), assistant(call('a')), user(result('a'))),
      'messages.3.content.0.id',
    ],
    [
      'an id with other characters',
      messages(hello, assistant(call('a b')), user(result('a b'))),
      'messages.1.content.0.id',
    ],
    [
      'an input that is a list',
      messages(hello, assistant(call('a', { input: [] })), user(result('a'))),
      'messages.1.content.0.input',
    ],
    [
      'an input that is a text',
      messages(hello, assistant(call('a', { input: '{}' })), user(result('a'))),
      'messages.1.content.0.input',
    ],
    ['a call by the user', messages(user(call('a')), assistant(text('x'))), 'messages.0.content.0'],
    ['a result by the assistant', messages(hello, assistant(result('a'))), 'messages.1.content.0'],
    ['thinking by the user', messages(user(thinking, text('x'))), 'messages.0.content.0'],
    ['thinking at the end', messages(hello, assistant(thinking), hello), 'messages.1.content.0'],
    [
      'thinking after text',
      messages(hello, assistant(text('x'), thinking, call('a')), user(result('a'))),
      'messages.1.content.0',
    ],
    [
      'thinking without a signature',
      messages(hello, assistant({ ...thinking, signature: undefined }, text('x')), hello),
      'messages.1.content.0.signature',
    ],
    [
      'a mark on thinking',
      messages(hello, assistant({ ...thinking, ...mark }, text('x')), hello),
      'messages.1.content.0.cache_control',
    ],
    [
      'a mark on an empty text',
      messages(user({ ...text(''), ...mark })),
      'messages.0.content.0: cache_control',
    ],
    [
      'a mark of another kind',
      messages(user({ ...text('x'), cache_control: { type: 'forever' } })),
      'messages.0.content.0.cache_control.type',
    ],
    [
      'five marks',
      {
        ...messages(user({ ...text('x'), ...mark })),
        tools: [tool('Read', mark)],
        system: [1, 2, 3].map((n) => ({ ...text(`${n}`), ...mark })),
      },
      'cache_control: at most 4',
    ],
    [
      'four marks and one on the request',
      { ...base, ...mark, system: [1, 2, 3, 4].map((n) => ({ ...text(`${n}`), ...mark })) },
      'cache_control: at most 4',
    ],
    [
      'a mark of an hour after one of five minutes',
      {
        ...base,
        system: [
          { ...text('a'), ...mark },
          { ...text('b'), ...long },
        ],
      },
      'system.1.cache_control.ttl',
    ],
    ['two tools of one name', { ...base, tools: [tool('Read'), tool('Read')] }, 'tools.1.name'],
    ['a tool with a space in its name', { ...base, tools: [tool('Read it')] }, 'tools.0.name'],
    ['a tool without a name', { ...base, tools: [tool('')] }, 'tools.0.name'],
    ['a tool with a name of 129 characters', { ...base, tools: [tool('x'.repeat(129))] }, 'tools.0.name'],
    [
      'a tool whose schema is no object',
      { ...base, tools: [tool('Read', { input_schema: { type: 'string' } })] },
      'tools.0.input_schema.type',
    ],
    ['a tool without a schema', { ...base, tools: [{ name: 'Read' }] }, 'tools.0.input_schema'],
    ['a choice without tools', { ...base, tool_choice: { type: 'auto' } }, 'tool_choice'],
    [
      'a choice of an unknown tool',
      { ...base, tools: [tool('Read')], tool_choice: { type: 'tool', name: 'Write' } },
      'tool_choice.name',
    ],
    [
      'a thinking budget as large as the answer',
      { ...base, max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 2000 } },
      'max_tokens',
    ],
    ['a stop sequence of white space', { ...base, stop_sequences: [' '] }, 'stop_sequences.0'],
    [
      'an input nested deeper than 500',
      messages(
        hello,
        assistant(call('a', { input: JSON.parse(`${'{"a":'.repeat(600)}1${'}'.repeat(600)}`) })),
        user(result('a')),
      ),
      `messages.1.content.0.input${'.a'.repeat(27)}…`,
    ],
    [
      'half a pair in a text',
      messages(user(text('half \ud83d'))),
      'messages.0.content.0.text: lone surrogate',
    ],
    [
      'half a pair in an input',
      messages(hello, assistant(call('a', { input: { x: ['\ude00'] } })), user(result('a'))),
      'messages.1.content.0.input.x.0: lone surrogate',
    ],
    [
      'half a pair in a key',
      messages(hello, assistant(call('a', { input: { '\ud83d': 1 } })), user(result('a'))),
      'messages.1.content.0.input: lone surrogate',
    ],
    [
      'half a pair in a schema',
      { ...base, tools: [tool('Read', { description: '\ud83d' })] },
      'tools.0.description: lone surrogate',
    ],
  ])('%s', async (_, body, place) => {
    const reply = await send(body)
    expect(reply).toMatchObject({ status: 400, type: 'invalid_request_error' })
    // A row names the whole place, or the beginning of the message where the place alone does not tell the rule.
    const [heard] = place.includes(': ')
      ? [reply.message?.slice(0, place.length)]
      : (reply.message ?? '').split(': ')
    expect(heard).toBe(place)
  })

  test.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['an empty body', ''],
    ['no JSON', '{"model": '],
    ['a lone surrogate in the text itself', JSON.stringify(base).replace('Hello', '\ud83d')],
    ['a byte that is not UTF-8', Buffer.from(JSON.stringify(base).replace('Hello', 'Hell\u00f6'), 'latin1')],
    [
      'a surrogate written as three bytes',
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xed, 0xa0, 0xbd]), Buffer.from('"}')]),
    ],
    [
      'lists in lists in lists',
      `{"model":"m","max_tokens":1,"messages":${'['.repeat(5000)}${']'.repeat(5000)}}`,
    ],
  ])('%s', async (_, body) => {
    expect(await post(body)).toMatchObject({ status: 400, type: 'invalid_request_error' })
  })

  test('a body of more than 32 MB', async () => {
    const filler = 'x'.repeat(32 * 1024 * 1024)
    const large = JSON.stringify(messages(user(text(filler))))
    expect(await post(large)).toMatchObject({ status: 413, type: 'request_too_large' })
    const fits = JSON.stringify(messages(user(text(filler.slice(0, -200)))))
    expect(await post(fits)).toMatchObject({ status: 200 })
  })

  test.each<[string, Record<string, string>, Reply]>([
    ['no version', { 'x-api-key': 'k' }, { status: 400, type: 'invalid_request_error' }],
    ['no key', { 'anthropic-version': '2023-06-01' }, { status: 401, type: 'authentication_error' }],
    ['a token for a key', { 'anthropic-version': '2023-06-01', authorization: 'Bearer t' }, { status: 200 }],
  ])('headers: %s', async (_, given, reply) => {
    expect(await post(JSON.stringify(base), { headers: given })).toMatchObject(reply)
  })
})

test('what is accepted is accepted again after a round trip through JSON', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const body = JSON.stringify(validRequest(seed))
    expect(await post(body), `seed ${seed}: ${body}`).toMatchObject({ status: 200 })
    expect(await send(JSON.parse(body)), `seed ${seed}`).toMatchObject({ status: 200 })
  }
})

test('a valid conversation is refused as soon as one message in its middle is lost', async () => {
  for (let seed = 1; seed <= 300; seed++) {
    const request = validRequest(seed)
    const at = seed % request.messages.length
    const rest = request.messages.filter((_, index) => index !== at)
    // Without its last message the conversation may well be one.
    if (at === request.messages.length - 1) continue
    expect(await send({ ...request, messages: rest }), `seed ${seed}`).toMatchObject({ status: 400 })
  }
})
