import { readFile, readdir, writeFile } from 'node:fs/promises'
import type { MessagesRequest } from '@loci/cli/testing'
import { dailyLogTemplate, openMemdir } from '@loci/memdir'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { blocksIn, call, prompt, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

const FACT = { name: 'Tabs', description: 'we indent with tabs', type: 'feedback', body: 'Seen\nin review.' }

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld()
  await (await world.open()).close()
  await settings({ memoryMode: 'daily-log' })
})
afterEach(() => world.close())

/** The world's own settings stay out of the way. */
async function settings(value: Record<string, unknown>): Promise<void> {
  world.extraction = true
  await writeFile(
    world.work.path('home/settings.json'),
    JSON.stringify({ memoryExtraction: false, ...value }),
  )
}

const bodyOf = (number: number): MessagesRequest => world.requests[number]?.body as MessagesRequest

test('SaveMemory appends to the log of the day, whose name the prompt never says', async () => {
  world.clock = new Date(2026, 10, 30, 23, 50)
  const agent = await world.open()
  const dir = agent.memory.dirs[0] ?? ''
  const save = (scope: string) => [call('SaveMemory', { ...FACT, scope }), say('saved')]
  world.script.push(...save('project'))
  await prompt(agent, 'remember that we indent with tabs')
  world.clock = new Date(2026, 11, 1, 0, 10)
  world.script.push(...save('user'))
  await prompt(agent, 'once more')
  await agent.close()

  const logs = ['2026/11/2026-11-30.md', '2026/12/2026-12-01.md']
  const line = '- (feedback) we indent with tabs: Seen in review.\n'
  for (const log of logs) expect(await readFile(`${dir}/logs/${log}`, 'utf8')).toBe(line)
  const shape = new RegExp(
    `^${dailyLogTemplate(dir).replace(/[.]/g, '\\.').replace('YYYY-MM-DD', '\\d{4}-\\d\\d-\\d\\d').replace('YYYY', '\\d{4}').replace('MM', '\\d\\d')}$`,
  )
  for (const log of logs) expect(`${dir}/logs/${log}`).toMatch(shape)
  expect((await readdir(dir)).filter((name) => !name.startsWith('.'))).toEqual(['logs'])

  const system = JSON.stringify(bodyOf(0).system)
  expect(system).toContain(dailyLogTemplate(dir))
  expect(system).not.toMatch(/\d{4}-\d\d-\d\d/)
})

test.for(['index', 'daily-log'] as const)(
  'in mode %s nothing of what was sent changes at midnight: the date comes on top',
  async (memoryMode) => {
    await settings({ memoryMode })
    world.clock = new Date(2026, 10, 30, 23, 59)
    const agent = await world.open()
    await prompt(agent, 'before midnight')
    world.clock = new Date(2026, 11, 1, 0, 1)
    await prompt(agent, 'after midnight')
    await agent.close()
    // A session that begins after midnight has the same words, but for the date.
    const next = await world.open()
    await prompt(next, 'before midnight')
    await next.close()
    const [before, after, later] = world.requests.slice(-3)
    expect(after?.sharedBytes).toBe(before?.promptBytes)
    expect(blocksIn(after).slice(0, blocksIn(before).length)).toEqual(blocksIn(before))
    expect(textsIn(after).slice(-2)).toEqual([
      '<context name="date">Today is 2026-12-01.</context>',
      'after midnight',
    ])
    const bodies = [before, after, later].map((seen) => seen?.body as MessagesRequest)
    for (const { system, tools } of bodies) {
      expect(system).toEqual(bodies[0]?.system)
      expect(tools).toEqual(bodies[0]?.tools)
    }
  },
)

test('a memory that is there already is changed in its place', async () => {
  const agent = await world.open()
  const memdir = await openMemdir({ dir: agent.memory.dirs[0] ?? '' })
  const { memory } = await memdir.save({ ...FACT, type: 'feedback' })
  const change = { ...FACT, body: 'Two.', scope: 'project', file: memory.file, revision: memory.revision }
  world.script.push(call('SaveMemory', change), say('changed'))
  await prompt(agent, 'it is two now')
  await agent.close()
  expect(await memdir.read(memory.file)).toMatchObject({ body: expect.stringContaining('Two.') })
  expect(await readdir(memdir.dir)).not.toContain('logs')
})
