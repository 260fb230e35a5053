import { readFile, readdir, stat } from 'node:fs/promises'
import type { MessagesRequest } from '@loci/cli/testing'
import type { ContentBlock, ModelMessage } from '@loci/session-jsonl'
import { tree } from '@loci/disk/testing'
import type { Tree } from '@loci/disk/testing'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cutText } from '../src/cut-text.ts'
import { MAX_RESULT_UNITS, putAside } from '../src/agent/large-result.ts'
import { modelRequest } from '../src/agent/model-request.ts'
import { checkRequest } from '../src/messages-api/check-request.ts'
import { toolsFor } from '../src/agent/tools/tools.ts'
import { blocksIn, call, linesOf, prompt, resume, say, turnWorld } from './agent-turn-world.ts'
import type { TurnWorld } from './agent-turn-world.ts'

/** Every block with a mark, in order, with the role of its message. */
function marksIn(request: {
  system?: unknown
  messages: readonly { content: unknown }[]
}): Record<string, unknown>[] {
  const all = [request.system, ...request.messages.map(({ content }) => content)].flatMap(
    (content): Record<string, unknown>[] => (Array.isArray(content) ? content : []),
  )
  return all.filter((block) => 'cache_control' in block)
}

const blockArbitrary: fc.Arbitrary<ContentBlock> = fc.oneof(
  fc.constantFrom('', ' ', 'x', '\n').map((text): ContentBlock => ({ type: 'text', text })),
  fc.constant<ContentBlock>({ type: 'thinking', thinking: 't', signature: 's' }),
  fc.constant<ContentBlock>({ type: 'redacted_thinking', data: 'd' }),
  fc.constant<ContentBlock>({ type: 'tool_use', id: 't', name: 'n', input: {} }),
  fc.constant<ContentBlock>({ type: 'tool_result', tool_use_id: 't', content: '' }),
)
const messageArbitrary: fc.Arbitrary<ModelMessage> = fc.record({
  role: fc.constantFrom('user' as const, 'assistant' as const),
  content: fc.oneof(fc.constantFrom('', ' ', 'said'), fc.array(blockArbitrary, { maxLength: 4 })),
})

describe('marks for the cache', () => {
  test('are at most four, on the system prompt and on what a user said, never on a thought or an empty text', () => {
    fc.assert(
      fc.property(
        fc.array(messageArbitrary, { maxLength: 12 }),
        fc.array(fc.constantFrom('a', 'b'), { maxLength: 3 }),
        (messages, system) => {
          const given = structuredClone(messages)
          const request = modelRequest({ model: 'm', system, tools: toolsFor({ hasMemory: true }), messages })
          const marks = marksIn(request)
          expect(marks.length).toBeLessThanOrEqual(4)
          for (const { type, text } of marks) {
            expect(type).not.toMatch(/thinking/)
            if (type === 'text') expect(String(text).trim()).not.toBe('')
          }
          // What it was given is what it sends, and stays as it was.
          expect(messages).toEqual(given)
          expect(request.messages.map(({ role }) => role)).toEqual(messages.map(({ role }) => role))
        },
      ),
    )
  })

  test('stand at the end of the system prompt and at the last two things that a user said', () => {
    const messages: ModelMessage[] = ['one', 'two', 'three'].flatMap((content): ModelMessage[] => [
      { role: 'user', content },
      { role: 'assistant', content: [{ type: 'text', text: `${content}!` }] },
    ])
    const request = modelRequest({
      model: 'm',
      system: ['a', 'b'],
      tools: [],
      messages: messages.slice(0, -1),
    })
    expect(marksIn(request).map(({ text }) => text)).toEqual(['b', 'two', 'three'])
    expect(checkRequest(JSON.stringify(request))).toHaveProperty('request')
  })
})

