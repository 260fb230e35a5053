import { readFile } from 'node:fs/promises'
import { setFaultHook } from '@loci/disk/testing'
import { openSession } from '@loci/session-jsonl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { renderAttachment } from '../src/agent/attachments.ts'
import { blocksIn, call, fault, linesOf, prompt, resume, say, turnWorld } from './agent-turn-world.ts'
import type { Step, TurnWorld } from './agent-turn-world.ts'

let world: TurnWorld
beforeEach(async () => {
  world = await turnWorld({ 'a.txt': 'one\n' })
})
afterEach(() => world.close())

const accepted = (): void => expect(world.requests.filter(({ status }) => status === 400)).toEqual([])

describe('order of writes', () => {
  /** Another reader of the transcript, at the moment when a request arrives, builds the very messages that it sends. */
  const checked =
    (path: () => string, step: Step): Step =>
    async (request) => {
      const file = path()
      const lines = await linesOf(file)
      const reader = await openSession({
        projectDir: file.slice(0, file.lastIndexOf('/')),
        sessionId: file.slice(file.lastIndexOf('/') + 1, -'.jsonl'.length),
        mode: 'read',
      })
      const told = await reader.conversation({
        renderAttachment: (entry) => renderAttachment(entry, { hasMemory: true }),
      })
      await reader.close()
      const bare = (messages: unknown): unknown =>
        blocksIn({
          status: 200,
          body: { messages },
          promptBytes: 0,
          sharedBytes: 0,
          cacheReadBytes: 0,
          cacheWriteBytes: 0,
        })
      expect(bare(request.messages)).toEqual(bare(told))
      const prompts = lines.flatMap((line, at) =>
        'promptId' in line && line['promptId'] === line['uuid'] ? [at] : [],
      )
      for (const at of prompts) {
        const before = lines.slice(0, at)
        expect(before.filter(({ type }) => type === 'file-history-snapshot').at(-1)).toMatchObject({
          messageId: lines[at]?.['uuid'],
        })
      }
      for (const block of bare(request.messages) as Record<string, unknown>[]) {
        if (!String(block['content']).startsWith('<persisted-output>')) continue
        expect(lines.filter(({ type }) => type === 'content-replacement')).toContainEqual(
          expect.objectContaining({
            replacements: [
              expect.objectContaining({ toolUseId: block['tool_use_id'], replacement: block['content'] }),
            ],
          }),
        )
      }
      seen += 1
      return typeof step === 'function' ? step(request) : step
    }
  let seen = 0

  test('whatever a request sends is in the transcript when it arrives; the prompt comes after its snapshot', async () => {
    seen = 0
    const agent = await world.open()
    const { path } = agent.session
    const steps: Step[] = [
      call('SaveMemory', {
        name: 'n',
        description: 'four spaces',
        type: 'project',
        body: 'b',
        scope: 'project',
      }),
      {
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', name: 'Bash', input: { command: 'printf "%030001d" 0' } },
          { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'two\n' } },
        ],
      },
      say('done'),
      fault(529, 'overloaded_error'),
      call('Read', { file_path: 'a.txt' }),
      say('read'),
    ]
    world.script.push(...steps.map((step) => checked(() => path, step)))
    await prompt(agent, 'first')
    await prompt(agent, 'second')
    expect(seen).toBe(6)
    accepted()
    expect(blocksIn(world.requests.at(-1)).at(-1)).toMatchObject({ type: 'tool_result', content: 'two\n' })
    expect(await readFile(path, 'utf8')).toContain('"content-replacement"')
  })

  test.each<[string, Step[], string | undefined]>([
    ['an answer', [say('yes')], undefined],
    ['tools', [call('Read', { file_path: 'a.txt' }), say('yes')], undefined],
    ['a refused request', [fault(400, 'invalid_request_error')], 'MODEL_REJECTED'],
    ['retries used up', Array.from({ length: 3 }, () => fault(529, 'overloaded_error')), 'MODEL_UNAVAILABLE'],
    ['a refusal', [{ content: [], stopReason: 'refusal' }], 'MODEL_REFUSED'],
  ])('after %s the last line is a plain last-prompt that names the tip', async (_, steps, code) => {
    world.script.push(...steps)
    const agent = await world.open()
    const { error } = await prompt(agent, `${'x'.repeat(199)}😀 and on`)
    expect(error?.code).toBe(code)
    const last = (await linesOf(agent.session.path)).at(-1)
    expect(last).toMatchObject({
      type: 'last-prompt',
      leafUuid: agent.session.tip,
      lastPrompt: 'x'.repeat(199),
    })
    expect(last).not.toHaveProperty('explicit')
    await agent.close()
    const again = await world.open(resume(agent.session, world.root))
    expect(again.session.tip).toBe(last?.['leafUuid'])
  })
})

test('of several things that go wrong with the disk the first is told', async () => {
  const agent = await world.open()
  let faults = 0
  world.script.push(() => {
    setFaultHook((operation) => {
      if (operation !== 'write') return undefined
      faults += 1
      return Object.assign(new Error('injected'), { code: faults === 1 ? 'EIO' : 'ENOSPC' })
    })
    return say('never written')
  })
  try {
    await expect(prompt(agent, 'go')).rejects.toMatchObject({ code: 'DISK_IO' })
  } finally {
    setFaultHook(undefined)
  }
  expect(faults).toBeGreaterThan(1)
  expect((await prompt(agent, 'again')).text).toBe('ok')
  accepted()
})

test('a tool whose disk fails is told to the model, which goes on', async () => {
  const agent = await world.open()
  world.script.push(call('Write', { file_path: 'a.txt', content: 'two' }), say('I see'))
  setFaultHook((operation, path) =>
    operation === 'open' && path.startsWith(`${world.root}/`)
      ? Object.assign(new Error('injected'), { code: 'ENOSPC' })
      : undefined,
  )
  try {
    expect(await prompt(agent, 'go')).toMatchObject({ text: 'I see' })
  } finally {
    setFaultHook(undefined)
  }
  expect(blocksIn(world.requests[1]).at(-1)).toMatchObject({
    is_error: true,
    content: expect.stringMatching(/^Write failed: Cannot open .*free some space and try again \(ENOSPC\)$/),
  })
  expect(await world.work.read('project/a.txt')).toBe('one\n')
  accepted()
})

test('thoughts that the server does not take back are left out, and the conversation goes on', async () => {
  const bound = fault(400, 'invalid_request_error')
  const message = 'messages.1.content.0: `thinking` blocks in the latest assistant message cannot be modified'
  world.script.push(
    {
      content: [
        { type: 'thinking', thinking: '', signature: 'of another model' },
        { type: 'tool_use', name: 'Read', input: { file_path: 'a.txt' } },
      ],
    },
    { ...bound, message },
    say('Done.'),
    { ...bound, message: 'it is about something else' },
  )
  const agent = await world.open()
  const { signal } = new AbortController()
  expect(await agent.prompt('go', signal)).toMatchObject({ text: 'Done.', numTurns: 2 })
  const sent = world.requests.map(({ body }) => JSON.stringify(body))
  expect(sent.map((body) => body.includes('of another model'))).toEqual([false, true, false])
  expect(world.events).toContainEqual(expect.objectContaining({ type: 'retry', waitMs: 0 }))
  expect(world.waits).toEqual([])
  expect((await agent.prompt('next', signal)).error?.code).toBe('MODEL_REJECTED')
  expect(world.requests).toHaveLength(4)
})
