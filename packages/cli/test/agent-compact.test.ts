import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { MessagesRequest } from '@loci/cli/testing'
import { setFaultHook } from '@loci/disk/testing'
import { openSession, verifySession } from '@loci/session-jsonl'
import type { Entry, Session } from '@loci/session-jsonl'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { planAttachments } from '../src/agent/attachments.ts'
import { contextTokens, isFull, keptPart } from '../src/agent/compaction.ts'
import { newMessages } from '../src/agent/background-memory.ts'
import { interruptedTurn } from '../src/agent/interrupted-turn.ts'
import type { Agent } from '../src/agent/open-agent.ts'
import { conversationTarget, isPrompt } from '../src/rewind-door.ts'
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
import { loci } from './run.ts'
import type { Run } from './run.ts'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n' })
})
afterEach(() => world.close())

const never = new AbortController().signal
const SUMMARY = say('They read a.txt; it says one.')
/** Fills the window of a model that nobody knows: the stand-in counts bytes. */
const LONG = 'long '.repeat(35_000)
const notices = (): string[] => world.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))
const bodyOf = (number: number): MessagesRequest => world.requests.at(number)?.body as MessagesRequest
const isAsked = (number: number): boolean =>
  textsIn(world.requests.at(number)).at(-1)?.includes('replaced by a summary') ?? false
const accepted = (): void => expect(world.requests.flatMap(({ error }) => error ?? [])).toEqual([])

/** A prompt, a thought, two calls at once and an answer; then a short turn. */
async function talk(agent: Agent): Promise<void> {
  world.script.push(
    {
      content: [
        { type: 'thinking', thinking: 'I shall look.', signature: 'c2ln' },
        ...call('Read', { file_path: 'a.txt' }, 'toolu_1').content,
        ...call('Read', { file_path: 'a.txt' }, 'toolu_2').content,
      ],
    },
    say(`It says one. ${'And so on. '.repeat(300)}`),
  )
  await prompt(agent, 'what does a.txt say?')
  world.script.push(say('You are welcome.'))
  await prompt(agent, 'thank you')
}

