import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lookAtSession } from '../src/agent/look-at-session.ts'
import { blocksIn, prompt, resume, say, textsIn, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

/** Every byte of the lines that are cut inside, instead of some. */
const LONG = process.env['LOCI_LONG'] === '1'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n' })
})
afterEach(() => world.close())

interface Line {
  type: string
  uuid?: string
  message?: {
    content: string | { type: string; name?: string; text?: string }[]
    stop_reason?: string | null
  }
  end: number
}

/** A session of two turns with every kind of line, finished. */
async function finished(): Promise<{ path: string; bytes: Buffer; lines: Line[] }> {
  world.script.push(
    say('hello'),
    {
      content: [
        { type: 'thinking', thinking: 'three things', signature: 'c2ln' },
        { type: 'text', text: 'I begin.' },
        { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'two\n' } },
        { type: 'tool_use', name: 'Bash', input: { command: 'printf "%040000d" 0' } },
        {
          type: 'tool_use',
          name: 'SaveMemory',
          input: { name: 'n', description: 'd', type: 'user', body: 'b', scope: 'user' },
        },
      ],
    },
    {
      content: [
        {
          type: 'tool_use',
          name: 'Edit',
          input: { file_path: 'a.txt', old_string: 'two', new_string: 'three' },
        },
      ],
    },
    {
      content: [
        { type: 'thinking', thinking: 'all done', signature: 'c2ln' },
        { type: 'text', text: 'Done.' },
      ],
    },
  )
  const agent = await world.open()
  await prompt(agent, 'first')
  await prompt(agent, 'second')
  await agent.close()
  const { path } = agent.session
  const bytes = await readFile(path)
  let end = 0
  const lines = bytes
    .toString()
    .trimEnd()
    .split('\n')
    .map((text): Line => {
      end += Buffer.byteLength(text) + 1
      return { ...JSON.parse(text), end }
    })
  return { path, bytes, lines }
}

/** What has to be said of a transcript that ends with these lines. */
function expectedNotice(lines: readonly Line[]): RegExp | undefined {
  const said = lines.filter(({ type }) => type === 'user' || type === 'assistant')
  const content = said.at(-1)?.message?.content
  if (content === undefined) return undefined
  if (typeof content === 'string') return /The last prompt was interrupted before it was answered/
  const turn = said.slice(said.findLastIndex(({ message }) => typeof message?.content === 'string') + 1)
  const blocks = turn.flatMap(({ message }) => (typeof message?.content === 'object' ? message.content : []))
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const results = blocks.filter(({ type }) => type === 'tool_result')
  if (results.length < calls.length)
    return new RegExp(
      `interrupted while it ran ${calls
        .slice(results.length)
        .map(({ name }) => name)
        .join(', ')};`,
    )
  if (content[0]?.type === 'tool_result') return /after its tools had run, before the model answered/
  if (content[0]?.type === 'thinking' || said.at(-1)?.message?.stop_reason === 'tool_use')
    return /while the answer of the model was written/
  return undefined
}

