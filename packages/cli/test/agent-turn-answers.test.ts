import { readFile } from 'node:fs/promises'
import type { AnswerBlock, ModelAnswer } from '@loci/cli/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { blocksIn, call, linesOf, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n', 'b.txt': 'bee\n' })
})
afterEach(async () => {
  // In none of these tests may a request be one that the API refuses.
  expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
  await world.close()
})

const write = (content: string, more: Partial<AnswerBlock> = {}): AnswerBlock =>
  ({
    type: 'tool_use',
    name: 'Write',
    input: { file_path: 'a.txt', content },
    ...more,
  }) as AnswerBlock
const resultsIn = (at: number): Record<string, unknown>[] =>
  blocksIn(world.requests[at]).filter(({ type }) => type === 'tool_result')
const notices = (): string[] => world.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))

describe('stop reasons', () => {
  test.each<[string, ModelAnswer, { code?: string; text: string; notices: string[]; results: RegExp[] }]>([
    [
      'a refusal without content',
      { content: [], stopReason: 'refusal' },
      { code: 'MODEL_REFUSED', text: '', notices: [], results: [] },
    ],
    [
      'a refusal with content',
      { ...say('I must'), stopReason: 'refusal' },
      { code: 'MODEL_REFUSED', text: 'I must', notices: [], results: [] },
    ],
    [
      'a refusal in the middle of a call',
      {
        content: [
          { type: 'text', text: 'I' },
          write('void', { rawInput: '{"file_path":"a.txt","content":"vo' }),
        ],
        stopReason: 'refusal',
      },
      {
        code: 'MODEL_REFUSED',
        text: 'I',
        notices: [],
        results: [/broken off as a refusal, so this call was not made/],
      },
    ],
    [
      'max_tokens in a text',
      { ...say('So I beg'), stopReason: 'max_tokens' },
      { text: 'So I beg', notices: ['The answer was cut at its greatest length.'], results: [] },
    ],
    [
      'max_tokens in a thought',
      { content: [{ type: 'thinking', thinking: 'hm', signature: 's' }], stopReason: 'max_tokens' },
      { text: '', notices: ['The answer was cut at its greatest length.'], results: [] },
    ],
    [
      'max_tokens in the middle of a call',
      {
        content: [write('void'), write('void', { rawInput: '{"file_path":"a.txt","content":"vo' })],
        stopReason: 'max_tokens',
      },
      {
        text: 'ok',
        notices: [],
        results: [
          /cut at its greatest length, so this call was not made/,
          /cut at its greatest length, so this call was not made/,
        ],
      },
    ],
    [
      'max_tokens before the input of a call',
      { content: [write('void', { rawInput: '' })], stopReason: 'max_tokens' },
      { text: 'ok', notices: [], results: [/was not made/] },
    ],
    [
      'a full context window',
      { content: [write('void', { rawInput: '{"file' })], stopReason: 'model_context_window_exceeded' },
      { code: 'MODEL_REJECTED', text: '', notices: [], results: [/The conversation was full/] },
    ],
    [
      'pause_turn',
      { ...say('wait '), stopReason: 'pause_turn' },
      { text: 'wait ', notices: ['The model paused; a further prompt lets it go on.'], results: [] },
    ],
    [
      'pause_turn without content',
      { content: [], stopReason: 'pause_turn' },
      { text: '', notices: ['The model paused; a further prompt lets it go on.'], results: [] },
    ],
    [
      'an answer without content',
      { content: [] },
      { text: '', notices: ['The model answered nothing.'], results: [] },
    ],
    [
      'an answer of blanks',
      say(' \n'),
      { text: ' \n', notices: ['The model answered nothing.'], results: [] },
    ],
    [
      'an empty text before a call',
      {
        content: [
          { type: 'text', text: '' },
          { type: 'tool_use', name: 'Read', input: { file_path: 'a.txt' } },
        ],
      },
      { text: 'ok', notices: [], results: [/one/] },
    ],
    [
      'stop_sequence',
      { ...say('fin'), stopReason: 'stop_sequence' },
      { text: 'fin', notices: [], results: [] },
    ],
  ])(
    '%s: nothing unfinished is done, and the next request is accepted, also after a resume',
    async (_, answer, expected) => {
      world.script.push(answer)
      const agent = await world.open()
      const { text, error } = await prompt(agent, 'go')
      expect({ text, code: error?.code, notices: notices() }).toEqual({
        text: expected.text,
        code: expected.code,
        notices: expected.notices,
      })
      expect(error?.message ?? '').not.toContain('\n')
      expect(await world.work.read('project/a.txt')).toBe('one\n')
      await prompt(agent, 'next')
      const results = resultsIn(world.requests.length - 1)
      expect(results).toHaveLength(expected.results.length)
      for (const [at, pattern] of expected.results.entries())
        expect(results[at]?.['content']).toMatch(pattern)
      await agent.close()
      const again = await world.open(resume(agent.session, world.root))
      expect(await again.session.damage()).toEqual([])
      expect((await prompt(again, 'last')).text).toBe('ok')
      expect(textsIn(world.requests.at(-1))).toEqual(expect.arrayContaining(['go', 'next', 'last']))
    },
  )
})