describe('/compact', () => {
  test('asks by the same request with one text more, which is read from the cache, and offers no call', async () => {
    const agent = await world.open()
    await talk(agent)
    world.script.push(SUMMARY)
    await agent.compact('keep the names', never)
    const [main, asked] = [bodyOf(-2), bodyOf(-1)]
    expect({ ...asked, messages: [] }).toEqual({ ...main, messages: [] })
    const blocks = blocksIn(world.requests.at(-2))
    expect(blocksIn(world.requests.at(-1)).slice(0, blocks.length)).toEqual(blocks)
    expect(textsIn(world.requests.at(-1)).at(-1)).toContain('For this summary the user asks: keep the names')
    const seen = world.requests.at(-1)
    expect(seen?.cacheReadBytes).toBe(seen?.sharedBytes)
    expect(seen?.cacheReadBytes).toBe(world.requests.at(-2)?.promptBytes)
    accepted()
  })

  test('afterwards the summary, the end as it was, date and memory again, and the prompt are sent', async () => {
    world.env['TZ'] = 'UTC'
    const agent = await world.open()
    await agent.memory.save(
      'project',
      {
        name: 'Tabs',
        description: 'we use tabs',
        type: 'project',
        body: 'Tabs.',
      },
      { messageId: 'm' },
    )
    await talk(agent)
    const full = await agent.session.conversation()
    world.script.push(SUMMARY)
    const { closed, tokensBefore, tokensAfter } = await agent.compact('', never)
    expect(tokensAfter).toBeLessThan(tokensBefore)
    await prompt(agent, 'go on')
    const texts = textsIn(world.requests.at(-1))
    expect(texts[0]).toContain('They read a.txt; it says one.')
    expect(texts.slice(1)).toEqual([
      'thank you',
      'You are welcome.',
      expect.stringContaining('we use tabs'),
      '<context name="date">Today is 2026-11-30.</context>',
      'go on',
    ])
    // What is sent now is the beginning of what is sent from now on.
    const now = blocksIn(world.requests.at(-1))
    await prompt(agent, 'and on')
    expect(blocksIn(world.requests.at(-1)).slice(0, now.length)).toEqual(now)
    const seen = world.requests.at(-1)
    expect(seen?.cacheReadBytes).toBe(world.requests.at(-2)?.promptBytes)
    accepted()
    // Both are there, and others find the same.
    await agent.session.moveTip(closed)
    expect(await agent.session.conversation()).toEqual(full)
    await agent.close()
    expect(await verifySession(agent.session.path)).toEqual([])
  })

  test('of the two counts the line tells the one that was, and nearly the one that is', async () => {
    const agent = await world.open()
    await talk(agent)
    const last = world.requests.at(-1)?.promptBytes ?? 0
    world.script.push(SUMMARY)
    const { tokensBefore, tokensAfter } = await agent.compact('', never)
    expect(tokensBefore).toBeGreaterThan(last)
    expect(tokensBefore).toBeLessThan(last * 1.1)
    await prompt(agent, 'on')
    const now = world.requests.at(-1)?.promptBytes ?? 0
    expect(Math.abs(now - tokensAfter) / now).toBeLessThan(0.15)
  })

  test('is counted, and stands in the transcript as the format says', async () => {
    const agent = await world.open()
    await talk(agent)
    world.script.push(SUMMARY)
    const before = agent.state.getState().totalUsage
    const { usage, closed, tokensBefore, tokensAfter } = await agent.compact('', never)
    const total = agent.state.getState().totalUsage
    expect(total.outputTokens - before.outputTokens).toBe(usage.outputTokens)
    expect(usage.costUsd).toBeGreaterThan(0)
    const lines = await linesOf(agent.session.path)
    const at = lines.findIndex(({ subtype }) => subtype === 'compact_boundary')
    const [boundary, summary, last, ...rest] = lines.slice(at)
    expect(boundary).toMatchObject({
      logicalParentUuid: closed,
      compactMetadata: { trigger: 'manual', preTokens: tokensBefore, postTokens: tokensAfter },
    })
    expect(summary).toMatchObject({ isCompactSummary: true, parentUuid: boundary?.['uuid'] })
    expect(last).toMatchObject({ type: 'last-prompt', lastPrompt: 'thank you', leafUuid: summary?.['uuid'] })
    expect(rest).toEqual([])
  })

  test('a thought in the part that is kept stays', async () => {
    const agent = await world.open()
    world.script.push(say(`First. ${'And so on. '.repeat(300)}`))
    await prompt(agent, 'first')
    world.script.push(
      {
        content: [
          { type: 'thinking', thinking: 'I shall look.', signature: 'c2ln' },
          ...call('Read', { file_path: 'a.txt' }, 'toolu_1').content,
        ],
      },
      say('one'),
    )
    await prompt(agent, 'second')
    world.script.push(SUMMARY)
    await agent.compact('', never)
    await prompt(agent, 'third')
    const kinds = blocksIn(world.requests.at(-1)).map(({ type }) => type)
    expect(kinds.slice(0, 6)).toEqual(['text', 'text', 'thinking', 'tool_use', 'tool_result', 'text'])
    accepted()
  })

  test('after a turn that was cut off the request is valid too', async () => {
    const agent = await world.open()
    world.script.push(fault(400, 'invalid_request_error'), SUMMARY)
    await prompt(agent, 'unanswered')
    await agent.compact('', never)
    expect(textsIn(world.requests.at(-1)).at(-2)).toBe('unanswered')
    await prompt(agent, 'on')
    expect(world.requests.filter(({ status }) => status !== 200)).toHaveLength(1)
  })

  test('a model that calls tools is told that it cannot, and may go on', async () => {
    const agent = await world.open()
    await talk(agent)
    world.script.push(call('Write', { file_path: 'a.txt', content: 'bad' }), SUMMARY)
    await agent.compact('', never)
    expect(JSON.stringify(bodyOf(-1).messages.at(-1))).toContain('No tool can be called now.')
    expect(await readFile(`${world.root}/a.txt`, 'utf8')).toBe('one\n')
    expect(JSON.stringify(await agent.session.conversation())).toContain('it says one')
    accepted()
  })

  test('twice, with nothing between, and in an empty conversation it is refused', async () => {
    const agent = await world.open()
    await expect(agent.compact('', never)).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
    await talk(agent)
    world.script.push(SUMMARY)
    await agent.compact('', never)
    const asked = world.requests.length
    await expect(agent.compact('', never)).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' })
    expect(world.requests).toHaveLength(asked)
  })
})