async function expectGoingOn(
  made: { path: string; bytes: Buffer; lines: Line[] },
  cut: number,
): Promise<string | undefined> {
  const { path, bytes, lines } = made
  await writeFile(path, bytes.subarray(0, cut))
  world.requests.length = 0
  const agent = await world.open(resume({ path, id: basename(path, '.jsonl') }, world.root))
  const whole = lines.filter(({ end }) => end <= cut)
  const kept = whole.flatMap(({ type, uuid }) =>
    /^(user|assistant|attachment)$/.test(type) && uuid !== undefined ? [uuid] : [],
  )
  const chain = (await agent.session.chain()).map(({ uuid }) => uuid)
  // A last line that lacks its line feed alone is whole.
  const isBare = lines.some(({ end }) => end === cut + 1)
  expect(chain.slice(0, kept.length)).toEqual(kept)
  if (!isBare) expect(chain).toHaveLength(kept.length)
  const damage = await agent.session.damage()
  expect(damage.filter(({ kind }) => kind !== 'torn-line')).toEqual([])
  const torn = cut > 0 && !isBare && !lines.some(({ end }) => end === cut)
  expect(damage).toHaveLength(torn ? 1 : 0)
  const notices = await lookAtSession(agent.session, agent.history)
  const expected = expectedNotice(isBare ? lines.filter(({ end }) => end <= cut + 1) : whole)
  const turnNotices = notices.filter((line) => !line.includes('cannot be read'))
  expect(turnNotices).toEqual(expected === undefined ? [] : [expect.stringMatching(expected)])
  // The next prompt is accepted, with all that was said before.
  expect((await prompt(agent, 'and on')).text).toBe('ok')
  expect(world.requests.map(({ status }) => status)).toEqual([200])
  const told = textsIn(world.requests[0])
  for (const { message } of whole) {
    if (typeof message?.content === 'string') expect(told).toContain(message.content)
    else
      for (const { type, text } of message?.content ?? []) if (type === 'text') expect(told).toContain(text)
  }
  expect(told.at(-1)).toBe('and on')
  // A large result is never sent whole, also where its replacement was not written any more.
  for (const { content } of blocksIn(world.requests[0]))
    expect(JSON.stringify([content]).length).toBeLessThan(30_000)
  const calls = whole
    .flatMap(({ message }) => (Array.isArray(message?.content) ? message.content : []))
    .filter(({ type }) => type === 'tool_use')
  if (!isBare)
    expect(blocksIn(world.requests[0]).filter(({ type }) => type === 'tool_result')).toHaveLength(
      calls.length,
    )
  await agent.close()
  return turnNotices[0]
}

test('R6: cut after any line, a session goes on: nothing is lost, what was interrupted is said, the API accepts it', async () => {
  const made = await finished()
  const notices = new Set<string | undefined>()
  for (const cut of [0, ...made.lines.map(({ end }) => end)]) notices.add(await expectGoingOn(made, cut))
  expect([...notices].map((line) => line?.split(';')[0] ?? 'nothing').toSorted()).toEqual(
    [
      'The last prompt was interrupted before it was answered.',
      'The last turn was interrupted after its tools had run, before the model answered.',
      'The last turn was interrupted while it ran Bash, SaveMemory',
      'The last turn was interrupted while it ran Edit',
      'The last turn was interrupted while it ran SaveMemory',
      'The last turn was interrupted while it ran Write, Bash, SaveMemory',
      'The last turn was interrupted while it ran Write, Bash',
      'The last turn was interrupted while it ran Write',
      'The last turn was interrupted while the answer of the model was written.',
      'nothing',
    ].toSorted(),
  )
}, 120_000)

test('R6: cut inside any line, it goes on from the line before', async () => {
  const made = await finished()
  const starts = [0, ...made.lines.map(({ end }) => end)]
  const cuts = made.lines.flatMap(({ end }, index) => {
    const start = starts[index] ?? 0
    const length = end - start
    const some = [1, Math.floor(length / 2), length - 2, length - 1]
    return some.map((offset) => start + offset)
  })
  for (const cut of cuts) await expectGoingOn(made, cut)
}, 240_000)

// With the long runs only: every byte.
if (LONG)
  test('R6: cut at any byte of the lines of a prompt, an answer, a call and its result', async () => {
    const made = await finished()
    const starts = [0, ...made.lines.map(({ end }) => end)]
    const picked = made.lines.flatMap((line, index) => {
      const { message } = line
      const first = Array.isArray(message?.content)
        ? message.content[0]?.type
        : message === undefined
          ? undefined
          : 'prompt'
      return first === undefined ? [] : [{ first, start: starts[index] ?? 0, end: line.end }]
    })
    const once = [...new Map(picked.map((one) => [one.first, one])).values()]
    expect(once.map(({ first }) => first).toSorted()).toEqual([
      'prompt',
      'text',
      'thinking',
      'tool_result',
      'tool_use',
    ])
    for (const { start, end } of once)
      for (let cut = start; cut < end; cut += 1) await expectGoingOn(made, cut)
  }, 600_000)