describe('in an agent', () => {
  let world: TurnWorld
  beforeEach(async () => {
    world = await turnWorld({ 'a.txt': 'a line of text\n'.repeat(20) })
  })
  afterEach(async () => {
    expect(world.requests.filter(({ status }) => status !== 200)).toEqual([])
    await world.close()
  })

  test.each<[string, number, number]>([
    ['30 steps of one call', 30, 1],
    ['5 steps of 30 calls', 5, 30],
  ])(
    '%s: each request after the first reads at least 95 percent of what it shares with the one before',
    async (_, steps, calls) => {
      const step = {
        content: Array.from({ length: calls }, () => ({
          type: 'tool_use' as const,
          name: 'Read',
          input: { file_path: 'a.txt' },
        })),
      }
      world.script.push(...Array.from({ length: steps }, () => step), say('done'))
      const agent = await world.open()
      await prompt(agent, 'go')
      await agent.close()
      await prompt(await world.open(resume(agent.session, world.root)), 'on')
      expect(world.requests).toHaveLength(steps + 2)
      for (const [at, { sharedBytes, cacheReadBytes }] of world.requests.entries()) {
        if (at === 0) continue
        expect(sharedBytes).toBe(world.requests[at - 1]?.promptBytes)
        expect(cacheReadBytes / sharedBytes).toBeGreaterThan(0.95)
      }
      for (const { body } of world.requests)
        expect(marksIn(body as MessagesRequest).length).toBeLessThanOrEqual(3)
    },
  )

  test.each<[number, boolean]>([
    [MAX_RESULT_UNITS, false],
    [MAX_RESULT_UNITS + 1, true],
  ])('a result of %i characters is put aside: %s', async (length, isAside) => {
    expect(MAX_RESULT_UNITS).toBe(30_000)
    world.script.push(call('Bash', { command: `printf '%0${length}d' 0` }, 'toolu_big'))
    const agent = await world.open()
    await prompt(agent, 'go')
    const [result] = blocksIn(world.requests[1]).filter(({ type }) => type === 'tool_result')
    const lines = await linesOf(agent.session.path)
    const dir = `${agent.session.path.slice(0, -'.jsonl'.length)}/tool-results`
    expect(lines.filter(({ type }) => type === 'content-replacement')).toHaveLength(isAside ? 1 : 0)
    if (!isAside) {
      expect(result?.['content']).toBe('0'.repeat(length))
      await expect(readdir(dir)).rejects.toThrow('ENOENT')
      return
    }
    expect(await readdir(dir)).toEqual(['toolu_big.txt'])
    expect(await readFile(`${dir}/toolu_big.txt`, 'utf8')).toBe('0'.repeat(length))
    expect(String(result?.['content']).length).toBeLessThan(3000)
    expect(result?.['content']).toContain(`${dir}/toolu_big.txt`)
    const line = lines.find(
      ({ toolUseResult }) => typeof toolUseResult === 'object' && toolUseResult !== null,
    )
    expect(line?.['toolUseResult']).toMatchObject({
      persistedOutputPath: `${dir}/toolu_big.txt`,
      persistedOutputSize: length,
      stdout: '0'.repeat(MAX_RESULT_UNITS),
    })
    // The tool that the preview names can show the rest.
    world.permissionMode = 'default'
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    world.script.push(call('Read', { file_path: `${dir}/toolu_big.txt`, limit: 1 }))
    await prompt(again, 'more')
    expect(blocksIn(world.requests.at(-1)).findLast(({ type }) => type === 'tool_result')).not.toHaveProperty(
      'is_error',
    )
  })

  test('a result that is an error can be large too, and stays one', async () => {
    world.script.push(call('Bash', { command: `printf '%040000d' 0; exit 3` }))
    await prompt(await world.open(), 'go')
    expect(blocksIn(world.requests[1]).at(-1)).toMatchObject({
      is_error: true,
      content: expect.stringContaining('<persisted-output>'),
    })
  })
})

describe('what is put aside', () => {
  let work: Tree
  beforeEach(async () => {
    work = await tree()
  })
  afterEach(() => work.remove())

  test.each<[string, string]>([
    ['toolu_01AbC-9', 'toolu_01AbC-9.txt'],
    ['../../x', '------x.txt'],
    ['/etc/passwd', '-etc-passwd.txt'],
    ['', 'result.txt'],
    ['..', '--.txt'],
    ['a\u0000b', 'a-b.txt'],
    ['é😀', '---.txt'],
    ['x'.repeat(10_000), `${'x'.repeat(100)}.txt`],
  ])('for the call %j is in %s, 0600, with its exact bytes', async (id, name) => {
    const text = 'é😀\r\n\u0000end'
    const { path, sizeBytes } = await putAside(work.path('s/tool-results'), id, text)
    expect(await work.snapshot()).toEqual({ [`s/tool-results/${name}`]: { mode: 0o600, text } })
    expect(path).toBe(work.path(`s/tool-results/${name}`))
    expect(sizeBytes).toBe((await stat(path)).size)
  })

  test('never takes the place of another call: ids that clean to one name get names of their own', async () => {
    const ids = ['a/b', 'a-b', 'a.b', 'a/b', `${'y'.repeat(100)}1`, `${'y'.repeat(100)}2`]
    const paths: string[] = []
    for (const [at, id] of ids.entries()) paths.push((await putAside(work.root, id, `text ${at}`)).path)
    expect(new Set(paths).size).toBe(ids.length)
    for (const [at, path] of paths.entries()) expect(await readFile(path, 'utf8')).toBe(`text ${at}`)
  })

  test('never has half a character in its preview', async () => {
    for (const lead of ['', 'a']) {
      const { preview } = await putAside(work.root, 'id', `${lead}${'😀'.repeat(20_000)}`)
      expect(preview).not.toMatch(/\p{Surrogate}/u)
      expect(preview).toContain('😀\n…')
      expect(preview.length).toBeLessThan(2500)
    }
  })

  test('the beginning of a text is never longer than asked, and whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, units) => {
        const start = cutText(text, units)
        expect(text.startsWith(start)).toBe(true)
        expect(start.length).toBeLessThanOrEqual(units)
        expect(start.length).toBeGreaterThanOrEqual(Math.min(text.length, units - 1))
        expect(start).not.toMatch(/\p{Surrogate}/u)
      }),
    )
  })
})