describe('what goes wrong leaves the conversation as it was', () => {
  test.each<[string, string, Step[]]>([
    ['a server that refuses', 'MODEL_REJECTED', [fault(400, 'invalid_request_error')]],
    [
      'a server that is down',
      'MODEL_UNAVAILABLE',
      Array.from({ length: 3 }, () => fault(529, 'overloaded_error')),
    ],
    ['a refusal', 'MODEL_REFUSED', [{ ...say('I will'), stopReason: 'refusal' }]],
    ['a summary that is cut', 'MODEL_REJECTED', [{ ...say('They read'), stopReason: 'max_tokens' }]],
    ['an empty summary', 'MODEL_REJECTED', [say(' \n')]],
    ['no summary at all', 'MODEL_REJECTED', [{ content: [] }]],
    [
      'calls without an end',
      'MODEL_REJECTED',
      Array.from({ length: 10 }, () => call('Bash', { command: 'ls' })),
    ],
  ])('%s', async (_name, code, steps) => {
    const agent = await world.open()
    await talk(agent)
    const isOf = ({ type }: { type: string }): boolean => type !== 'cost-state'
    const before = (await linesOf(agent.session.path)).filter(isOf)
    world.script.push(...steps)
    await expect(agent.compact('', never)).rejects.toMatchObject({ code })
    expect(world.script).toEqual([])
    expect((await linesOf(agent.session.path)).filter(isOf)).toEqual(before)
    expect(agent.state.getState().isCompacting).toBe(false)
    await prompt(agent, 'on')
    expect(textsIn(world.requests.at(-1))).toContain('what does a.txt say?')
  })

  test('an interruption', async () => {
    const agent = await world.open()
    await talk(agent)
    const stop = new AbortController()
    world.script.push(() => {
      expect(agent.state.getState().isCompacting).toBe(true)
      stop.abort()
      return SUMMARY
    })
    const { tip } = agent.session
    await expect(agent.compact('', stop.signal)).rejects.toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(agent.session.tip).toBe(tip)
  })

  test('an interruption when the answer is there, and was paid for', async () => {
    const agent = await world.open()
    await talk(agent)
    const stop = new AbortController()
    agent.state.subscribe((state, previous) => {
      if (state.totalUsage !== previous.totalUsage) stop.abort()
    })
    world.script.push(SUMMARY)
    const { tip } = agent.session
    await expect(agent.compact('', stop.signal)).rejects.toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(agent.session.tip).toBe(tip)
  })
})

