import type { Entry, ModelMessage } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertAccepted } from './accepted.ts'
import { assistant, call, entry, jsonl, often, reading, result, SID, straight, text, user } from './lines.ts'
import type { Line } from './lines.ts'

const sent = (
  lines: readonly Line[],
  renderAttachment?: (entry: Entry) => string | null,
): Promise<ModelMessage[]> =>
  reading(jsonl(...lines), (session) => session.conversation(renderAttachment ? { renderAttachment } : {}))
const interrupted = (id: string): Line => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'Interrupted.',
  is_error: true,
})
const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' }

const u = (uuid: string, parent: string | null, content: unknown): Line => user(uuid, parent, content)
const a = (uuid: string, parent: string | null, content: unknown, id?: string): Line =>
  assistant(uuid, parent, content, id === undefined ? {} : { id })

describe('the messages of a chain', () => {
  const table: [name: string, lines: Line[], expected: unknown[]][] = [
    ['nothing', [], []],
    ['a prompt stays the string it is', [u('m1', null, 'hi')], [['user', 'hi']]],
    [
      'an answer is blocks',
      [u('m1', null, 'hi'), a('m2', 'm1', 'ho')],
      [
        ['user', 'hi'],
        ['assistant', [text('ho')]],
      ],
    ],
    [
      'lines of one message are one message',
      [
        u('m1', null, 'hi'),
        a('a1', 'm1', [thinking], 'x'),
        a('a2', 'a1', [text('1')], 'x'),
        a('a3', 'a2', [call('t')], 'x'),
        u('r', 'a3', [result('t')]),
      ],
      [
        ['user', 'hi'],
        ['assistant', [thinking, text('1'), call('t')]],
        ['user', [result('t')]],
      ],
    ],
    [
      'also where a result of it came in between',
      [
        u('m1', null, 'hi'),
        a('a1', 'm1', [call('t1')], 'x'),
        u('r1', 'a1', [result('t1')]),
        a('a2', 'r1', [call('t2')], 'x'),
        u('r2', 'a2', [result('t2')]),
      ],
      [
        ['user', 'hi'],
        ['assistant', [call('t1'), call('t2')]],
        ['user', [result('t1'), result('t2')]],
      ],
    ],
    [
      'neighbours of one role are merged',
      [
        u('m1', null, 'one'),
        u('m2', 'm1', 'two'),
        a('m3', 'm2', 'x', '1'),
        a('m4', 'm3', 'y', '2'),
        u('m5', 'm4', 'three'),
      ],
      [
        ['user', [text('one'), text('two')]],
        ['assistant', [text('x'), text('y')]],
        ['user', 'three'],
      ],
    ],
    [
      'system lines and attachments are left out',
      [
        u('m1', null, 'hi'),
        entry('attachment', 'x', 'm1'),
        entry('system', 'y', 'x', { content: 'z' }),
        a('m2', 'y', 'ho'),
      ],
      [
        ['user', 'hi'],
        ['assistant', [text('ho')]],
      ],
    ],
    [
      'texts of blanks alone, and what is no block, are left out',
      [
        u('m1', null, 'hi'),
        u('m2', 'm1', ' \n'),
        a('m3', 'm2', [text(''), null, 7, { type: 'text' }, text('ho'), 'str']),
        u('m4', 'm3', []),
      ],
      [
        ['user', 'hi'],
        ['assistant', [text('ho'), text('str')]],
      ],
    ],
    [
      'an answer that is all thinking, and thinking at the end of one, cannot be sent',
      [
        u('m1', null, 'hi'),
        a('m2', 'm1', [thinking], 'x'),
        u('m3', 'm2', 'again'),
        a('m4', 'm3', [thinking, text('1'), thinking], 'y'),
      ],
      [
        ['user', [text('hi'), text('again')]],
        ['assistant', [thinking, text('1')]],
      ],
    ],
    [
      'of two messages that became one, since the line between them is lost, only the first may think',
      [
        u('m1', null, 'hi'),
        a('m2', 'm1', [thinking, text('1')], 'x'),
        a('m3', 'm2', [thinking, text('2'), { type: 'redacted_thinking', data: 'd' }, text('3')], 'y'),
        u('m4', 'm3', 'on'),
        a('m5', 'm4', [thinking, text('4')], 'z'),
      ],
      [
        ['user', 'hi'],
        ['assistant', [thinking, text('1'), text('2'), text('3')]],
        ['user', 'on'],
        ['assistant', [thinking, text('4')]],
      ],
    ],
    [
      'unsigned thinking cannot be sent',
      [u('m1', null, 'hi'), a('m2', 'm1', [{ type: 'thinking', thinking: 'x' }, text('1')])],
      [
        ['user', 'hi'],
        ['assistant', [text('1')]],
      ],
    ],
    [
      'a conversation that begins with the model gets a beginning',
      [a('m1', null, 'ho'), u('m2', 'm1', 'hi')],
      [
        ['user', '(The beginning of this conversation is missing.)'],
        ['assistant', [text('ho')]],
        ['user', 'hi'],
      ],
    ],
    [
      'results stand before what was said with them',
      [u('m1', null, 'hi'), a('m2', 'm1', [call('t')]), u('m3', 'm2', [text('look'), result('t')])],
      [
        ['user', 'hi'],
        ['assistant', [call('t')]],
        ['user', [result('t'), text('look')]],
      ],
    ],
    [
      'a call without an object as input gets one',
      [
        u('m1', null, 'hi'),
        a('m2', 'm1', [{ type: 'tool_use', id: 't', name: 'N', input: '{"cut' }]),
        u('m3', 'm2', [result('t')]),
      ],
      [
        ['user', 'hi'],
        ['assistant', [{ type: 'tool_use', id: 't', name: 'N', input: {} }]],
        ['user', [result('t')]],
      ],
    ],
    [
      'empty texts in a result are left out, and a failure says something',
      [
        u('m1', null, 'hi'),
        a('m2', 'm1', [call('t1'), call('t2')]),
        u('m3', 'm2', [result('t1', [text(''), text('x')]), { ...result('t2', ''), is_error: true }]),
      ],
      [
        ['user', 'hi'],
        ['assistant', [call('t1'), call('t2')]],
        [
          'user',
          [result('t1', [text('x')]), { ...result('t2', 'Failed without a message.'), is_error: true }],
        ],
      ],
    ],
    [
      'blocks of kinds that are not known here pass',
      [u('m1', null, [{ type: 'future', data: [1] }, text('x')])],
      [['user', [{ type: 'future', data: [1] }, text('x')]]],
    ],
  ]
  test.each(table)('%s', async (_name, lines, expected) => {
    expect((await sent(lines)).map(({ role, content }) => [role, content])).toEqual(expected)
  })
})

