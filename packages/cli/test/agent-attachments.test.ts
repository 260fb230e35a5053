import { createSession } from '@loci/session-jsonl'
import type { Entry, EntryDraft } from '@loci/session-jsonl'
import type { MessagesRequest } from '@loci/cli/testing'
import { tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { planAttachments, renderAttachment } from '../src/agent/attachments.ts'
import type { Surroundings } from '../src/agent/attachments.ts'
import { modelRequest } from '../src/agent/model-request.ts'
import { promptBlocks } from '../src/messages-api/prompt-cache.ts'
import { call, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

/** A chain of attachments, as if they had been appended. */
const chainOf = (...bodies: unknown[]): Entry[] =>
  bodies.map((attachment, at) => ({
    type: 'attachment',
    uuid: `u${at}`,
    parentUuid: at === 0 ? null : `u${at - 1}`,
    sessionId: 's',
    timestamp: '2026-11-30T00:00:00.000Z',
    attachment,
  }))
const asEntry = (draft: EntryDraft): Entry => chainOf(draft['attachment'])[0] ?? expect.fail('no entry')
/** What the planned attachments say to the model. */
const said = (chain: readonly Entry[], now: Surroundings): (string | null)[] =>
  planAttachments(chain, now).map((draft) => renderAttachment(asEntry(draft), { hasMemory: true }))

const DAY = '2026-11-30'
const today = `<context name="date">Today is ${DAY}.</context>`
const memory = (...lines: string[]): string => `<context name="memory">\n${lines.join('\n')}\n</context>`
const dated = { type: 'date', date: DAY }
const indexed = (content: string, text = content): unknown => ({ type: 'memory_index', content, text })

describe('what a prompt needs before it', () => {
  test.each<[string, Entry[], string | null, (string | null)[]]>([
    ['the first prompt', [], '- a\n- b', [memory('- a', '- b'), today]],
    ['the first prompt with an empty memory', [], '', [today]],
    ['the first prompt with memory off', [], null, [today]],
    ['the same day and memory', chainOf(indexed('- a'), dated), '- a', []],
    ['the next day', chainOf(indexed('- a'), { type: 'date', date: '2026-11-29' }), '- a', [today]],
    [
      'a day that comes back after another',
      chainOf(dated, { type: 'date', date: '2026-12-01' }),
      null,
      [today],
    ],
    [
      'a line added',
      chainOf(indexed('- a'), dated),
      '- a\n- b',
      [memory('The memory has changed since.', 'New in the index:', '- b')],
    ],
    [
      'a line removed',
      chainOf(indexed('- a\n- b'), dated),
      '- b',
      [memory('The memory has changed since.', 'No longer in the index:', '- a')],
    ],
    [
      'a line changed',
      chainOf(indexed('- a\n- b'), dated),
      '- a\n- c',
      [memory('The memory has changed since.', 'New in the index:', '- c', 'No longer in the index:', '- b')],
    ],
    ['another order, blank lines', chainOf(indexed('- a\n- b'), dated), '- b\n\n- a', []],
    ['memory emptied', chainOf(indexed('- a'), dated), '', [memory('The memory is empty now.')]],
    ['memory still empty', chainOf(indexed('- a'), indexed('', 'The memory is empty now.'), dated), '', []],
    [
      'memory filled again',
      chainOf(indexed('- a'), indexed('', 'The memory is empty now.'), dated),
      '- b',
      [memory('The memory has changed since.', 'New in the index:', '- b')],
    ],
    ['memory off now', chainOf(indexed('- a'), dated), null, []],
    [
      'a date of another client',
      chainOf(dated, { type: 'date_change', newDate: '2026-12-01' }),
      null,
      [today],
    ],
    [
      'today said by another client',
      chainOf({ type: 'date', date: '2026-11-29' }, { type: 'date_change', newDate: DAY }),
      null,
      [],
    ],
    [
      'attachments that say nothing of it',
      chainOf({ type: 'file', path: 'x' }, null, 'text', { type: 'date', date: 7 }),
      null,
      [today],
    ],
    ['an index that is none', chainOf({ type: 'memory_index', content: 7 }, dated), '- a', [memory('- a')]],
  ])('%s', (_, chain, index, expected) => {
    expect(said(chain, { date: DAY, memory: index, instructions: null })).toEqual(expected)
  })

  test.each<[unknown, string | null]>([
    [dated, today],
    [{ type: 'date_change', newDate: DAY }, today],
    [{ type: 'date' }, null],
    [{ type: 'memory_index', content: '- a' }, null],
    [{ type: 'skill_listing', text: 'x' }, null],
    [null, null],
    ['text', null],
  ])('%j says %j', (body, text) => {
    const [entry] = chainOf(body)
    expect(entry && renderAttachment(entry, { hasMemory: true })).toBe(text)
  })

  test('with memory off nothing of it is said', () => {
    const [entry] = chainOf(indexed('- a'))
    expect(entry && renderAttachment(entry, { hasMemory: false })).toBeNull()
  })
})

const LINES = ['- a', '- b', '- c', '## d', '- é 😀']
const stepArbitrary = fc.record({
  prompt: fc.constantFrom('go', 'what?', ' x '),
  date: fc.constantFrom('2026-11-30', '2026-12-01'),
  memory: fc.subarray(LINES).map((lines) => lines.join('\n')),
  instructions: fc.option(
    fc.uniqueArray(
      fc.record({ name: fc.constantFrom('A', 'B'), text: fc.constantFrom('x', 'y\n', '</context>') }),
      {
        selector: ({ name }) => name,
      },
    ),
  ),
  answer: fc.constantFrom('text', 'none', 'tool', 'thought', 'open call'),
})

describe('properties', () => {
  test('each request begins with the one before, byte for byte, whatever changes around it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 2, maxLength: 7 }), async (steps) => {
        const work = await tree()
        const session = await createSession({ projectDir: work.path('p'), sessionId: 's' })
        try {
          let before = ''
          let count = 0
          const request = async (): Promise<void> => {
            const messages = await session.conversation({
              renderAttachment: (entry) => renderAttachment(entry, { hasMemory: true }),
            })
            const body = modelRequest({ model: 'm', system: ['s'], tools: [], messages })
            const now = promptBlocks(body as MessagesRequest)
              .map(({ bytes }) => bytes.toString())
              .join('')
            expect(now.startsWith(before)).toBe(true)
            before = now
          }
          const answer = async (content: unknown): Promise<void> => {
            count += 1
            await session.append({
              type: 'assistant',
              message: { role: 'assistant', id: `m${count}`, content: [content] },
            })
          }
          for (const step of steps) {
            for (const draft of planAttachments(await session.chain(), step)) await session.append(draft)
            await session.append({ type: 'user', message: { role: 'user', content: step.prompt } })
            await request()
            if (step.answer === 'text') await answer({ type: 'text', text: 'yes' })
            if (step.answer === 'thought') await answer({ type: 'thinking', thinking: 'hm', signature: 's' })
            if (step.answer === 'open call' || step.answer === 'tool')
              await answer({ type: 'tool_use', id: `t${count}`, name: 'Read', input: {} })
            if (step.answer !== 'tool') continue
            await session.append({
              type: 'user',
              message: {
                role: 'user',
                content: [{ type: 'tool_result', tool_use_id: `t${count - 1}`, content: 'r' }],
              },
            })
            await request()
            await answer({ type: 'text', text: 'done' })
          }
        } finally {
          await session.close()
          await work.remove()
        }
      }),
      { numRuns: 60 },
    )
  })

  test('who reads the notes in order knows the date and the lines of the index', () => {
    fc.assert(
      fc.property(fc.array(stepArbitrary, { minLength: 1, maxLength: 10 }), (steps) => {
        let chain: Entry[] = []
        const known = new Set<string>()
        let date = ''
        for (const now of steps) {
          const drafts = planAttachments(chain, now)
          for (const text of drafts.map(
            (draft) => renderAttachment(asEntry(draft), { hasMemory: true }) ?? '',
          )) {
            date = /Today is (.*)\./.exec(text)?.[1] ?? date
            if (!text.startsWith('<context name="memory">')) continue
            let isGone = false
            if (text.includes('The memory is empty now.')) known.clear()
            for (const line of text.split('\n').slice(1, -1)) {
              if (line === 'No longer in the index:') isGone = true
              else if (LINES.includes(line))
                if (isGone) known.delete(line)
                else known.add(line)
            }
          }
          chain = [...chain, ...drafts.map(asEntry)]
          expect(date).toBe(now.date)
          expect([...known].toSorted()).toEqual(
            now.memory
              .split('\n')
              .filter((line) => line !== '')
              .toSorted(),
          )
        }
      }),
    )
  })
})