describe('by itself', () => {
  beforeEach(() => {
    world.model = 'a-model-that-nobody-knows'
  })

  test('with the window nearly full it is compacted before the next prompt, once, and said', async () => {
    const agent = await world.open()
    await prompt(agent, LONG)
    world.script.push(SUMMARY)
    await prompt(agent, 'on')
    expect([isAsked(-1), isAsked(-2)]).toEqual([false, true])
    expect(textsIn(world.requests.at(-1)).join('\n')).not.toContain(LONG)
    expect(notices()).toEqual([
      expect.stringMatching(/^The conversation takes \d{6} tokens; compacting it$/),
      expect.stringMatching(
        /^Compacted: \d{6} tokens before, about \d+ now, cost unknown; \/rewind \S+ conversation goes back$/,
      ),
    ])
    await prompt(agent, 'and on')
    expect(world.requests).toHaveLength(4)
    const boundary = (await linesOf(agent.session.path)).find(({ subtype }) => subtype === 'compact_boundary')
    expect(boundary).toMatchObject({ compactMetadata: { trigger: 'auto' } })
    accepted()
  })

  test('also by who goes on with the session, and not where there is room or the setting says no', async () => {
    const agent = await world.open()
    await prompt(agent, LONG)
    await agent.close()
    const roomy = await (async () => {
      world.model = 'claude-sonnet-5-5'
      return world.open(resume(agent.session, world.root))
    })()
    await prompt(roomy, 'on')
    await roomy.close()
    world.model = 'a-model-that-nobody-knows'
    const settings = world.work.path('home/settings.json')
    const off = await world.open(resume(agent.session, world.root))
    await writeFile(settings, '{"memoryExtraction":false,"autoCompactEnabled":false}')
    await prompt(off, 'on')
    await off.close()
    expect(world.requests).toHaveLength(3)
    const again = await world.open(resume(agent.session, world.root))
    world.script.push(SUMMARY)
    await prompt(again, 'on')
    expect(world.requests.map((_, index) => isAsked(index))).toEqual([false, false, false, true, false])
  })

  test('a failure is said, the prompt is answered, and it is not tried again before there is much more', async () => {
    const agent = await world.open()
    await prompt(agent, LONG)
    world.script.push(fault(400, 'invalid_request_error'))
    await prompt(agent, 'on')
    expect(notices().at(-1)).toMatch(
      /^Compacting failed: .*400.*; the conversation is as it was, \/compact tries again$/,
    )
    expect(textsIn(world.requests.at(-1)).at(-1)).toBe('on')
    await prompt(agent, 'and on')
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    await prompt(again, 'and on')
    expect(world.requests.map((_, index) => index === 1 || isAsked(index))).toEqual([
      false,
      true,
      false,
      false,
      false,
    ])
    world.script.push(say('yes'), SUMMARY)
    await prompt(again, 'x'.repeat(10_000))
    await prompt(again, 'now')
    expect(isAsked(-2)).toBe(true)
    expect(textsIn(world.requests.at(-1)).join('\n')).not.toContain(LONG)
  })

  test('a failure on another branch does not count', async () => {
    const agent = await world.open()
    await prompt(agent, LONG)
    world.script.push(fault(400, 'invalid_request_error'))
    await prompt(agent, 'on')
    await agent.session.moveTip(null)
    await prompt(agent, LONG)
    world.script.push(SUMMARY)
    await prompt(agent, 'on')
    expect(isAsked(-2)).toBe(true)
  })

  test('in the middle of a turn too: the work goes on from the summary and the last round, and all is told again', async () => {
    const agent = await world.open()
    const said = 'so it goes. '.repeat(1000)
    world.script.push(
      { content: [{ type: 'text', text: said }, ...call('Read', { file_path: 'a.txt' }, 't1').content] },
      SUMMARY,
      {
        content: [
          { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
          ...call('Read', { file_path: 'a.txt' }, 't2').content,
        ],
      },
      say('done'),
    )
    const { text, error } = await prompt(agent, 'x'.repeat(140_000))
    expect([text, error]).toEqual(['done', undefined])
    expect(world.requests.map((_, index) => isAsked(index))).toEqual([false, true, false, false])
    const last = blocksIn(world.requests.at(-1))
    const kinds = ['text', 'text', 'tool_use', 'tool_result', 'thinking', 'tool_use', 'tool_result', 'text']
    expect(last.map(({ type }) => type)).toEqual(kinds)
    expect(textsIn(world.requests.at(-1))).toEqual([
      expect.stringContaining('it says one'),
      said,
      '<context name="date">Today is 2026-11-30.</context>',
    ])
    // Each request but the first after it begins with the one before.
    const before = blocksIn(world.requests.at(-2))
    expect(last.slice(0, before.length)).toEqual(before)
    accepted()
    await agent.close()
    expect(await verifySession(agent.session.path)).toEqual([])
  })

  test('interrupted, the prompt is kept, as in any turn', async () => {
    const agent = await world.open()
    await prompt(agent, LONG)
    const stop = new AbortController()
    world.script.push(() => {
      stop.abort()
      return SUMMARY
    })
    const { error } = await agent.prompt('on', stop.signal)
    expect(error).toMatchObject({ code: 'TURN_INTERRUPTED' })
    expect(notices().at(-1)).toContain('Compacting failed: Interrupted')
    expect(JSON.stringify((await agent.session.conversation()).at(-1))).toContain('on')
  })
})

test('R7: ended before or in the middle of any write of a compaction: the conversation is as it was, or compacted', async () => {
  const agent = await world.open()
  await talk(agent)
  await agent.close()
  const { path } = agent.session
  const bytes = await readFile(path)
  const full = await sentFrom(path)
  const outcomes = new Set<string>()
  let isOver = false
  for (let nth = 1; !isOver; nth += 1) {
    for (const tornBytes of [0, 1, 700]) {
      await writeFile(path, bytes)
      const one = await world.open(resume(agent.session, world.root))
      world.script.push(SUMMARY)
      let writes = 0
      setFaultHook((operation, target) => {
        if (operation !== 'write' || target !== path) return undefined
        writes += 1
        if (writes === nth && tornBytes > 0) return { shortWriteBytes: tornBytes }
        return writes >= nth ? Object.assign(new Error('gone'), { code: 'EIO' }) : undefined
      })
      const failure = await one.compact('', never).catch((error: unknown) => error)
      // What it left, without what a living process would do about it.
      const left = await readFile(path)
      setFaultHook(undefined)
      await one.close()
      await writeFile(path, left)
      isOver = writes < nth
      const again = await world.open(resume(agent.session, world.root))
      const sent = await blocksSent(again.session)
      const isCompacted =
        JSON.stringify(sent[0]).includes('it says one.') &&
        (await again.session.chain())[0]?.type === 'system'
      outcomes.add(isCompacted ? 'compacted' : 'as it was')
      if (!isCompacted) expect(sent).toEqual(full)
      if (!isCompacted) expect(failure).toMatchObject({ code: 'DISK_IO' })
      expect(
        (await again.session.damage()).every(
          ({ kind }) => kind === 'torn-line' || kind === 'unfinished-compaction',
        ),
      ).toBe(true)
      await prompt(again, 'on')
      expect(textsIn(world.requests.at(-1)).at(-1)).toBe('on')
      world.script.push(SUMMARY)
      await again.compact('', never)
      expect((await again.session.chain())[1]).toMatchObject({ isCompactSummary: true })
      await again.close()
    }
  }
  expect([...outcomes].toSorted()).toEqual(['as it was', 'compacted'])
  accepted()
})

async function sentFrom(path: string): Promise<unknown[]> {
  const projectDir = dirname(path)
  const session = await openSession({ projectDir, sessionId: basename(path, '.jsonl'), mode: 'read' })
  const sent = await blocksSent(session)
  await session.close()
  return sent
}

async function blocksSent(session: Session): Promise<unknown[]> {
  const messages = await session.conversation()
  return messages.flatMap(({ content }): unknown[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
}

describe('what is decided', () => {
  const lineOf = (uuid: string, parentUuid: string | null, fields: Record<string, unknown>): Entry => ({
    type: 'user',
    uuid,
    parentUuid,
    sessionId: 's',
    timestamp: '2026-11-30T00:00:00.000Z',
    ...fields,
  })
  const asked = (uuid: string, parent: string | null, content: unknown): Entry =>
    lineOf(uuid, parent, { message: { role: 'user', content } })
  const answered = (uuid: string, parent: string, id: string, content: unknown, usage?: unknown): Entry =>
    lineOf(uuid, parent, { type: 'assistant', message: { id, role: 'assistant', content, usage } })
  const x = (units: number): string => 'x'.repeat(units)

  test('the kept part begins with a prompt or an answer, and is a quarter at most', () => {
    const chain = [
      asked('p1', null, x(4000)),
      answered('a1', 'p1', 'm1', [{ type: 'text', text: x(2000) }]),
      asked('p2', 'a1', x(300)),
      answered('a2', 'p2', 'm2', [{ type: 'thinking', thinking: x(100) }]),
      answered('a3', 'a2', 'm2', [{ type: 'tool_use', id: 't', name: 'Read', input: {} }]),
      asked('r', 'a3', [{ type: 'tool_result', tool_use_id: 't', content: x(100) }]),
      answered('a4', 'r', 'm3', [{ type: 'text', text: x(100) }]),
    ]
    expect(keptPart(chain).from).toBe('p2')
    expect(keptPart(chain.slice(1)).from).toBe('a2')
    expect(keptPart(chain.slice(3)).from).toBeUndefined()
    expect(keptPart([])).toEqual({ from: undefined, units: 0, totalUnits: 0 })
    const huge = [
      asked('p0', null, x(400_000)),
      asked('p1', 'p0', x(50_000)),
      answered('a1', 'p1', 'm1', [{ type: 'text', text: 'short' }]),
    ]
    expect(keptPart(huge).from).toBe('a1')
  })

  test('how full it is says the last answer on the way, not one that was kept', () => {
    const usage = {
      input_tokens: 1,
      cache_creation_input_tokens: 20,
      cache_read_input_tokens: 300,
      output_tokens: 4000,
    }
    const chain = [asked('p', null, 'x'), answered('a', 'p', 'm', [], usage), asked('p2', 'a', 'x')]
    expect(contextTokens(chain)).toBe(4321)
    expect(contextTokens(chain.slice(0, 1))).toBe(0)
    expect(contextTokens([])).toBe(0)
    const summary = lineOf('s', 'b', { isCompactSummary: true })
    const boundary = lineOf('b', null, { type: 'system' })
    const compacted = [boundary, summary, ...chain.slice(0, 2)]
    expect(contextTokens(compacted)).toBe(0)
    expect(contextTokens([...compacted, asked('n', 's', 'x')])).toBe(0)
    expect(
      contextTokens([...compacted, asked('n', 's', 'x'), answered('o', 'n', 'm', [], { input_tokens: 7 })]),
    ).toBe(7)
  })

  test('after a compaction all is told again, since what is kept may tell of changes alone', () => {
    const note = (uuid: string, parent: string, attachment: unknown): Entry =>
      lineOf(uuid, parent, { type: 'attachment', attachment })
    const now = {
      date: '2026-11-30',
      memory: '- a\n- b',
      instructions: [{ name: 'AGENTS.md', text: 'Use tabs.' }],
    }
    const told = planAttachments([], now)
    const kept = [
      note('k1', 'x', { type: 'memory_index', content: '- a\n- b', text: 'New in the index:\n- b' }),
      note('k2', 'k1', { type: 'project_instructions', sections: now.instructions, text: 'Changed.' }),
      note('k3', 'k2', { type: 'date', date: now.date }),
    ]
    const compacted = [
      lineOf('b', null, { type: 'system' }),
      lineOf('s', 'b', { isCompactSummary: true }),
      ...kept,
    ]
    expect(told).toHaveLength(3)
    expect(planAttachments(compacted, now)).toEqual(told)
    const again = told.map(({ attachment }, index) =>
      note(`n${index}`, index === 0 ? 's' : `n${index - 1}`, attachment),
    )
    expect(planAttachments([...compacted, ...again], now)).toEqual([])
    expect(
      planAttachments([...compacted, ...again, asked('p', 'n2', 'x')], { ...now, memory: '- a' }),
    ).toHaveLength(1)
  })

  test.each([
    ['claude-sonnet-5-5', 799_999, undefined, false],
    ['claude-sonnet-5-5', 800_000, undefined, true],
    ['claude-opus-4-6', 800_000, undefined, true],
    ['claude-haiku-4-5', 160_000, undefined, true],
    ['claude-sonnet-4-5-20250929', 159_999, undefined, false],
    ['any', 160_000, undefined, true],
    ['any', 169_999, 160_000, false],
    ['any', 170_000, 160_000, true],
  ])('%s with %i tokens, failed at %s: %s', (model, tokens, failedAt, expected) => {
    expect(isFull(tokens, model, failedAt)).toBe(expected)
  })
})

type Round = { thinks: boolean; calls: number; words: number; fails: boolean }

test(
  'any conversation compacted at any time, by hand: every request is valid, and nothing else changes',
  async () => {
    const round = fc.record({
      thinks: fc.boolean(),
      calls: fc.nat({ max: 3 }),
      words: fc.integer({ min: 1, max: 400 }),
      fails: fc.boolean(),
    })
    const turn = fc.record({
      rounds: fc.array(round, { maxLength: 3 }),
      back: fc.option(fc.nat({ max: 20 }), { freq: 4 }),
      compacts: fc.boolean(),
      nextDay: fc.boolean(),
    })
    const stepsOf = (rounds: readonly Round[]): Step[] =>
      rounds.map(({ thinks, calls, words, fails }) =>
        fails
          ? fault(400, 'invalid_request_error')
          : {
              content: [
                ...(thinks ? [{ type: 'thinking' as const, thinking: 'Hm.', signature: 'c2ln' }] : []),
                { type: 'text' as const, text: 'word '.repeat(words) },
                ...Array.from({ length: calls }, () => call('Read', { file_path: 'a.txt' }).content).flat(),
              ],
            },
      )
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const agent = await world.open()
        const { session } = agent
        let day = 1
        for (const { rounds, back, compacts, nextDay } of turns) {
          world.clock = new Date(2026, 10, nextDay ? (day += 1) : day, 12)
          world.script.splice(0, Infinity, ...stepsOf(rounds))
          await prompt(agent, 'go on')
          world.script.length = 0
          if (back !== null) {
            const prompts = (await session.chain()).filter(isPrompt)
            const to = prompts[back % prompts.length]
            if (to) await session.moveTip(await conversationTarget(session, to.uuid))
          }
          if (!compacts || session.tip === null) continue
          const bytes = await readFile(session.path)
          const [chain, full] = [await session.chain(), await blocksSent(session)]
          world.script.push(SUMMARY)
          const compacted = await agent.compact('', never).catch((error: unknown) => error)
          world.script.length = 0
          if (compacted instanceof Error) {
            expect(compacted).toMatchObject({ code: 'ENTRY_NOT_FOUND' })
            continue
          }
          expect((await readFile(session.path)).subarray(0, bytes.length).equals(bytes)).toBe(true)
          const kept = (await session.chain()).slice(2)
          expect(kept).toEqual(kept.length === 0 ? [] : chain.slice(-kept.length))
          const [, ...rest] = await blocksSent(session)
          expect(rest).toEqual(rest.length === 0 ? [] : full.slice(-rest.length))
          expect(await session.damage()).toEqual([])
        }
        await prompt(agent, 'the last')
        await agent.close()
        expect(
          world.requests.filter(
            ({ error }) => error !== undefined && error !== 'it is invalid_request_error',
          ),
        ).toEqual([])
        // Whoever is asked anything knows which day it is.
        const day0 = `Today is 2026-11-${String(day).padStart(2, '0')}.`
        expect(textsIn(world.requests.at(-1)).findLast((text) => text.includes('Today is'))).toContain(day0)
      }),
      { numRuns: process.env['LOCI_LONG'] === '1' ? 200 : 15 },
    )
  },
  process.env['LOCI_LONG'] === '1' ? 300_000 : 30_000,
)