describe('content of any kind', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  const withDeep = (line: Line): string => JSON.stringify(line).replace('"DEEP"', deep)
  const ok = (content: unknown): unknown[] => [
    ['user', 'hi'],
    ['assistant', [call('t')]],
    ['user', [{ type: 'tool_result', tool_use_id: 't', ...(content === undefined ? {} : { content }) }]],
  ]
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'x' } }
  const results: [content: unknown, sent: unknown, flawed: boolean][] = [
    [[null], [], true],
    [['text'], [text('text')], false],
    [5, undefined, true],
    [{}, undefined, true],
    [null, undefined, true],
    [[[1]], [], true],
    [[{ type: 'text' }, text('x')], [text('x')], true],
    [[{ type: 'image' }], [], true],
    [[{ type: 'image', source: { type: 'base64' } }], [], true],
    [[image], [image], false],
    [[{ type: 'tool_result', tool_use_id: 'x' }], [], true],
    [[{ type: 'tool_reference', tool_name: 'x' }], [{ type: 'tool_reference', tool_name: 'x' }], false],
    [[{ type: 'future', x: 'DEEP' }], [], true],
  ]
  test.each(results)('a result with %j', async (content, expected, flawed) => {
    const lines = [
      u('m1', null, 'hi'),
      a('m2', 'm1', [call('t')]),
      u('m3', 'm2', [{ type: 'tool_result', tool_use_id: 't', content }]),
    ]
    await reading(jsonl(...lines.map(withDeep)), async (session) => {
      const messages = await session.conversation()
      expect(messages.map(({ role, content: said }) => [role, said])).toEqual(ok(expected))
      const damage = await session.damage()
      const kinds = damage.filter(({ kind }) => kind === 'unreadable-content')
      expect(kinds.map(({ line }) => line)).toEqual(flawed ? [3] : [])
    })
  })

  test.each(['', ' \n', [], [text(' ')], null])('a failure that says %j says something', async (content) => {
    const failed = { type: 'tool_result', tool_use_id: 't', is_error: true }
    const lines = [u('m1', null, 'hi'), a('m2', 'm1', [call('t')]), u('m3', 'm2', [{ ...failed, content }])]
    expect((await sent(lines))[2]?.content).toEqual([{ ...failed, content: 'Failed without a message.' }])
  })

  const blocks: [block: unknown, role: 'user' | 'assistant'][] = [
    [null, 'user'],
    [{}, 'user'],
    [{ type: 'text', text: 5 }, 'user'],
    [{ type: 'image' }, 'user'],
    [image, 'assistant'],
    [{ type: 'document', source: null }, 'user'],
    [{ type: 'tool_use', id: '', name: 'x', input: {} }, 'assistant'],
    [{ type: 'tool_use', id: 't', name: 'x', input: 'DEEP' }, 'assistant'],
    [[[]], 'user'],
  ]
  test.each(blocks)('a block %j of the %s is left out, and said', async (block, role) => {
    const lines = [
      u('m1', null, role === 'user' ? [text('hi'), block] : 'hi'),
      a('m2', 'm1', role === 'assistant' ? [block, text('ho')] : 'ho'),
    ]
    await reading(jsonl(...lines.map(withDeep)), async (session) => {
      const said = (await session.conversation()).map(({ content }) => JSON.stringify(content))
      expect(said).toEqual([
        role === 'user' ? JSON.stringify([text('hi')]) : '"hi"',
        JSON.stringify([text('ho')]),
      ])
      expect(await session.damage()).toMatchObject([
        { kind: 'unreadable-content', line: role === 'user' ? 1 : 2 },
      ])
    })
  })

  test.each([
    ['a text', 'x'],
    ['nothing', null],
    ['without content', {}],
    ['content of a number', { content: 5 }],
  ])('a message that is %s is left out, and said', async (_name, message) => {
    const line = { ...u('m1', null, 'x'), message }
    await reading(jsonl(line, u('m2', 'm1', 'hi')), async (session) => {
      expect(await session.conversation()).toEqual([{ role: 'user', content: 'hi' }])
      expect(await session.damage()).toMatchObject([{ kind: 'unreadable-content', line: 1 }])
    })
  })

  test('lines that nest deep elsewhere open, also twice or without uuid', async () => {
    const m2 = { ...a('m2', 'm1', 'ho'), toolUseResult: 'DEEP' }
    const lines = [u('m1', null, 'hi'), m2, m2, { ...m2, x: 1 }, { ...m2, uuid: undefined }].map(withDeep)
    await reading(jsonl(...lines), async (session) => {
      expect(await session.conversation()).toHaveLength(2)
      expect((await session.damage()).map(({ kind }) => kind)).toEqual([
        'duplicate-entry',
        'conflicting-entry',
        'missing-uuid',
      ])
    })
  })

  test('what runs at the API passes with its results, untouched', async () => {
    const server = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', url: 'u' }],
      },
      { type: 'mcp_tool_result', tool_use_id: 'm', is_error: false, content: [text('')] },
      text('found'),
    ]
    await reading(jsonl(u('m1', null, 'hi'), a('m2', 'm1', server)), async (session) => {
      expect((await session.conversation())[1]?.content).toEqual(server)
      expect(await session.damage()).toEqual([])
    })
  })
})

