import { appendFile } from 'node:fs/promises'
import { forkSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NO_USAGE, addUsage, costRecord, totalOf, usageOf } from '../src/agent/usage.ts'
import { call, fault, linesOf, prompt, resume, say, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

const counts = (inputTokens: number, outputTokens: number, write = 0, read = 0): Record<string, number> => ({
  inputTokens,
  outputTokens,
  cacheCreationInputTokens: write,
  cacheReadInputTokens: read,
})
const answer = {
  input_tokens: 1000,
  output_tokens: 100,
  cache_creation_input_tokens: 200,
  cache_read_input_tokens: 4000,
}

describe('what an answer costs', () => {
  test.each([
    ['claude-sonnet-4-5', 0.003 + 0.0015 + 0.00075 + 0.0012],
    ['claude-sonnet-4-5-20250929', 0.003 + 0.0015 + 0.00075 + 0.0012],
    ['claude-haiku-4-5', 0.001 + 0.0005 + 0.00025 + 0.0004],
    ['claude-opus-4-5', 0.005 + 0.0025 + 0.00125 + 0.002],
    ['loci-offline', 0],
  ])('%s: %d', (model, cost) => {
    expect(usageOf(model, answer)).toMatchObject(counts(1000, 100, 200, 4000))
    expect(usageOf(model, answer).costUsd).toBeCloseTo(cost, 12)
  })

  test.each([
    '',
    'claude-sonnet-4-5-preview',
    'my-claude-sonnet-4-5',
    'gpt',
    'Claude-Sonnet-4-5',
    'claude-sonnet-4',
  ])('the price of %j is not known', (model) => expect(usageOf(model, answer).costUsd).toBeNull())

  test('counts that are left out are none', () => {
    expect(
      usageOf('loci-offline', { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: null }),
    ).toEqual({ ...counts(1, 2), costUsd: 0 })
  })

  test('a sum of which a part is unknown is unknown', () => {
    const known = { ...NO_USAGE, costUsd: 1 }
    expect(addUsage(known, known).costUsd).toBe(2)
    expect(addUsage(known, { ...NO_USAGE, costUsd: null }).costUsd).toBeNull()
    expect(addUsage({ ...NO_USAGE, costUsd: null }, known).costUsd).toBeNull()
  })
})

describe('the record', () => {
  const added = { ...NO_USAGE, ...counts(1, 2, 3, 4), costUsd: 0.5 }
  const foreign = {
    type: 'cost-state',
    sessionId: 's',
    totalCostUSD: 2,
    totalDuration: 77,
    modelUsage: {
      m: { ...counts(10, 20, 30, 40), costUSD: 1.5, webSearchRequests: 3, contextWindow: 200_000 },
      other: { ...counts(1, 1, 1, 1), costUSD: 0.5, extra: { deep: true } },
    },
  }

  test.each([
    undefined,
    { type: 'cost-state' },
    { type: 'cost-state', modelUsage: null, totalCostUSD: 'much' },
    { type: 'cost-state', modelUsage: { m: 7 } },
  ])('begins at zero after %j', (last) => {
    expect(costRecord(last, 'm', added)).toMatchObject({
      totalCostUSD: 0.5,
      modelUsage: { m: { ...counts(1, 2, 3, 4), costUSD: 0.5 } },
      hasUnknownModelCost: false,
    })
  })

  test('carries on that of another client, with all its fields', () => {
    expect(costRecord(foreign, 'm', added)).toEqual({
      ...foreign,
      totalCostUSD: 2.5,
      modelUsage: {
        m: { ...counts(11, 22, 33, 44), costUSD: 2, webSearchRequests: 3, contextWindow: 200_000 },
        other: foreign.modelUsage.other,
      },
      hasUnknownModelCost: false,
    })
    expect(totalOf(foreign)).toEqual({ ...counts(11, 21, 31, 41), costUsd: 2 })
  })

  test('a cost that another client knew stays when we do not know the price, and the total says that it is not all', () => {
    const record = costRecord(foreign, 'm', { ...added, costUsd: null })
    expect(record).toMatchObject({
      totalCostUSD: 2,
      modelUsage: { m: { ...counts(11, 22, 33, 44), costUSD: 1.5 } },
      hasUnknownModelCost: true,
    })
    expect(totalOf(record)).toEqual({ ...counts(12, 23, 34, 45), costUsd: null })
    // Once unknown it stays so.
    expect(totalOf(costRecord(record, 'm', added)).costUsd).toBeNull()
  })

  test.each([
    undefined,
    { type: 'cost-state', modelUsage: [], totalCostUSD: Number.NaN },
    { type: 'cost-state', modelUsage: { m: { inputTokens: '7' } } },
  ])('the total of %j is nothing', (record) => expect(totalOf(record)).toEqual(NO_USAGE))
})

describe('in an agent', () => {
  let world: TurnWorld
  beforeEach(async () => {
    world = await turnWorld({ 'a.txt': 'one\n' })
  })
  afterEach(() => world.close())

  test('after each answer there is a record; the state, the turn and a resume say the same', async () => {
    world.script.push(call('Read', { file_path: 'a.txt' }), fault(529, 'overloaded_error'), say('done'))
    const agent = await world.open()
    const first = await prompt(agent, 'first')
    const second = await prompt(agent, 'second')
    expect((await linesOf(agent.session.path)).filter(({ type }) => type === 'cost-state')).toHaveLength(3)
    const total = agent.state.getState().totalUsage
    expect(addUsage(first.usage, second.usage)).toEqual({
      ...total,
      costUsd: expect.closeTo(total.costUsd ?? -1, 12),
    })
    const bytes = world.requests
      .filter(({ status }) => status === 200)
      .reduce((sum, { promptBytes }) => sum + promptBytes, 0)
    expect(total.inputTokens + total.cacheCreationInputTokens + total.cacheReadInputTokens).toBe(bytes)
    expect(total.costUsd).toBeGreaterThan(0)
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    expect(again.state.getState().totalUsage).toEqual({
      ...total,
      costUsd: expect.closeTo(total.costUsd ?? -1, 12),
    })
    expect(world.requests).toHaveLength(4)
  })

  test('of each answer the record comes after its lines and before what its calls did', async () => {
    world.script.push(call('Read', { file_path: 'a.txt' }), say('done'))
    const agent = await world.open()
    await prompt(agent, 'go')
    const types = (await linesOf(agent.session.path)).map(({ type }) => type)
    expect(types.slice(types.indexOf('assistant'))).toEqual([
      'assistant',
      'cost-state',
      'user',
      'assistant',
      'cost-state',
      'last-prompt',
    ])
  })

  test('a model without a known price: the tokens are counted, the cost is unknown', async () => {
    world.model = 'somebody-elses-model'
    const agent = await world.open()
    const { usage } = await prompt(agent, 'go')
    expect(usage.costUsd).toBeNull()
    expect(agent.state.getState().totalUsage.costUsd).toBeNull()
    expect(agent.state.getState().totalUsage.inputTokens + usage.cacheCreationInputTokens).toBeGreaterThan(0)
    await agent.close()
    expect(
      (await world.open(resume(agent.session, world.root))).state.getState().totalUsage.costUsd,
    ).toBeNull()
  })

  test('what another client wrote goes on; a fork begins at zero', async () => {
    const agent = await world.open()
    await prompt(agent, 'go')
    await agent.close()
    const { id, path } = agent.session
    const theirs = {
      type: 'cost-state',
      sessionId: id,
      totalCostUSD: 5,
      totalLinesAdded: 9,
      modelUsage: { theirs: { ...counts(7, 0), costUSD: 5, webSearchRequests: 1 } },
    }
    await appendFile(path, `${JSON.stringify(theirs)}\n`)
    const again = await world.open(resume(agent.session, world.root))
    expect(again.state.getState().totalUsage).toEqual({ ...NO_USAGE, inputTokens: 7, costUsd: 5 })
    await prompt(again, 'on')
    const last = (await linesOf(path)).findLast(({ type }) => type === 'cost-state')
    expect(last).toMatchObject({
      totalLinesAdded: 9,
      modelUsage: { theirs: theirs.modelUsage.theirs, [world.model]: {} },
    })
    expect(again.state.getState().totalUsage.costUsd).toBeGreaterThan(5)
    await again.close()
    const projectDir = path.slice(0, path.lastIndexOf('/'))
    const fork = await forkSession({ projectDir, sessionId: id })
    const forked = await world.open(
      resume({ id: fork.sessionId, path: `${projectDir}/${fork.sessionId}.jsonl` }, world.root),
    )
    expect(forked.state.getState().totalUsage).toEqual(NO_USAGE)
  })
})