describe('in a session of lines', () => {
  const type = (lines: string[], ...argv: string[]): Promise<Run> =>
    loci(
      {
        home: world.work.path('lines'),
        cwd: world.root,
        input: lines.map((line) => `${line}\n`).join(''),
      },
      ...argv,
    )

  test('/compact says what it was and is, and /rewind goes back; the offline model still knows what was said', async () => {
    const { out, err, code } = await type([
      'my favourite colour is turquoise',
      'read a.txt',
      '/compact',
      'what is my favourite colour?',
      '/compact',
    ])
    expect({ err, code }).toEqual({ err: '', code: 0 })
    const lines = [
      ...out.matchAll(
        /^Compacted: (\d+) tokens before, about (\d+) now; \/rewind (\S+) conversation goes back$/gm,
      ),
    ]
    expect(lines).toHaveLength(2)
    expect(out.slice(out.indexOf('Compacted:'))).toContain('turquoise')
    const [, , , closed = ''] = lines[0] ?? []
    const back = await type([`/rewind ${closed} conversation`, '/rewind'], '--continue')
    expect(back.out).toContain(`now at ${closed}`)
    expect(back.out).toMatch(/^ {2}2 {2}\S+ {2}read a\.txt$/m)
  })

  test('with nothing to compact it says so', async () => {
    const { err, code } = await type(['/compact'])
    expect(err).toMatch(
      /^loci: There is nothing to compact yet; say something first.* \[ENTRY_NOT_FOUND\]\n$/,
    )
    expect(code).toBe(1)
  })
})

test('a conversation that was just compacted was interrupted in nothing', async () => {
  const agent = await world.open()
  world.script.push(say('word '.repeat(2000)), SUMMARY)
  await prompt(agent, 'go')
  await agent.compact('', never)
  const chain = await agent.session.chain()
  expect(chain).toHaveLength(2)
  expect(interruptedTurn(chain)).toBeNull()
  expect(newMessages(chain, new Set())).toEqual([])
})