describe('S23: calls and results', () => {
  const calls = (parent: string): Line[] => [
    a('a1', parent, [call('t1')], 'x'),
    a('a2', 'a1', [call('t2')], 'x'),
    a('a3', 'a2', [call('t3')], 'x'),
  ]
  test('ended after three calls and one result: the missing ones are said to be interrupted, on disk nothing', async () => {
    const lines = [u('m1', null, 'hi'), ...calls('m1'), u('r2', 'a2', [result('t2')])]
    expect((await sent(lines)).slice(1)).toEqual([
      { role: 'assistant', content: [call('t1'), call('t2'), call('t3')] },
      { role: 'user', content: [result('t2'), interrupted('t1'), interrupted('t3')] },
    ])
  })
  test('the orphan in the middle', async () => {
    const lines = [
      u('m1', null, 'hi'),
      a('m2', 'm1', [call('t')]),
      u('m3', 'm2', 'never mind'),
      a('m4', 'm3', 'ok'),
    ]
    expect((await sent(lines)).slice(1)).toEqual([
      { role: 'assistant', content: [call('t')] },
      { role: 'user', content: [interrupted('t'), text('never mind')] },
      { role: 'assistant', content: [text('ok')] },
    ])
  })
  test('results on sibling lines are all real', async () => {
    const lines = [
      u('m1', null, 'hi'),
      ...calls('m1'),
      u('r1', 'a1', [result('t1')]),
      u('r2', 'a2', [result('t2')]),
      u('r3', 'a3', [result('t3')]),
      a('m4', 'r3', 'ok', 'y'),
    ]
    expect((await sent(lines))[2]).toEqual({
      role: 'user',
      content: [result('t1'), result('t2'), result('t3')],
    })
  })
  test('a result without a call is left out, with a note', async () => {
    const lines = [u('m1', null, 'hi'), a('m2', 'm1', 'ho'), u('m3', 'm2', [result('t9'), text('and')])]
    expect((await sent(lines))[2]).toEqual({ role: 'user', content: [text('and')] })
    const damage = await reading(jsonl(...lines), (session) => session.damage())
    expect(damage).toMatchObject([{ kind: 'stray-result', line: 3 }])
  })
  test('a result that comes late moves to its place, a second one is left out', async () => {
    const lines = [
      u('m1', null, 'hi'),
      a('m2', 'm1', [call('t')]),
      u('m3', 'm2', 'well?'),
      u('m4', 'm3', [result('t', '1'), result('t', '2')]),
    ]
    expect((await sent(lines)).slice(2)).toEqual([
      { role: 'user', content: [result('t', '1'), text('well?')] },
    ])
  })
  test('a call that is made again under the same id is left out', async () => {
    const lines = [
      u('m1', null, 'hi'),
      a('m2', 'm1', [call('t')]),
      u('m3', 'm2', [result('t', '1')]),
      a('m4', 'm3', [text('x'), call('t')]),
      u('m5', 'm4', [result('t', '2'), text('y')]),
    ]
    expect((await sent(lines)).slice(2)).toEqual([
      { role: 'user', content: [result('t', '1')] },
      { role: 'assistant', content: [text('x')] },
      { role: 'user', content: [text('y')] },
    ])
  })
})

