import { setFaultHook } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { batchesOf } from '../src/agent/call-batches.ts'
import { blocksIn, prompt, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ a: 'one', b: 'two' })
})
afterEach(async () => {
  setFaultHook(undefined)
  await world.close()
})

const calls = (...all: [string, unknown][]) => ({
  content: all.map(([name, input], index) => ({
    type: 'tool_use' as const,
    id: `toolu_${index}`,
    name,
    input,
  })),
})

/** Results of the last request, in order. */
function results(): string[] {
  return blocksIn(world.requests.at(-1)).flatMap((block) =>
    block['type'] === 'tool_result' ? [`${String(block['tool_use_id'])} ${String(block['content'])}`] : [],
  )
}

test('calls that only read are under way together, and answered in order', async () => {
  const agent = await world.open()
  let open = 0
  let most = 0
  setFaultHook((operation, path) => {
    if (!path.startsWith(world.root) || !/\/[ab]$/.test(path)) return undefined
    if (operation === 'open') most = Math.max(most, (open += 1))
    if (operation === 'close') open -= 1
    return undefined
  })
  world.script.push(
    calls(['Read', { file_path: 'a' }], ['Read', { file_path: 'b' }], ['Read', { file_path: 'a' }]),
  )
  await prompt(agent, 'read')
  expect(most).toBeGreaterThan(1)
  expect(results()).toEqual(['toolu_0 one', 'toolu_1 two', 'toolu_2 one'])
})

test('a change waits for the reads before it, and the reads after it wait for it', async () => {
  const agent = await world.open()
  world.script.push(
    calls(
      ['Read', { file_path: 'a' }],
      ['Grep', { pattern: 'one' }],
      ['Edit', { file_path: 'a', old_string: 'one', new_string: 'two' }],
      ['Read', { file_path: 'a' }],
      ['Grep', { pattern: 'one' }],
      ['Bash', { command: 'cat a' }],
    ),
  )
  await prompt(agent, 'go')
  expect(results()).toEqual([
    'toolu_0 one',
    'toolu_1 a',
    'toolu_2 Changed a in 1 place.',
    'toolu_3 two',
    'toolu_4 No line fits.',
    'toolu_5 two',
  ])
  for (const { status } of world.requests) expect(status).toBe(200)
})

test('one that fails takes no other with it', async () => {
  const agent = await world.open()
  world.script.push(
    calls(
      ['Read', { file_path: 'none' }],
      ['Read', { file_path: 'a' }],
      ['Glob', { pattern: 7 }],
      ['Nothing', {}],
    ),
  )
  await prompt(agent, 'go')
  const [absent, read, invalid, unknown] = results()
  expect(absent).toContain('does not exist')
  expect(read).toBe('toolu_1 one')
  expect(invalid).toContain('The input of Glob is not valid')
  expect(unknown).toContain('There is no tool')
})

test('interrupted in the middle, every call has its answer and the next request is accepted', async () => {
  const agent = await world.open()
  const abort = new AbortController()
  setFaultHook((operation, path) => {
    if (operation === 'readdir' && path === world.root) abort.abort()
    return undefined
  })
  world.script.push(
    calls(
      ['Read', { file_path: 'a' }],
      ['Grep', { pattern: 'one' }],
      ['Write', { file_path: 'new', content: '' }],
    ),
  )
  const { error } = await agent.prompt('go', abort.signal)
  setFaultHook(undefined)
  expect(error?.code).toBe('TURN_INTERRUPTED')
  await prompt(agent, 'and now?')
  const [read, grep, write] = results()
  expect(read).toBe('toolu_0 one')
  expect(grep).toContain('Interrupted by the user')
  expect(write).toContain('Interrupted by the user before it ran')
  expect(Object.keys(await world.work.snapshot())).not.toContain('project/new')
})

test('batches hold all calls in order; only reads are together, eight at most', () => {
  const tools = [{ name: 'r', isReadOnly: true }, { name: 'w', isReadOnly: false }, { name: 'x' }]
  fc.assert(
    fc.property(
      fc.array(fc.record({ name: fc.constantFrom('r', 'r', 'w', 'x', 'unknown') }), { maxLength: 30 }),
      (all) => {
        const batches = batchesOf(all, tools)
        expect(batches.flat()).toEqual(all)
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(8)
          if (batch.length > 1) expect(batch.every(({ name }) => name === 'r')).toBe(true)
        }
      },
    ),
  )
})