describe('R20: calls that cannot be done are told to the model, and nothing is touched', () => {
  test.each<[string, string, unknown, RegExp]>([
    [
      'a tool that does not exist',
      'Delete',
      { file_path: 'a.txt' },
      /^There is no tool "Delete"; there are Read, Write, /,
    ],
    ['a name of the language', 'toString', {}, /^There is no tool "toString"/],
    [
      'a missing field',
      'Write',
      { file_path: 'a.txt' },
      /^The input of Write is not valid, so nothing was done\. content: /,
    ],
    ['a field of the wrong kind', 'Write', { file_path: 'a.txt', content: 7 }, /content: /],
    ['a field too many', 'Write', { file_path: 'a.txt', content: 'x', mode: 1 }, /mode/],
    ['an input that is a list', 'Write', ['a.txt', 'x'], /^The input of Write is not valid/],
    ['an input that is null', 'Write', null, /^The input of Write is not valid/],
    ['an input that is a text', 'Write', 'a.txt', /^The input of Write is not valid/],
    [
      'a name that the API would refuse',
      'functions.Read files!',
      {},
      /^There is no tool "functions_Read_files_"/,
    ],
    ['a name without end', 'x'.repeat(500), {}, /^There is no tool "x{128}"/],
    ['no name', '', {}, /^There is no tool "_"/],
  ])('%s', async (_, name, input, told) => {
    const before = await world.work.snapshot()
    world.script.push(
      { content: [{ type: 'tool_use', name, input, rawInput: JSON.stringify(input) }] },
      say('sorry'),
    )
    const agent = await world.open()
    expect((await prompt(agent, 'go')).text).toBe('sorry')
    expect(resultsIn(1)).toEqual([
      expect.objectContaining({ is_error: true, content: expect.stringMatching(told) }),
    ])
    const after = Object.entries(await world.work.snapshot()).filter(([path]) => path.startsWith('project/'))
    expect(Object.fromEntries(after)).toEqual(before)
    expect(world.events.filter(({ type }) => type === 'tool')).toEqual([])
    expect((await linesOf(agent.session.path)).filter(({ type }) => type === 'file-history-delta')).toEqual(
      [],
    )
  })
})