describe('attachments', () => {
  const lines = [
    u('m1', null, 'hi'),
    entry('attachment', 'x1', 'm1', { attachment: { say: 'A' } }),
    a('m2', 'x1', [call('t')]),
    u('m3', 'm2', [result('t')]),
    entry('attachment', 'x2', 'm3', { attachment: { say: 'B' } }),
    a('m4', 'x2', 'ok'),
    entry('attachment', 'x3', 'm4', { attachment: { say: '' } }),
    u('m5', 'x3', 'on'),
    entry('attachment', 'x4', 'm5', { attachment: { say: 'C' } }),
  ]
  const render = ({ attachment }: Entry): string | null =>
    typeof attachment === 'object' && attachment && 'say' in attachment ? String(attachment.say) : null
  test('rendered ones go into the user message that follows, after its results; without one they are left out', async () => {
    expect(await sent(lines, render)).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [call('t')] },
      { role: 'user', content: [result('t'), text('A')] },
      { role: 'assistant', content: [text('ok')] },
      { role: 'user', content: [text('B'), text('on')] },
    ])
  })
  test('before the first prompt they open the conversation', async () => {
    const first = [entry('attachment', 'x1', null, { attachment: { say: 'A' } }), u('m1', 'x1', 'hi')]
    expect(await sent(first, render)).toEqual([{ role: 'user', content: [text('A'), text('hi')] }])
  })
  test('null leaves one out', async () => {
    expect(await sent(lines, () => null)).toEqual(await sent(lines))
  })
})

