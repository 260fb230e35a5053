import { readFile, readdir, writeFile } from 'node:fs/promises'
import type { MessagesRequest } from '@loci/cli/testing'
import { openMemdir } from '@loci/memdir'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Agent } from '../src/agent/open-agent.ts'
import { newMessages } from '../src/agent/background-memory.ts'
import { call, fault, linesOf, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { Step, TurnWorld } from './agent-turn-world.ts'

const NOTHING = say('Nothing to keep.')
const FACT = {
  name: 'Indentation',
  description: 'we indent with tabs',
  type: 'project',
  body: 'Tabs.',
  scope: 'project',
}

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'old\n' })
  world.extraction = true
})
afterEach(() => world.close())

/** Two turns, after which there are four messages: enough to be looked at. */
async function talk(agent: Agent, ...background: Step[]): Promise<void> {
  world.script.push(say('one'))
  await prompt(agent, 'first')
  world.script.push(say('two'), ...background)
  await prompt(agent, 'second')
}

async function settings(value: Record<string, unknown>): Promise<void> {
  await writeFile(world.work.path('home/settings.json'), JSON.stringify(value))
}

const notices = (): string[] => world.events.flatMap((event) => (event.type === 'notice' ? [event.text] : []))
const memoryDir = (agent: Agent): string => agent.memory.dirs[0] ?? ''
const filesOf = (dir: string): Promise<string[]> =>
  readdir(dir).then(
    (names) => names.filter((name) => !name.startsWith('.')).toSorted(),
    () => [],
  )
const bodyOf = (number: number): MessagesRequest => world.requests.at(number)?.body as MessagesRequest
describe('after a turn', () => {
  test('with four new messages the same request goes on with one instruction, and is read from the cache', async () => {
    await writeFile(`${world.root}/long.txt`, 'what a file of a project holds\n'.repeat(300))
    const agent = await world.open()
    world.script.push(call('Read', { file_path: 'long.txt' }), say('read'), NOTHING)
    await prompt(agent, 'read long.txt')
    await agent.close()
    expect(world.requests).toHaveLength(3)
    const [main, fork] = [bodyOf(1), bodyOf(2)]
    expect({ ...fork, messages: [] }).toEqual({ ...main, messages: [] })
    const seen = world.requests[2]
    expect(seen?.cacheReadBytes).toBe(seen?.sharedBytes)
    expect((seen?.cacheReadBytes ?? 0) / (seen?.promptBytes ?? 1)).toBeGreaterThanOrEqual(0.95)
    expect(textsIn(world.requests[2]).at(-1)).toContain('not from the user')
    expect(notices()).toEqual([])
    expect(await filesOf(memoryDir(agent))).toEqual([])
  })

  test('with less than that, after one that failed, or in which it saved by itself, nothing is asked', async () => {
    const agent = await world.open()
    await prompt(agent, 'hello')
    world.script.push(call('SaveMemory', FACT), say('saved'))
    await prompt(agent, 'remember that we indent with tabs')
    world.script.push(fault(400, 'invalid_request_error'))
    await prompt(agent, 'again')
    await agent.close()
    expect(world.requests).toHaveLength(4)
  })

  test('nothing of it stands in the conversation, but how far it looked, and what it took', async () => {
    const agent = await world.open()
    await talk(agent, call('SearchMemory', { query: 'tabs' }), NOTHING)
    await agent.close()
    expect(world.requests).toHaveLength(4)
    const lines = await linesOf(agent.session.path)
    const entries = lines.filter(({ type }) => type === 'user' || type === 'assistant')
    expect(entries).toHaveLength(4)
    const marks = lines.filter(({ type }) => type === 'memory-extraction')
    expect(marks).toMatchObject([{ upTo: entries.at(-1)?.['uuid'] }])
    const costs = lines.filter(({ type }) => type === 'cost-state')
    expect(costs).toHaveLength(4)
    expect(costs.at(-1)?.['totalCostUSD']).toBe(agent.state.getState().totalUsage.costUsd)
  })

  test('what was looked at is not looked at again, also not by a session that is resumed', async () => {
    const agent = await world.open()
    await talk(agent, NOTHING)
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    await prompt(again, 'third')
    await again.close()
    expect(world.requests).toHaveLength(4)
    const third = await world.open(resume(agent.session, world.root))
    await prompt(third, 'fourth')
    await third.close()
    expect(world.requests).toHaveLength(6)
  })

  test('while one runs the next turn goes on, and waits for its own', async () => {
    let go: (() => void) | undefined
    const held = new Promise<void>((resolve) => (go = resolve))
    const agent = await world.open()
    await talk(agent, async () => {
      await held
      return NOTHING
    })
    world.script.push(say('three'), say('four'), NOTHING)
    await prompt(agent, 'third')
    await prompt(agent, 'fourth')
    expect(world.requests.length).toBeLessThanOrEqual(5)
    go?.()
    await agent.close()
    const asked = world.requests.map((seen) => textsIn(seen).at(-1) ?? '')
    expect(asked.filter((text) => text.includes('not from the user'))).toHaveLength(2)
    expect(textsIn(world.requests.at(-1))).toContain('four')
  })
})

