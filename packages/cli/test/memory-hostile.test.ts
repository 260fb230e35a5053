import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import { createMessagesApi } from '@loci/cli/testing'
import type { MessagesRequest, ModelAnswer } from '@loci/cli/testing'
import { openMemdir } from '@loci/memdir'
import { forkSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { AgentMemory } from '../src/agent/agent-memory.ts'
import { forkedAgent } from '../src/agent/forked-agent.ts'
import { toolsFor } from '../src/agent/tools/tools.ts'
import { NO_USAGE } from '../src/agent/usage.ts'
import { NO_RULES, toolRoom } from './agent-tools-room.ts'
import type { Agent } from '../src/agent/open-agent.ts'
import { call, linesOf, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { Step, TurnWorld } from './agent-turn-world.ts'

const NOTHING = say('Nothing to keep.')
// Made up, in the form of a provider's.
const KEY = `ghp_${'k7Qz2Lm9Xw4Rt8Vb3Np6'.repeat(2).slice(0, 36)}`
const FACT = { name: 'Token', description: 'for the server', type: 'project', scope: 'project' }

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'old\n' })
  world.extraction = true
})
afterEach(() => world.close())

const settings = (value: Record<string, unknown>): Promise<void> =>
  writeFile(world.work.path('home/settings.json'), JSON.stringify(value))
const notices = (): string =>
  world.events.flatMap((event) => (event.type === 'notice' ? [event.text] : [])).join('\n')
/** What the last calls were answered with. */
const resultOf = (): string =>
  JSON.stringify((world.requests.at(-1)?.body as MessagesRequest | undefined)?.messages.at(-1)?.content)
const looksBack = (): number =>
  world.requests.filter((seen) => textsIn(seen).at(-1)?.includes('not from the user')).length

async function talk(agent: Agent, ...background: Step[]): Promise<void> {
  world.script.push(say('one'))
  await prompt(agent, 'first')
  world.script.push(say('two'), ...background)
  await prompt(agent, 'second')
}

describe('M14 a secret is warned of, and never printed', () => {
  test.for([{}, { memoryReview: true }, { memoryMode: 'daily-log' }])(
    'by the background with %j, to the person',
    async (value) => {
      const agent = await world.open()
      await agent.close()
      await settings(value)
      const again = await world.open()
      await talk(again, call('SaveMemory', { ...FACT, body: `It is ${KEY} there.` }), NOTHING)
      await again.close()
      expect(notices()).toContain('looks like a secret')
      expect(notices()).not.toContain(KEY)
    },
  )

  test('in daily-log mode, to the model', async () => {
    world.extraction = false
    await (await world.open()).close()
    await settings({ memoryExtraction: false, memoryMode: 'daily-log' })
    world.extraction = true
    const agent = await world.open()
    world.script.push(call('SaveMemory', { ...FACT, body: `It is ${KEY} there.` }), say('saved'))
    await prompt(agent, 'remember the token')
    const result = resultOf()
    expect(result).toContain('looks like a secret')
    expect(result).not.toContain(KEY)
  })
})