describe('calls and thoughts', () => {
  test('parallel calls are done in their order and answered in one message', async () => {
    const names = ['x', 'y', 'z']
    world.script.push({
      content: [
        { type: 'text', text: 'Three.' },
        ...names.map((name): AnswerBlock => ({
          type: 'tool_use',
          id: `toolu_${name}`,
          name: 'Bash',
          input: { command: `printf ${name} >> order; cat order` },
        })),
        { type: 'tool_use', id: 'toolu_bad', name: 'Nope', input: {} },
      ],
    })
    const agent = await world.open()
    await prompt(agent, 'go')
    expect(await world.work.read('project/order')).toBe('xyz')
    expect(blocksIn(world.requests[1]).slice(-4)).toMatchObject([
      { role: 'user', tool_use_id: 'toolu_x', content: 'x' },
      { role: 'user', tool_use_id: 'toolu_y', content: 'xy' },
      { role: 'user', tool_use_id: 'toolu_z', content: 'xyz' },
      { role: 'user', tool_use_id: 'toolu_bad', is_error: true },
    ])
    // Each result names the line of its call, by which other clients put it back into the tree.
    const lines = await linesOf(agent.session.path)
    const blocks = lines.filter(({ type }) => type === 'assistant').slice(0, 5)
    expect(blocks.map(({ apiBlockIndex }) => apiBlockIndex)).toEqual([0, 1, 2, 3, 4])
    expect(
      new Set(blocks.map(({ message }) => JSON.stringify({ ...Object(message), content: [] }))).size,
    ).toBe(1)
    for (const name of [...names, 'bad']) {
      const caller = lines.find((line) =>
        JSON.stringify(line['message'] ?? '').includes(`"id":"toolu_${name}"`),
      )
      const result = lines.find((line) =>
        JSON.stringify(line['message'] ?? '').includes(`"tool_use_id":"toolu_${name}"`),
      )
      expect(result?.['sourceToolAssistantUUID']).toBe(caller?.['uuid'])
    }
  })

  test('thoughts go back with their signatures, over all steps of a turn and after a resume', async () => {
    const thought = (text: string): AnswerBlock => ({
      type: 'thinking',
      thinking: text,
      signature: `sig-${text}==`,
    })
    world.script.push(
      {
        content: [
          thought('one'),
          { type: 'text', text: 'First.' },
          { type: 'tool_use', name: 'Read', input: { file_path: 'a.txt' } },
        ],
      },
      { content: [thought('two'), { type: 'tool_use', name: 'Read', input: { file_path: 'b.txt' } }] },
      { content: [thought('three'), { type: 'text', text: 'Done.' }] },
    )
    const agent = await world.open()
    await prompt(agent, 'go')
    await agent.close()
    await prompt(await world.open(resume(agent.session, world.root)), 'next')
    const thoughts = (at: number): unknown[] =>
      blocksIn(world.requests[at])
        .filter(({ type }) => type === 'thinking')
        .map(({ thinking, signature }) => [thinking, signature])
    expect([0, 1, 2, 3].map(thoughts)).toEqual([
      [],
      [['one', 'sig-one==']],
      [
        ['one', 'sig-one=='],
        ['two', 'sig-two=='],
      ],
      [
        ['one', 'sig-one=='],
        ['two', 'sig-two=='],
        ['three', 'sig-three=='],
      ],
    ])
  })

  test('an id that was there before, or that the API would not take back, is replaced by a new one', async () => {
    const read = (id: string): AnswerBlock => ({
      type: 'tool_use',
      id,
      name: 'Read',
      input: { file_path: 'a.txt' },
    })
    world.script.push(
      {
        content: [
          read('toolu_1'),
          read('toolu_1'),
          read('../../x'),
          read('functions.Read:0'),
          read('x'.repeat(5000)),
        ],
      },
      call('Read', { file_path: 'b.txt' }, 'toolu_1'),
      say('done'),
    )
    const agent = await world.open()
    expect((await prompt(agent, 'go')).text).toBe('done')
    expect(world.requests).toHaveLength(3)
    const results = resultsIn(2)
    expect(results.map(({ content }) => content)).toEqual([
      'one\n',
      'one\n',
      'one\n',
      'one\n',
      'one\n',
      'bee\n',
    ])
    const ids = results.map(({ tool_use_id: id }) => String(id))
    expect(ids[0]).toBe('toolu_1')
    expect(new Set(ids).size).toBe(6)
    for (const id of ids) expect(id).toMatch(/^[\w-]{1,64}$/)
  })

  test('an id whose result was replaced on a branch that was left is not used again', async () => {
    world.script.push(
      call('Bash', { command: 'printf "%040000d" 0' }, 'toolu_big'),
      say('done'),
      call('Read', { file_path: 'b.txt' }, 'toolu_big'),
    )
    const agent = await world.open()
    await prompt(agent, 'first')
    await agent.session.moveTip(null)
    await prompt(agent, 'second')
    expect(resultsIn(3).map(({ content }) => content)).toEqual(['bee\n'])
  })

  test('messages that all come under one id stay messages of their own', async () => {
    const { default: Anthropic } = await import('@anthropic-ai/sdk')
    const { createMessagesApi } = await import('@loci/cli/testing')
    const script = [
      call('Read', { file_path: 'a.txt' }),
      say('one'),
      call('Read', { file_path: 'b.txt' }),
      say('two'),
    ]
    let count = 0
    const api = createMessagesApi({
      answer: () => script.shift() ?? say('ok'),
      onRequest: (seen) => void world.requests.push(seen),
    })
    world.client = new Anthropic({
      apiKey: 'test',
      fetch: async (...request) => {
        const response = await api.fetch(...request)
        count += 1
        return new Response((await response.text()).replace(/"id":"msg_[^"]*"/, '"id":"msg_same"'), {
          headers: response.headers,
        })
      },
    })
    const agent = await world.open()
    await prompt(agent, 'first')
    await prompt(agent, 'second')
    expect(count).toBe(4)
    const roles = blocksIn(world.requests[3]).map(({ role, type }) => `${String(role)} ${String(type)}`)
    expect(roles.slice(-7)).toEqual([
      'user text',
      'assistant tool_use',
      'user tool_result',
      'assistant text',
      'user text',
      'assistant tool_use',
      'user tool_result',
    ])
    expect(await readFile(agent.session.path, 'utf8')).toContain('msg_same')
  })

  test('a model that never ends is stopped, and the conversation can be gone on with', async () => {
    world.script.push(...Array.from({ length: 250 }, () => call('Read', { file_path: 'a.txt' })))
    const agent = await world.open()
    const { error } = await prompt(agent, 'go')
    expect(error).toMatchObject({ code: 'MODEL_REJECTED', message: expect.stringContaining('200 requests') })
    world.script.length = 0
    expect((await prompt(agent, 'enough')).text).toBe('ok')
  })
})