describe('S12: half an emoji', () => {
  test('every string that is sent is well-formed, keys too; the file keeps what it had', async () => {
    const bytes = [
      String.raw`{"type":"user","uuid":"m1","parentUuid":null,"sessionId":"${SID}","message":{"role":"user","content":"end \ud83d"}}`,
      String.raw`{"type":"assistant","uuid":"m2","parentUuid":"m1","sessionId":"${SID}","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"N","input":{"a":{"\ude00 key":"\ude00"}}}]}}`,
      String.raw`{"type":"user","uuid":"m3","parentUuid":"m2","sessionId":"${SID}","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"\ude00 start 😀"}]}]}}`,
    ]
    const messages = await reading(jsonl(...bytes), (session) => session.conversation())
    expect(messages).toEqual([
      { role: 'user', content: 'end \uFFFD' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'N', input: { a: { '\uFFFD key': '\uFFFD' } } }],
      },
      { role: 'user', content: [result('t', [text('\uFFFD start 😀')])] },
    ])
  })
})

test('what is given out can be changed without harm', async () => {
  await reading(jsonl(u('m1', null, [text('hi')]), a('m2', 'm1', [text('ho')])), async (session) => {
    const first = await session.conversation()
    for (const message of first) if (typeof message.content !== 'string') message.content.length = 0
    expect(await session.conversation()).not.toEqual(first)
  })
})

// --- Any chain at all gives what the API accepts. ---

const block = fc.oneof(
  fc.constantFrom(text('x'), text(''), text(' '), thinking, null, { type: 'redacted_thinking', data: 'd' }),
  fc.constantFrom('t1', 't2', 't3', 't4').map((id) => call(id)),
  fc.constantFrom('t1', 't2', 't3', 't4', 't9').map((id) => result(id)),
  fc.string({ unit: 'binary', maxLength: 3 }).map((said) => text(said)),
)
const line = fc.record({
  type: fc.constantFrom('user', 'assistant', 'user', 'assistant', 'attachment', 'system'),
  content: fc.oneof(fc.constantFrom('hi', '', ' '), fc.array(block, { maxLength: 4 })),
  id: fc.constantFrom('x', 'y', undefined),
  back: fc.nat({ max: 2 }),
})

test('R6: whatever was written, in whatever order, the Messages API accepts what is sent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 14 }), async (drafts) => {
      const lines = drafts.map(({ type, content, id, back }, index): Line => {
        const parent = index - 1 - back
        return entry(type, `m${index}`, parent < 0 ? null : `m${parent}`, {
          message: { role: type, content, ...(id === undefined ? {} : { id }) },
          attachment: {},
        })
      })
      await reading(jsonl(...lines), async (session) => {
        for (const { uuid } of await session.tips()) {
          assertAccepted(await session.conversation({ tip: uuid }))
          assertAccepted(await session.conversation({ tip: uuid, renderAttachment: () => 'note' }))
        }
      })
    }),
    { numRuns: often(150, 40) },
  )
})

test('what a request sends is the beginning of what every later one sends', async () => {
  const lines = [
    ...straight(2),
    u('m3', 'm2', 'go'),
    a('m4', 'm3', [thinking], 'x'),
    a('m5', 'm4', [call('t1')], 'x'),
    a('m6', 'm5', [call('t2')], 'x'),
    u('m7', 'm5', [result('t1')]),
    u('m8', 'm6', [result('t2')]),
    entry('attachment', 'm9', 'm8'),
    a('m10', 'm9', 'ok', 'y'),
    u('m11', 'm10', 'on'),
  ]
  const all = JSON.stringify(await sent(lines, () => 'note'))
  for (const length of [1, 3, 8, 9, 11]) {
    const some = JSON.stringify(await sent(lines.slice(0, length), () => 'note'))
    expect(all.startsWith(some.slice(0, -1))).toBe(true)
  }
})