describe('what it saves', () => {
  test('has its session and message, goes through both steps, and is said', async () => {
    const agent = await world.open()
    await talk(agent, call('SaveMemory', FACT), NOTHING)
    await agent.close()
    const dir = memoryDir(agent)
    expect(await filesOf(dir)).toEqual(['MEMORY.md', 'project_indentation.md'])
    const memory = await agent.memory.read('project', 'project_indentation.md')
    expect(memory).toMatchObject({
      originSessionId: agent.session.id,
      originMessageId: (await linesOf(agent.session.path)).findLast(({ type }) => type === 'assistant')?.[
        'uuid'
      ],
    })
    expect(notices()).toEqual([
      'Remembered: project_indentation.md; loci memory show project_indentation.md shows it',
    ])
  })

  test("for all projects it is said with the option that shows it, and a daily log is the project's", async () => {
    const agent = await world.open()
    await talk(agent, call('SaveMemory', { ...FACT, scope: 'user' }), NOTHING)
    await agent.close()
    expect(notices()).toEqual([
      'Remembered: project_indentation.md; loci memory show project_indentation.md --scope user shows it',
    ])
    await settings({ memoryMode: 'daily-log' })
    const logging = await world.open()
    await talk(logging, call('SaveMemory', { ...FACT, scope: 'user' }), NOTHING)
    await logging.close()
    expect(notices().at(-1)).toMatch(/loci memory show logs\/\S+\.md shows it$/)
    await settings({ memoryReview: true })
    const reviewed = await world.open()
    await talk(reviewed, call('SaveMemory', { ...FACT, scope: 'user' }), NOTHING)
    await reviewed.close()
    expect(notices().at(-1)).toMatch(/loci memory proposals --scope user shows it$/)
  })

  test('waits for a person with review on, outside the index and the prompt', async () => {
    const agent = await world.open()
    await settings({ memoryReview: true })
    await talk(agent, call('SaveMemory', FACT), NOTHING)
    await agent.close()
    const dir = memoryDir(agent)
    expect(await filesOf(dir)).toEqual([])
    const memdir = await openMemdir({ dir })
    expect(await memdir.proposals()).toMatchObject([
      { draft: { name: 'Indentation' }, sessionId: agent.session.id },
    ])
    expect((await agent.memory.prompt())?.context).not.toContain('indent')
    expect(notices()).toEqual([expect.stringContaining('loci memory proposals')])
  })

  test('M12 a memory made or changed by hand is not overwritten: the change waits for a person', async () => {
    const agent = await world.open()
    const dir = memoryDir(agent)
    const memdir = await openMemdir({ dir })
    const { memory } = await memdir.save({ ...FACT, type: 'project', body: 'By hand.' })
    const before = await readFile(`${dir}/${memory.file}`, 'utf8')
    const change = { ...FACT, body: 'Other.', file: memory.file, revision: memory.revision }
    await talk(agent, call('SaveMemory', change), NOTHING)
    await agent.close()
    expect(await readFile(`${dir}/${memory.file}`, 'utf8')).toBe(before)
    expect(await memdir.proposals()).toMatchObject([
      { draft: { body: 'Other.' }, replaces: { file: memory.file } },
    ])
  })
})