describe('in an agent', () => {
  let world: TurnWorld
  beforeEach(async () => {
    world = await turnWorld({ 'a.txt': 'one\n' })
  })
  afterEach(async () => {
    expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
    await world.close()
  })
  const save = (description: string): ReturnType<typeof call> =>
    call('SaveMemory', { name: description, description, type: 'project', body: 'b', scope: 'project' })
  const body = (at: number): string => JSON.stringify(world.requests.at(at)?.body)

  test('a memory of one session is in the first request of the next; a later one comes as what is new', async () => {
    world.script.push(save('four spaces'))
    await prompt(await world.open(), 'remember')
    const agent = await world.open()
    await prompt(agent, 'first')
    expect(textsIn(world.requests.at(-1)).filter((text) => text.includes('four spaces'))).toEqual([
      expect.stringMatching(/^<context name="memory">\nIndex of the memory of this project/),
    ])
    world.script.push(save('no tabs'), say('saved'))
    await prompt(agent, 'and')
    await prompt(agent, 'second')
    expect(
      textsIn(world.requests.at(-1))
        .filter((text) => text.startsWith('<context name="memory">'))
        .map((text) => text.split('\n')[1]),
    ).toEqual([
      expect.stringContaining('Index of the memory of this project'),
      'The memory has changed since.',
    ])
    expect(world.requests.slice(3).every(({ cacheReadBytes }) => cacheReadBytes > 0)).toBe(true)
  })

  test('with memory off at a resume nothing of it is in any request, and on again it is all there', async () => {
    world.script.push(save('four spaces'))
    await prompt(await world.open(), 'remember')
    const agent = await world.open()
    await prompt(agent, 'first')
    expect(body(-1)).toContain('four spaces')
    await agent.close()
    world.env['CLAUDE_CODE_DISABLE_AUTO_MEMORY'] = '1'
    const off = await world.open(resume(agent.session, world.root))
    world.script.push(call('Read', { file_path: 'a.txt' }))
    await prompt(off, 'second')
    for (const at of [-2, -1])
      expect(body(at)).not.toMatch(/four spaces|context name=\\"memory|SaveMemory|MEMORY\.md/i)
    expect(body(-1)).toContain('first')
    await off.close()
    delete world.env['CLAUDE_CODE_DISABLE_AUTO_MEMORY']
    await prompt(await world.open(resume(agent.session, world.root)), 'third')
    const notes = textsIn(world.requests.at(-1)).filter((text) => text.startsWith('<context name="memory">'))
    expect(notes).toEqual([expect.stringContaining('four spaces')])
  })

  test('after midnight the new date is added, and what was sent before stays', async () => {
    const agent = await world.open()
    world.clock = new Date(2026, 10, 30, 23, 59, 59)
    await prompt(agent, 'late')
    world.clock = new Date(2026, 11, 1, 0, 0, 1)
    await prompt(agent, 'early')
    await prompt(agent, 'again')
    expect(textsIn(world.requests.at(-1)).filter((text) => text.startsWith('<context name="date">'))).toEqual(
      [
        '<context name="date">Today is 2026-11-30.</context>',
        '<context name="date">Today is 2026-12-01.</context>',
      ],
    )
    const [first, second] = world.requests
    expect(second?.sharedBytes).toBe(first?.promptBytes)
  })
})