describe('the daily log', () => {
  const open = async (): Promise<Agent> => {
    world.extraction = false
    await (await world.open()).close()
    await settings({ memoryExtraction: false, memoryMode: 'daily-log' })
    world.extraction = true
    return world.open()
  }

  test('R17 does not leave the folder through a link', async () => {
    const agent = await open()
    const dir = agent.memory.dirs[0] ?? ''
    await mkdir(dir, { recursive: true })
    await mkdir(world.work.path('elsewhere'))
    await symlink(world.work.path('elsewhere'), `${dir}/logs`)
    world.script.push(call('SaveMemory', { ...FACT, body: 'Tabs.' }), say('saved'))
    await prompt(agent, 'remember')
    expect(await readdir(world.work.path('elsewhere'))).toEqual([])
    expect(resultOf()).toContain('link')
  })

  test.for([
    ['is nothing but code', '```\ncode\n```', 'code'],
    ['is too long', 'x '.repeat(40_000), 'limit'],
  ] as const)('takes nothing that %s', async ([, body, why]) => {
    const agent = await open()
    world.script.push(call('SaveMemory', { ...FACT, body }), say('saved'))
    await prompt(agent, 'remember')
    expect(resultOf()).toContain(why)
    await expect(readdir(agent.memory.dirs[0] ?? '')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

describe('M04 switched off while a session is open', () => {
  test('no memory is read any more', async () => {
    const agent = await world.open()
    const memdir = await openMemdir({ dir: agent.memory.dirs[0] ?? '' })
    await prompt(agent, 'hello')
    await settings({ autoMemoryEnabled: false })
    await memdir.save({ name: 'Later', description: 'words of later', type: 'user', body: 'Hidden words.' })
    world.script.push(call('SearchMemory', { query: 'words' }), say('found'))
    await prompt(agent, 'search')
    const said = JSON.stringify(world.requests.at(-1)?.body)
    expect(said).not.toContain('words of later')
    expect(said).not.toContain('Hidden words')
    expect(said).toContain('Memory is off')
    await expect(agent.memory.read('project', 'user_later.md')).rejects.toMatchObject({
      code: 'MEMORY_DISABLED',
    })
  })

  test.for([{ autoMemoryEnabled: false }, { memoryExtraction: false }])(
    'with %j the background asks nothing',
    async (value) => {
      const agent = await world.open()
      world.script.push(say('one'))
      await prompt(agent, 'first')
      await settings(value)
      await prompt(agent, 'second')
      await agent.close()
      expect(looksBack()).toBe(0)
    },
  )
})

describe('M15 no part of the conversation is looked at twice', () => {
  test('after it was rewound', async () => {
    const agent = await world.open()
    await talk(agent, NOTHING)
    const first = (await agent.session.chain()).find(({ type }) => type === 'assistant')
    await agent.close()
    expect(looksBack()).toBe(1)
    const again = await world.open(resume(agent.session, world.root))
    await again.session.moveTip(first?.uuid ?? null)
    await prompt(again, 'another second')
    await again.close()
    expect(looksBack()).toBe(1)
  })

  test('a turn that was rewound before its look is not looked at', async () => {
    let go = (): void => undefined
    const held = new Promise<void>((resolve) => (go = resolve))
    const agent = await world.open()
    await talk(agent, async () => {
      await held
      return NOTHING
    })
    world.script.push(say('three'), say('four'))
    await prompt(agent, 'third')
    await prompt(agent, 'taken back')
    await agent.session.moveTip(
      (await linesOf(agent.session.path)).find(({ type }) => type === 'assistant')?.['uuid'] as string,
    )
    go()
    await agent.close()
    const asked = world.requests.filter((seen) => textsIn(seen).at(-1)?.includes('not from the user'))
    expect(asked).toHaveLength(1)
  })

  test('in a branch that leaves the conversation before the last look', async () => {
    const agent = await world.open()
    await talk(agent, NOTHING)
    const first = (await agent.session.chain()).find(({ type }) => type === 'assistant')?.uuid ?? ''
    await agent.close()
    const { id: sessionId, path } = agent.session
    const fork = await forkSession({ projectDir: dirname(path), cwd: world.root, sessionId, upTo: first })
    const branch = await world.open(resume({ id: fork.sessionId, path: fork.path }, world.root))
    await prompt(branch, 'another second')
    await branch.close()
    expect(looksBack()).toBe(1)
  })
})

test('R15 two sessions of a project that look back at once save each its own, whole', async () => {
  const agents = [await world.open(), await world.open()]
  let waiting = 0
  let go = (): void => undefined
  const both = new Promise<void>((done) => (go = done))
  const answer = async ({ messages }: MessagesRequest): Promise<ModelAnswer> => {
    if (!JSON.stringify(messages.at(-1)).includes('not from the user')) return say('ok')
    waiting += 1
    if (waiting === 2) go()
    await both
    const body = JSON.stringify(messages).includes('north') ? 'N.' : 'S.'
    return call('SaveMemory', { ...FACT, name: 'Same', body })
  }
  for (const [n, agent] of agents.entries()) await prompt(agent, n === 0 ? 'north' : 'south')
  world.script.push(answer, answer, answer, answer)
  await Promise.all(agents.map((agent) => prompt(agent, 'go on')))
  await Promise.all(agents.map((agent) => agent.close()))
  const memdir = await openMemdir({ dir: agents[0]?.memory.dirs[0] ?? '' })
  expect((await memdir.list()).memories.map(({ body }) => body).toSorted()).toEqual(['N.', 'S.'])
  expect(await memdir.verify()).toEqual([])
})

test('M12 the background changes what this session saved, until somebody else does', async () => {
  const agent = await world.open()
  const file = 'project_token.md'
  const change = (body: string) => async (): Promise<ModelAnswer> => {
    const revision = (await agent.memory.read('project', file))?.revision
    return call('SaveMemory', { ...FACT, body, file, revision })
  }
  const bodyNow = async (): Promise<string | undefined> => (await agent.memory.read('project', file))?.body
  world.script.push(call('SaveMemory', { ...FACT, body: 'Said.' }), say('saved'))
  await prompt(agent, 'remember')
  // With that turn there is enough to look at.
  world.script.push(say('one'), change('Added.'), NOTHING)
  await prompt(agent, 'go on')
  await agent.close()
  expect(await bodyNow()).toBe('Added.')
  const memdir = await openMemdir({ dir: agent.memory.dirs[0] ?? '' })
  expect(await memdir.proposals()).toEqual([])
  // Another session did not save it.
  const other = await world.open()
  await talk(other, change('Of another.'), NOTHING)
  await other.close()
  expect(await bodyNow()).toBe('Added.')
  expect(await memdir.proposals()).toMatchObject([{ draft: { body: 'Of another.' } }])
})

test('M12 what runs in the background and is ended saves nothing more, not even of the same answer', async () => {
  const ending = new AbortController()
  const saved: string[] = []
  const room = await toolRoom({})
  const memory: AgentMemory = {
    ...room.context.memory,
    async save(scope, draft) {
      saved.push(draft.name)
      ending.abort()
      return { scope, file: 'x.md', visible: true, proposed: false, warnings: [] }
    },
  }
  const content = ['One', 'Two'].flatMap(
    (name) => call('SaveMemory', { ...FACT, name, body: 'Tabs.' }, `call-${name}`).content,
  )
  const api = createMessagesApi({ answer: () => ({ content }) })
  const fork = forkedAgent({
    client: new Anthropic({
      apiKey: 'test',
      fetch: api.fetch,
      baseURL: 'http://stand-in.invalid',
      maxRetries: 0,
    }),
    model: world.model,
    system: [],
    calls: {
      tools: toolsFor({ hasMemory: true }),
      context: { ...room.context, memory },
      rules: () => ({
        mode: 'bypassPermissions',
        root: room.root,
        asideDir: '',
        memoryDirs: [],
        configDir: room.home,
        ...NO_RULES,
      }),
      approve: undefined,
      emit: () => undefined,
      onAlways: async () => undefined,
      denials: () => [],
      onDenial: () => undefined,
    },
    ended: async () => ({ tip: 'tip', messages: [{ role: 'user', content: 'hello' }] }),
    count: async () => NO_USAGE,
    maxRetries: 0,
    wait: () => Promise.resolve(),
  })
  const request = { instruction: 'look back', allowedTools: ['SaveMemory'], signal: ending.signal }
  await expect(fork.run(request)).rejects.toMatchObject({ name: expect.stringMatching(/Abort|Error/) })
  expect(saved).toEqual(['One'])
})