describe('M12 what the model does wrong in the background', () => {
  test.for([
    ['deletes everything', call('Bash', { command: 'rm -rf .' })],
    ['writes outside memory', call('Write', { file_path: 'a.txt', content: 'bad' })],
    ['reads files', call('Read', { file_path: 'a.txt' })],
    ['leaves the folder', call('SaveMemory', { ...FACT, file: '../../../evil.md' })],
    ['writes the index', call('SaveMemory', { ...FACT, file: 'MEMORY.md', revision: '0'.repeat(64) })],
    [
      'replaces what is not there',
      call('SaveMemory', { ...FACT, file: 'none.md', revision: '0'.repeat(64) }),
    ],
    ['calls nonsense', call('Nonsense', { a: 1 })],
    ['sends garbage', call('SaveMemory', { garbage: true })],
  ] as const)('%s: nothing changes, and it is told', async ([, step]) => {
    const agent = await world.open()
    const dir = memoryDir(agent)
    const memdir = await openMemdir({ dir })
    await memdir.save({ name: 'Kept', description: 'by hand', type: 'user', body: 'Kept.' })
    const before = await filesOf(dir)
    await talk(agent, step, NOTHING)
    await agent.close()
    expect(await filesOf(dir)).toEqual(before)
    expect(await memdir.trash()).toEqual([])
    expect(await memdir.verify()).toEqual([])
    expect(await readFile(`${world.root}/a.txt`, 'utf8')).toBe('old\n')
    const results = bodyOf(-1).messages.at(-1)?.content
    expect(results).toMatchObject([{ type: 'tool_result', is_error: true }])
    expect(notices()).toEqual([])
  })

  test('a server that fails leaves all as it was, and is said; the next turns go on', async () => {
    const agent = await world.open()
    await talk(agent, fault(400, 'invalid_request_error'))
    await agent.close()
    expect(notices()).toEqual([expect.stringMatching(/^Looking for what to remember failed: .*400/)])
    expect(await filesOf(memoryDir(agent))).toEqual([])
  })

  test('a model that never ends is stopped', async () => {
    const agent = await world.open()
    const more = Array.from({ length: 30 }, () => call('SearchMemory', { query: 'x' }))
    await talk(agent, ...more)
    await agent.close()
    expect(world.requests.length).toBeLessThanOrEqual(12)
  })
})

test('M04 switched off while it runs, it saves nothing', async () => {
  const agent = await world.open()
  await talk(
    agent,
    async () => {
      await settings({ autoMemoryEnabled: false })
      return call('SaveMemory', FACT)
    },
    NOTHING,
  )
  await agent.close()
  expect(await filesOf(memoryDir(agent))).toEqual([])
})

test.for([{ memoryExtraction: false }, { autoMemoryEnabled: false }])(
  'M04 with %j in the settings nothing is asked',
  async (value) => {
    world.extraction = false
    await (await world.open()).close()
    await settings(value)
    world.extraction = true
    const agent = await world.open()
    await talk(agent)
    await agent.close()
    expect(world.requests).toHaveLength(2)
  },
)

test('M15 what other sessions and projects hold is no part of it', async () => {
  const other = await world.open()
  await prompt(other, 'the secret of the other session')
  const agent = await world.open()
  await talk(agent, NOTHING)
  await other.close()
  await agent.close()
  const said = JSON.stringify(world.requests.slice(1))
  expect(said).toContain('not from the user')
  expect(said).not.toContain('secret of the other')
})

test('messages are counted as the model sees them, from the last look on', async () => {
  const agent = await world.open()
  world.script.push(
    {
      content: [
        call('Read', { file_path: 'a.txt' }, 't1'),
        call('Read', { file_path: 'a.txt' }, 't2'),
      ].flatMap(({ content }) => content),
    },
    say('read'),
    NOTHING,
  )
  await prompt(agent, 'read a.txt twice')
  const chain = await agent.session.chain()
  const messages = await agent.session.conversation()
  expect(newMessages(chain, new Set())).toHaveLength(messages.length)
  expect(newMessages(chain, new Set(['nowhere']))).toHaveLength(messages.length)
  expect(newMessages(chain, new Set([chain.at(-1)?.uuid]))).toEqual([])
  const first = chain.find(({ type }) => type === 'user')?.uuid
  expect(newMessages(chain, new Set([first]))).toHaveLength(messages.length - 1)
})
